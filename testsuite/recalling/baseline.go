package recalling

import (
	"context"
	"math"
	"strings"
	"unicode"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// plainStops are the sixty words that the plain baseline leaves out.
var plainStops = func() map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(
		`a an the and or but if of to in on at by for with about from up out as is are was were be been being
		have has had do does did will would can could should i you he she it we they me him her them my your his its our their this that
		these those what when where who why how`) {
		out[w] = true
	}
	return out
}()

func plainWords(text string) []string {
	var out []string
	for w := range strings.FieldsFuncSeq(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if !plainStops[w] {
			out = append(out, w)
		}
	}
	return out
}

// Plain is BM25 with sixty stop words over the episodes, without stems: the lower bound for recall.
func (b *Bench) Plain() Ranking {
	const k1, level = 1.5, .75
	texts := map[string]map[string]int{}
	lengths, holding, total := map[string]int{}, map[string]int{}, 0
	for _, e := range b.episodes {
		counts := map[string]int{}
		for _, w := range plainWords(e.Content) {
			counts[w]++
			lengths[e.ID]++
		}
		for w := range counts {
			holding[w]++
		}
		total += lengths[e.ID]
		texts[e.ID] = counts
	}
	average, n := float64(total)/float64(len(b.episodes)), float64(len(b.episodes))
	return func(_ context.Context, question string) ([]string, error) {
		sought := plainWords(question)
		return b.top(func(e *dream.Episode) float64 {
			sum := 0.0
			for _, w := range sought {
				times := float64(texts[e.ID][w])
				weight := math.Log(1 + (n-float64(holding[w])+.5)/(float64(holding[w])+.5))
				sum += weight * times * (k1 + 1) / (times + k1*(1-level+level*float64(lengths[e.ID])/average))
			}
			return sum
		}), nil
	}
}
