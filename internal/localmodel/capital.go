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

// substances are nouns that stand without an article; at the start of a sentence they would look like names.
var substances = set(
	"rain wind fog snow sleep wool salt tin freight volume gas gold silver oil water light work music food money time life love traffic demand revenue silence bread coffee tea dust smoke paint glass paper paperwork hope fear grief treasury stablecoin spot margin leverage inflation sunlight thunder frost ice sand mud iron copper flour sugar sound noise air today dinner lunch breakfast school church")

// ordinary says whether a word that is only ever seen at the start of a sentence is no name.
func ordinary(low string) bool {
	if substances[low] || baseOf(low) != "" || pastVerbs[low] || participles[low] || nounsInLy[low] || nounsInIng[low] {
		return true
	}
	for _, end := range []string{
		"ing", "tion", "sion", "ity", "ment", "ness", "ance", "ence", "ship", "ism", "ly",
		"ed", "s", "teen", "ty",
	} {
		if strings.HasSuffix(low, end) && len(low) > len(end)+1 {
			return true
		}
	}
	return strings.Contains(low, "-") || strings.IndexFunc(low, unicode.IsDigit) >= 0
}

// dated words always have a capital.
var dated = set(
	"monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december")

func capitals(lines []line) capitalised {
	c := capitalised{map[string]bool{}, map[string]bool{}}
	for _, l := range lines {
		if name := label.FindString(l.text); name != "" {
			c.inside[strings.ToLower(strings.TrimRight(name, ": "))] = true
		}
		for _, s := range l.sentences {
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
		base, _, _ := strings.Cut(w.low, "'")
		_, common := closed[base]
		letters := []rune(w.text)
		switch {
		case w.low == "i" || strings.HasPrefix(w.low, "i'"):
			w.keep = true
		case len(letters) > 1 && strings.IndexFunc(string(letters[1:]), unicode.IsUpper) >= 0 && !common:
			w.keep = true
		case !unicode.IsUpper(letters[0]):
		case dated[w.low] && (i > 0 || w.low != "may"):
			w.keep = true
		case i > 0:
			w.keep = !common
		case common || c.small[w.low]:
			w.keep = c.inside[w.low] && i+1 < len(ws) && unicode.IsUpper([]rune(ws[i+1].text)[0]) && !common
		default:
			w.keep = c.inside[strings.TrimSuffix(w.low, "'s")] || !ordinary(strings.TrimSuffix(w.low, "'s"))
		}
		if w.low == "i" {
			w.text = "I"
		}
	}
}
