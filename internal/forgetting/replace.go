package forgetting

import (
	"slices"
	"strings"
	"unicode"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Protected says whether words of this origin may never fade: what a person or an agent said, or what is derived from
// nothing else. Such knowledge only loses rank in recall. A gist leaves out names, numbers and dates, and so the very
// things that such an entry will be asked for; no rule here can tell which of them matter.
func Protected(t dream.Taint) bool { return t == dream.FromHuman || t == dream.FromAgent }

// repeats is the share of words from which on two texts say the same. Ours: the built-in model's gists, which only drop
// a closing word, lie above it; gists that drop one clause of two lie below.
const repeats = .9

// Replaces says whether a gist may stand for its source: it says something, and does not just repeat the source. A gist
// that repeats it is not written, and the source stays.
func Replaces(gist, source string) bool {
	in, of := wordsOf(gist), wordsOf(source)
	if len(in) == 0 {
		return false
	}
	return shared(in, of) < repeats || shared(of, in) < repeats
}

// shared is the share of words in a that b has too, each as often as it stands there.
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
