package localmodel

import (
	"regexp"
	"strings"
	"unicode"
)

// sentence is a stretch between full stops. asks marks questions: they are not dreamt of as facts.
type sentence struct {
	words []word
	asks  bool
}

var (
	stamp = regexp.MustCompile(
		`^(?:\(?\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}[T ]?(?:\d{1,2}:\d{2}(?::\d{2})?Z?)?\)?|\d{1,2}:\d{2})[\s:,–—-]*`)
	label    = regexp.MustCompile(`^[\p{L}][\p{L}\d_.' -]{0,24}:\s+`)
	aside    = regexp.MustCompile(`\([^()]*\)|\[[^\[\]]*\]|https?://\S+|\S+@\S+\.\S+`)
	stopMark = regexp.MustCompile(`([.!?…;]+)["'”’)]*(?:\s+|$)|\s+[–—|→-]+\s+|—|:\s+`)
)

// sentences cuts a memory at its stops. A date, a speaker's name and asides are left out.
func sentences(text string) []sentence {
	text = stamp.ReplaceAllString(strings.TrimSpace(text), "")
	if name := label.FindString(text); name != "" && len(strings.Fields(name)) <= 3 {
		text = text[len(name):]
	}
	text = aside.ReplaceAllString(text, " ")
	var out []sentence
	from := 0
	add := func(to int, mark string) {
		if ws := wordsOf(text[from:to]); len(ws) > 0 {
			out = append(out, sentence{ws, strings.Contains(mark, "?")})
		}
	}
	for _, at := range stopMark.FindAllStringIndex(text, -1) {
		if text[at[0]] == '.' && titled(text[from:at[0]]) {
			continue
		}
		add(at[0], text[at[0]:at[1]])
		from = at[1]
	}
	add(len(text), "")
	return out
}

var titles = set("mr mrs ms dr st prof no vs e.g i.e")

// titled says whether a full stop here belongs to a title or an initial.
func titled(before string) bool {
	last := strings.ToLower(before[strings.LastIndexByte(before, ' ')+1:])
	return titles[last] || len(last) == 1 && last != "i" && last[0] >= 'a' && last[0] <= 'z'
}

const longestWord = 40 // letters; what is longer is no word

func wordsOf(text string) []word {
	var ws []word
	for _, f := range strings.Fields(text) {
		mark := ""
		f = strings.ReplaceAll(f, "’", "'")
		body := strings.TrimFunc(f, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '$' && r != '%' && r != '€' && r != '+'
		})
		if strings.IndexFunc(body, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0 {
			continue
		}
		if tail := f[strings.LastIndex(f, body)+len(body):]; strings.Contains(tail, ",") {
			mark = ","
		}
		if runes := []rune(body); len(runes) > longestWord {
			body = string(runes[:longestWord])
		}
		ws = append(ws, newWord(body, mark))
	}
	return ws
}

func newWord(text, mark string) word {
	w := word{text: text, low: strings.ToLower(text), mark: mark}
	if !hollow[w.low] {
		w.root = stem(w.low)
	}
	return w
}
