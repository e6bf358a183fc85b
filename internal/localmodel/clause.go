package localmodel

import "strings"

// clause is a stretch of memory that can stand as a sentence.
type clause struct {
	line  int
	words []word
	worth float64 // how good a thing to say, about 0 to 1.5
}

const (
	shortest = 3  // words of a clause
	longest  = 22 // words of a clause; what is longer is cut where it can end
)

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
		case ws[i].low == "as" && i+1 < len(ws) && (ws[i+1].low == "if" || ws[i+1].low == "though") &&
			clauseAhead(ws, i+2):
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
	if n := len(ws); n > 2 && ws[n-2].mark == "," && ws[n-1].keep && ws[n-1].tag == noun {
		ws = ws[:n-1] // somebody was spoken to
	}
	if len(ws) > 0 && ws[0].tag == verb && (pastVerbs[ws[0].low] || strings.HasSuffix(ws[0].low, "ed")) &&
		!stands(ws[:min(len(ws), 2)]) && len(ws) >= shortest-1 {
		ws = append([]word{{text: "I", low: "i", tag: who, keep: true}}, ws...)
	}
	if len(ws) > longest {
		ws = trimEnd(ws[:longest], true)
	}
	if !stands(ws) || ws[len(ws)-1].tag == aux || ws[0].tag == aux || ws[0].tag == when || ws[0].tag == cry ||
		leaning[ws[0].low] {
		return clause{}, false
	}
	ws = append([]word(nil), ws...)
	ws[len(ws)-1].mark = ""
	return clause{line: from, words: ws, worth: worth(ws)}, true
}

// leaning words need a main clause beside them.
var leaning = set("like except than as instead despite without unlike")

var hours = set(
	"morning afternoon evening night day week weekend month year monday tuesday wednesday thursday friday saturday sunday dawn noon midnight")

// trimStart takes off joining words, cries and what only says when.
func trimStart(ws []word) []word {
	for len(ws) > 1 {
		switch {
		case ws[0].tag == and, ws[0].tag == when, ws[0].tag == cry, ws[0].tag == adverb:
			ws = ws[1:]
			continue
		case len(ws) > 4 && hours[ws[1].low] && (ws[0].tag == prep || ws[0].tag == det || ws[0].tag == adj) &&
			(ws[2].tag == who || ws[2].tag == det || ws[1].mark == ","):
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
		if lead >= 0 && !stands(ws[:lead+1]) && stands(ws[lead+1:]) && (ws[0].tag != noun || ws[0].keep && lead <= 1) {
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
