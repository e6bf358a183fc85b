// Package journal decides which dreamt texts become journal entries and reach clients: how significant a text is, and
// what it is about.
package journal

import (
	"math"
	"sort"
	"strings"
	"unicode"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// Threshold is the lowest significance of a journal entry, and of a text that reaches a client.
const Threshold = .3

// Significance scores a dreamt text in [0, 1]: .2 for more than 200 characters, .2 more above 500, .2 for drawing on
// two or more distinct memories, up to .2 for the strength of affect, and .2 for a finished thought.
func Significance(text string, sources int, affect mood.PAD) float64 {
	score := 0.0
	length := len([]rune(text))
	if length > 200 {
		score += .2
	}
	if length > 500 {
		score += .2
	}
	if sources >= 2 {
		score += .2
	}
	score += math.Min(.2, .1*(math.Abs(affect.Pleasure)+math.Abs(affect.Arousal)))
	if finished(text) {
		score += .2
	}
	return math.Min(1, score)
}

func finished(text string) bool {
	text = strings.TrimSpace(text)
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") {
		return true
	}
	for _, marker := range []string{". ", ".\n", "I think", "I notice", "interesting"} {
		if strings.Contains(text, marker) {
			return true
		}
	}
	return false
}

// Topics returns up to n words that occur most often in a text, by count, then alphabetically. Words of fewer than five
// letters are left out.
func Topics(text string, n int) []string {
	counts := map[string]int{}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len([]rune(word)) >= 5 && !common[word] {
			counts[word]++
		}
	}
	words := make([]string, 0, len(counts))
	for word := range counts {
		words = append(words, word)
	}
	sort.Slice(words, func(i, j int) bool {
		if counts[words[i]] != counts[words[j]] {
			return counts[words[i]] > counts[words[j]]
		}
		return words[i] < words[j]
	})
	return words[:min(n, len(words))]
}

var common = map[string]bool{}

func init() {
	for _, word := range strings.Fields(`about above after again against along always among another because before being
		below between beyond could doing during each either every first found having itself later might never nothing often
		other people quite rather really seems should since small something still their there these thing things think those
		though three through today toward under until using usually where whether which while whose without would yours`) {
		common[word] = true
	}
}
