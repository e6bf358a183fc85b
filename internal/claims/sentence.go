package claims

import (
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/sentence"
)

// longestSentence is how many bytes of a sentence are quoted.
const longestSentence = 240

// Sentences returns the first sentence of a text that names each of the names, word for word and at most 240 bytes of
// it, in the order of the text; the first sentence of all where none is named.
func Sentences(text string, names ...string) []string {
	var found []string
	named := make([]bool, len(names))
	all := sentence.Split(text)
	for _, s := range all {
		e, shows := Episode{Terms: NameOf(s)}, false
		for i, n := range names {
			if !named[i] && e.Names(NameOf(n)) {
				named[i], shows = true, true
			}
		}
		if shows {
			found = append(found, cut(s))
		}
	}
	if len(found) == 0 {
		return []string{cut(append(all, "")[0])}
	}
	return found
}

func cut(s string) string {
	if len(s) <= longestSentence {
		return s
	}
	s = s[:longestSentence]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}
