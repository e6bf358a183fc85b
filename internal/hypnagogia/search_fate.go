package hypnagogia

import (
	"math"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Why a thought is not kept.
type Why string

// The reasons.
const (
	WhyUnweighed Why = "unweighed" // nobody scored it
	WhyNothing   Why = "nothing"   // its score is 0
	WhyLeft      Why = "left"      // it scores below what it came from
	WhyGrown     Why = "grown"     // what was made from it, and scores no less, stands in its place
	WhyRank      Why = "rank"      // others are better
)

// Fate is what becomes of a thought at the end.
type Fate struct {
	Kept bool
	Why  Why // when it is not kept
	By   int // WhyLeft: the best it came from; WhyGrown: what stands in its place
	Rank int // WhyRank: its place among those that could be kept, from 1
	Of   int // WhyRank: how many those are
}

// Fates keeps the best thoughts, at most so many, and says of each other why not. What was left and what has grown into
// something no worse are not kept beside it: they would say the same twice.
func (s Search) Fates(keep int) []Fate {
	fates := make([]Fate, len(s.Thoughts))
	standing := s.stand()
	var able []int
	for _, i := range s.ranked() {
		t, at := s.Thoughts[i], standing[i]
		switch {
		case !t.Weighed:
			fates[i].Why = WhyUnweighed
		case t.Score <= 0:
			fates[i].Why = WhyNothing
		case at.left:
			fates[i] = Fate{Why: WhyLeft, By: s.bestOf(t.Parents)}
		case at.grown >= 0:
			fates[i] = Fate{Why: WhyGrown, By: at.grown}
		default:
			able = append(able, i)
		}
	}
	for rank, i := range able {
		fates[i] = Fate{Kept: true}
		if rank >= keep {
			fates[i] = Fate{Why: WhyRank, Rank: rank + 1, Of: len(able)}
		}
	}
	return fates
}

func (s Search) bestOf(places []int) int {
	best := places[0]
	for _, i := range places[1:] {
		if s.Thoughts[i].Score > s.Thoughts[best].Score {
			best = i
		}
	}
	return best
}

// ScenarioWorth is the score of a scenario: the geometric mean of its parts, so that one that is nothing new, cannot be true
// or would not matter is worth nothing. It is ours.
func ScenarioWorth(w dream.Worth) float64 {
	return math.Cbrt(unit(w.Novelty) * unit(w.Plausible) * unit(w.Matters))
}
