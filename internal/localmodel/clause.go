package localmodel

import (
	"regexp"
	"strings"
	"unicode"
)

// clause is a stretch of memory that can stand as a sentence.
type clause struct {
	line  int
	words []word
	worth float64 // how good a thing to say, about 0 to 1.5
}

// image is a noun phrase: something that can be seen.
type image struct {
	line    int
	words   []word
	worth   float64
	guessed bool // a single word without an article, which may be no noun at all
}

// sentence is a stretch between full stops. asks marks questions: they are not dreamt of as facts.
type sentence struct {
	words []word
	asks  bool
}

const (
	shortest = 3  // words of a clause
	longest  = 22 // words of a clause; what is longer is cut where it can end
)

var (
	stamp    = regexp.MustCompile(`^(?:\(?\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}[T ]?(?:\d{1,2}:\d{2}(?::\d{2})?Z?)?\)?|\d{1,2}:\d{2})[\s:,–—-]*`)
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

// split cuts a sentence into parts that can each stand alone.
func split(ws []word) [][]word {
	var parts [][]word
	from := 0
	for i := 1; i < len(ws); i++ {
		skip := 0
		switch {
		case ws[i].tag == and && restarts(ws, i+1):
			skip = 1
		case ws[i].low == "the" && i+1 < len(ws) && ws[i+1].low == "way" && clauseAhead(ws, i+2):
			skip = 2
		case ws[i].low == "as" && i+1 < len(ws) && (ws[i+1].low == "if" || ws[i+1].low == "though") && clauseAhead(ws, i+2):
			skip = 2
		case ws[i-1].mark == ",":
		default:
			continue
		}
		if stands(ws[from:i]) && ws[i-1].tag != aux && stands(ws[i+skip:]) {
			parts = append(parts, ws[from:i])
			from = i + skip
			i = from
		}
	}
	return append(parts, ws[from:])
}

// stands says whether the words hold a subject and then a finite verb.
func stands(ws []word) bool {
	subject := false
	for _, w := range ws {
		switch w.tag {
		case who, noun, number, ing:
			subject = true
		case verb, aux:
			if subject {
				return len(ws) >= shortest
			}
		case isIt:
			return len(ws) >= shortest
		}
	}
	return false
}

// clauseOf trims a part to what can be said after any joining word, and weighs it.
func clauseOf(part []word, from int) (clause, bool) {
	ws := trimEnd(trimStart(part), false)
	if len(ws) > 0 && ws[0].tag == verb && !stands(ws[:min(len(ws), 2)]) && len(ws) >= shortest-1 {
		ws = append([]word{{text: "I", low: "i", tag: who, keep: true}}, ws...)
	}
	if len(ws) > longest {
		ws = trimEnd(ws[:longest], true)
	}
	if !stands(ws) || ws[len(ws)-1].tag == aux || ws[0].tag == aux || ws[0].tag == when || ws[0].tag == cry || leaning[ws[0].low] {
		return clause{}, false
	}
	ws = append([]word(nil), ws...)
	ws[len(ws)-1].mark = ""
	return clause{line: from, words: ws, worth: worth(ws)}, true
}

// leaning words need a main clause beside them.
var leaning = set("like except than as instead despite without unlike")

var hours = set("morning afternoon evening night day week weekend month year monday tuesday wednesday thursday friday saturday sunday dawn noon midnight")

// trimStart takes off joining words, cries and what only says when.
func trimStart(ws []word) []word {
	for len(ws) > 1 {
		switch {
		case ws[0].tag == and, ws[0].tag == when, ws[0].tag == cry, ws[0].tag == adverb:
			ws = ws[1:]
			continue
		case len(ws) > 4 && hours[ws[1].low] && (ws[0].tag == prep || ws[0].tag == det || ws[0].tag == adj) && (ws[2].tag == who || ws[2].tag == det || ws[1].mark == ","):
			ws = ws[2:]
			continue
		}
		lead := -1
		for i := 0; i < min(6, len(ws)); i++ {
			if ws[i].mark == "," {
				lead = i
				break
			}
		}
		if lead >= 0 && !stands(ws[:lead+1]) && stands(ws[lead+1:]) && ws[0].tag != noun {
			ws = ws[lead+1:]
			continue
		}
		return ws
	}
	return ws
}

// trimEnd takes off words that leave a sentence hanging; a preposition only where the sentence was cut.
func trimEnd(ws []word, wasCut bool) []word {
	for len(ws) > 0 {
		switch ws[len(ws)-1].tag {
		case det, and, when, to, isIt:
		case prep:
			if !wasCut {
				return ws
			}
		default:
			return ws
		}
		ws = ws[:len(ws)-1]
	}
	return ws
}

// worth prefers plain statements of middling length with something to see in them.
func worth(ws []word) float64 {
	w, content, figures := 1.0, 0, 0
	for _, x := range ws {
		if !hollow[x.low] && (x.tag == noun || x.tag == adj || x.tag == verb) && !vague[x.low] {
			content++
		}
		if x.tag == number {
			figures++
		}
	}
	switch ws[0].low {
	case "it", "that", "this", "they", "these", "those", "there", "it's", "that's":
		w -= .5
	case "in", "on", "at", "by", "with", "from", "of", "to", "for", "after", "before", "under":
		w -= .2
	case "you", "you're", "you'll", "you've", "you'd", "we", "he", "she":
		w -= .25
	}
	if n := len(ws); n < 5 {
		w -= .3
	} else if n > 14 {
		w -= .25
	}
	w += .1 * float64(min(content, 4))
	w -= .15 * float64(figures)
	if content == 0 {
		w -= .6
	}
	return w
}

// imagesOf finds the noun phrases of a sentence: article, qualities, nouns, and what one preposition adds.
func imagesOf(ws []word, from int) []image {
	var out []image
	for i := 0; i < len(ws); i++ {
		end := phrase(ws, i)
		if end == i {
			continue
		}
		first, last := ws[i], ws[end-1]
		rich := 0.0
		if end+1 < len(ws) && ws[end].tag == prep && last.mark == "" && !(i > 0 && toSomebody[ws[i-1].low]) && linking[ws[end].low] {
			if far := phrase(ws, end+1); far > end+1 && far-i <= 7 {
				end, rich = far, .3
			}
		}
		if !vague[last.low] && !hollow[last.low] && !hours[last.low] {
			out = append(out, newImage(ws[i:end], from, first, rich))
		}
		i = end - 1
	}
	return out
}

// toSomebody verbs take a person and then a subject, which do not belong together.
var toSomebody = set("told tell tells asked ask asks reminded reminds warned informed")

var linking = set("of in on at with without from under over behind beside between above below near inside outside beyond")

// phrase gives the end of the noun phrase that begins at i; i itself when there is none.
func phrase(ws []word, i int) int {
	j, nouns := i, 0
	if j < len(ws) && ws[j].tag == det && ws[j].low != "no" {
		j++
	}
	if j > i && j < len(ws) && ws[j].tag == det && strings.HasSuffix(ws[j].low, "'s") {
		j++
	}
	for j < len(ws) && j-i < 5 {
		switch ws[j].tag {
		case noun:
			if nouns > 0 && ws[j].keep && !ws[j-1].keep {
				return j
			}
			nouns++
		case adj, number:
			if nouns > 0 {
				return j
			}
		default:
			if nouns == 0 {
				return i
			}
			return j
		}
		if j++; ws[j-1].mark != "" {
			break
		}
	}
	if nouns == 0 {
		return i
	}
	return j
}

func newImage(part []word, from int, first word, rich float64) image {
	ws := append([]word(nil), part...)
	for i := range ws {
		ws[i].mark = ""
	}
	switch {
	case first.tag == det && pointing[first.low]:
		ws[0].text, ws[0].low, ws[0].keep = "the", "the", false
	case first.tag != det && !first.keep && first.tag != number:
		ws = append([]word{{text: "the", low: "the", tag: det}}, ws...)
	}
	w := .4 + rich
	if len(ws) >= 3 {
		w += .4
	} else if first.tag == det {
		w += .2
	}
	if first.tag == number {
		w -= .6
	}
	if len(ws) == 1 {
		w -= .3
	}
	return image{line: from, words: ws, worth: w, guessed: len(part) == 1 && !first.keep}
}

// pointing words need somebody to have spoken before.
var pointing = set("this that these those another each every some any all its his their whose both either few many several")
