package forgetting

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names returns the words of a text that are written like names: with a capital letter inside a sentence, or with
// capitals beyond the first letter. They are in lower case, in order, each once. Scripts without capitals have none.
// German nouns are included too.
func Names(text string) []string {
	var names []string
	seen := map[string]bool{}
	for _, sentence := range sentences(text) {
		for i, word := range strings.FieldsFunc(sentence,
			func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
			first, size := utf8.DecodeRuneInString(word)
			inner := strings.ContainsFunc(word[size:], unicode.IsUpper)
			if len(word) == size || !inner && (i == 0 || !unicode.IsUpper(first)) {
				continue
			}
			if low := strings.ToLower(word); !seen[low] {
				seen[low] = true
				names = append(names, low)
			}
		}
	}
	return names
}

// InventedName returns the first name of other memories that is in a gist but not in its source; empty when there is
// none. Such a name was added by the model, since a gist contains less than its source.
func InventedName(gist, source string, names map[string]bool) string {
	own := map[string]bool{}
	for _, word := range wordsOf(source) {
		own[word] = true
	}
	for _, word := range wordsOf(gist) {
		if names[word] && !own[word] {
			return word
		}
	}
	return ""
}
