package localmodel

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// hollow words have no subject of their own: they hardly count when texts are compared.
var hollow = set(`
	a an the and or but so if then than that this these those there here of in on at by to for from with into over
	under as is was were are am be been being has had have did does do can could will would should must might may
	not no nor only very just also too it its i me my we us our you your he him his she her they them their what
	which who whom how why when where while because about up down out off again more most some any all each both few
	such own same other it's i'm i've that's don't didn't isn't wasn't s t re ve ll d m`)

var (
	// joining words do not begin a clause that follows another.
	joining = set(`and but so yet or nor then also while which who that than because`)
	// dangling words point at somebody or something that was named before.
	dangling = set(`he she it they him them this that these those its such both one others`)
	titles   = set(`mr mrs ms dr st prof no vs e.g i.e`)
)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// word is one word of a memory as it stood there.
type word struct {
	text string // as written, without quotes and closing marks
	low  string
	root string // its stem; empty for hollow words
	mark string // "," when a comma followed
}

const longestWord = 40 // letters; a longer word is cut

func wordsOf(text string) []word {
	var ws []word
	for _, f := range strings.Fields(text) {
		f = strings.ReplaceAll(f, "’", "'")
		body := strings.TrimFunc(f, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("$%€+", r)
		})
		if strings.IndexFunc(body, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0 {
			continue
		}
		w := word{text: body}
		if strings.Contains(f[strings.LastIndex(f, body)+len(body):], ",") {
			w.mark = ","
		}
		if runes := []rune(body); len(runes) > longestWord {
			w.text = string(runes[:longestWord])
		}
		w.low = strings.ToLower(w.text)
		if !hollow[w.low] {
			w.root = stem(w.low)
		}
		ws = append(ws, w)
	}
	return ws
}

// sentence is a stretch between full stops. A question is not repeated as a fact.
type sentence struct {
	line  int
	words []word
	asks  bool
}

var (
	stamp = regexp.MustCompile(
		`^(?:\(?\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}[T ]?(?:\d{1,2}:\d{2}(?::\d{2})?Z?)?\)?|\d{1,2}:\d{2})[\s:,–—-]*`)
	label    = regexp.MustCompile(`^[\p{L}][\p{L}\d_.'-]*(?: [\p{L}\d_.'-]+){0,2}:\s+`)
	aside    = regexp.MustCompile(`\([^()]*\)|\[[^\[\]]*\]|https?://\S+|\S+@\S+\.\S+`)
	stopMark = regexp.MustCompile(`([.!?…;]+)["'”’)]*(?:\s+|$)|\s+[–—|→-]+\s+|—|:\s+`)
)

// sentences cuts a memory at its stops, without a date, a speaker's name and asides.
func sentences(text string) []sentence {
	text = stamp.ReplaceAllString(strings.TrimSpace(text), "")
	text = aside.ReplaceAllString(label.ReplaceAllString(text, ""), " ")
	var out []sentence
	from := 0
	for _, at := range append(stopMark.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		before := text[from:at[0]]
		last := strings.ToLower(before[strings.LastIndexByte(before, ' ')+1:])
		if at[0] < len(text) && text[at[0]] == '.' && (titles[last] || len(last) == 1 && last != "i") {
			continue // a title or an initial
		}
		if ws := wordsOf(before); len(ws) > 0 {
			out = append(out, sentence{words: ws, asks: strings.Contains(text[at[0]:at[1]], "?")})
		}
		from = at[1]
	}
	return out
}

// clause is a part of a memory that can stand alone.
type clause struct {
	line  int
	words []word // as they stand inside a sentence
	opens bool   // its first word may be a name: it can only open a sentence
	worth float64
}

// Lengths of a clause in words.
const (
	shortest = 4
	pleasant = 14 // up to here a clause reads well beside another one
	longest  = 30
)

// clausesOf cuts sentences into clauses of at least so many words, before "while" and at commas that a joining word
// follows. A word keeps its capital where it has one inside some sentence.
func clausesOf(all []sentence, least int) []clause {
	inside, small := set("i"), map[string]bool{}
	for _, s := range all {
		for i, w := range s.words {
			small[w.low] = small[w.low] || w.text == w.low
			inside[w.low] = inside[w.low] || i > 0 && w.text != w.low && w.root != ""
		}
	}
	var out []clause
	for _, s := range all {
		from := 0
		for i := range s.words {
			end := i + 1
			if end < len(s.words) && (end-from < shortest || len(s.words)-end <= shortest ||
				s.words[end].low != "while" && (s.words[i].mark == "" || !joining[s.words[end].low])) {
				continue
			}
			part := slices.Clone(s.words[from:end])
			from = end
			for len(part) > least && joining[part[0].low] {
				part = part[1:]
			}
			if len(part) < least || len(part) > longest || joining[part[0].low] {
				continue
			}
			c := clause{line: s.line, words: part}
			part[len(part)-1].mark = ""
			first := &part[0]
			if first.text != first.low && !inside[first.low] {
				c.opens = first.root != "" && !small[first.low]
				if !c.opens {
					first.text = first.low
				}
			}
			c.worth = min(.4, -.1*float64(len(part)-pleasant))
			if slices.ContainsFunc(part[:min(3, len(part))], func(w word) bool { return dangling[w.low] }) {
				c.worth -= .6
			}
			out = append(out, c)
		}
	}
	return out
}
