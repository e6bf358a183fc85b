package forgetting

import (
	"slices"
	"strings"
	"unicode"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Protected reports whether knowledge of this origin must never fade: what a person or an agent said, or what is
// derived from nothing else. It only loses rank in recall. A gist leaves out names, numbers and dates, which are the
// very things that one looks up in such an entry, and no rule here can tell which of them matter.
func Protected(t dream.Taint) bool { return t == dream.FromHuman || t == dream.FromAgent }

// repeats is the share of words from which two texts count as the same. It is our choice: gists of the built-in model
// that drop only a closing word are above it, and gists that drop one clause of two are below.
const repeats = .9

// Replaces reports whether a gist may replace its source: it is not empty and does not just repeat the source.
// Otherwise the gist is not written, and the source stays.
func Replaces(gist, source string) bool {
	in, of := wordsOf(gist), wordsOf(source)
	if len(in) == 0 {
		return false
	}
	return shared(in, of) < repeats || shared(of, in) < repeats
}

// shared is the share of the words of a that b has too, counting repetitions.
func shared(a, b []string) float64 {
	if len(a) == 0 {
		return 0
	}
	left := map[string]int{}
	for _, word := range b {
		left[word]++
	}
	found := 0
	for _, word := range a {
		if left[word] > 0 {
			left[word]--
			found++
		}
	}
	return float64(found) / float64(len(a))
}

func wordsOf(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}
