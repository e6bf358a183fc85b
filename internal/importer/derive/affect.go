package derive

import (
	"math"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// affectOf estimates affect from words: the mean of the affects of known words, drawn towards neutral when there are
// few. A negation up to three words before inverts pleasure and dominance and dampens all; a word such as "very"
// strengthens; exclamation marks raise arousal.
func affectOf(tokens []word, exclaimed int) mood.PAD {
	var sum mood.PAD
	var weight float64
	negated, stressed := -10, -10
	for i, w := range tokens {
		if w.initial {
			negated, stressed = -10, -10 // the last sentence does not affect this one
		}
		switch {
		case negations[w.hash]:
			negated = i
			continue
		case stresses[w.hash]:
			stressed = i
			continue
		}
		p, ok := feelings[w.hash]
		if !ok {
			continue
		}
		scale := 1.0
		if i-stressed <= 2 {
			scale = 1.3
		}
		if i-negated <= 3 {
			p = mood.PAD{Pleasure: -.7 * p.Pleasure, Arousal: .7 * p.Arousal, Dominance: -.5 * p.Dominance}
		}
		sum.Pleasure += scale * p.Pleasure
		sum.Arousal += scale * p.Arousal
		sum.Dominance += scale * p.Dominance
		weight++
	}
	if weight == 0 {
		return mood.PAD{}
	}
	sum.Arousal += .15 * float64(min(exclaimed, 3)) * weight / (weight + 1)
	return mood.PAD{
		Pleasure: bound(sum.Pleasure / (weight + 1)), Arousal: bound(sum.Arousal / (weight + 1)),
		Dominance: bound(sum.Dominance / (weight + 1)),
	}
}

func bound(v float64) float64 {
	return math.Round(math.Max(-1, math.Min(1, v))*1e3) / 1e3
}

func hashed(list string) map[uint64]bool {
	set := map[uint64]bool{}
	for _, w := range strings.Fields(list) {
		hash, _ := fold(w)
		set[hash] = true
	}
	return set
}

var (
	negations = hashed(
		"not no never nobody nothing neither nor none without hardly barely cannot can't couldn't don't doesn't didn't isn't aren't wasn't weren't won't wouldn't haven't hasn't hadn't ain't shouldn't dont cant")
	stresses = hashed(
		"very so really extremely incredibly totally deeply absolutely truly completely utterly terribly awfully super quite such")
)
