package localmodel

import (
	"strings"
	"unicode"
)

// capitalised knows which words keep their capital inside a sentence.
type capitalised struct {
	inside map[string]bool // seen with a capital where none is due
	small  map[string]bool // seen without one
}

// people do these things; what does them at the start of a sentence is taken for a name.
var human = set("said says asked asks told tells called calls wrote writes laughed thinks thought wants wanted smiled promised texted replied answered insisted agreed cried whispered")

// dated words always have a capital.
var dated = set("monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december")

func capitals(lines []line) capitalised {
	c := capitalised{map[string]bool{}, map[string]bool{}}
	for _, l := range lines {
		if name := label.FindString(l.text); name != "" {
			c.inside[strings.ToLower(strings.TrimRight(name, ": "))] = true
		}
		for _, s := range sentences(l.text) {
			for i, w := range s.words {
				if first := []rune(w.text)[0]; !unicode.IsUpper(first) {
					c.small[w.low] = true
				} else if i > 0 {
					c.inside[w.low] = true
				}
			}
		}
	}
	return c
}

// mark sets which words of a sentence keep their capital.
func (c capitalised) mark(ws []word) {
	for i := range ws {
		w := &ws[i]
		_, common := closed[w.low]
		letters := []rune(w.text)
		switch {
		case w.low == "i" || strings.HasPrefix(w.low, "i'"):
			w.keep = true
		case len(letters) > 1 && strings.IndexFunc(string(letters[1:]), unicode.IsUpper) >= 0 && !common:
			w.keep = true
		case !unicode.IsUpper(letters[0]):
		case dated[w.low] && (i > 0 || w.low != "may"):
			w.keep = true
		case common || baseOf(w.low) != "" && c.small[w.low]:
			w.keep = false
		case c.inside[strings.TrimSuffix(w.low, "'s")] && !c.small[w.low]:
			w.keep = true
		case i == 0 && len(ws) > 1 && human[ws[1].low] && !c.small[w.low]:
			w.keep = true
		}
		if w.low == "i" {
			w.text = "I"
		}
	}
}
