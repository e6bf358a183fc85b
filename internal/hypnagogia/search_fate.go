package hypnagogia

import (
	"math"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Why is the reason why a thought is not kept.
type Why string

// The reasons.
const (
	WhyUnweighed Why = "unweighed" // it was not scored
	WhyNothing   Why = "nothing"   // its score is 0
	WhyLeft      Why = "left"      // it scores below its parents
	WhyGrown     Why = "grown"     // a thought made from it scores no less and replaces it
	WhyRank      Why = "rank"      // others are better
)

// Fate is the result for a thought at the end.
type Fate struct {
	Kept bool
	Why  Why // if it is not kept
	By   int // WhyLeft: its best parent; WhyGrown: what replaces it
	Rank int // WhyRank: its rank among those that could be kept, from 1
	Of   int // WhyRank: the number of those
}

// Fates keeps the best thoughts, at most so many, and gives the reason for every other one. Abandoned thoughts and
// those replaced by their descendants are not kept, to avoid repetition.
func (s Search) Fates(keep int) []Fate {
	fates := make([]Fate, len(s.Thoughts))
	status := s.stand()
	var able []int
	for _, i := range s.ranked() {
		t, at := s.Thoughts[i], status[i]
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

// SearchOf is the search that made scenarios, given in the order of creation.
func SearchOf(all []*dream.Scenario) Search {
	var s Search
	places := map[string]int{}
	for i, one := range all {
		t := Thought{Op: one.Operation, Round: one.Round, Weighed: one.Worth != nil, Score: one.Score}
		for _, id := range one.Parents {
			if at, ok := places[id]; ok { // a removed scenario is no parent
				t.Parents = append(t.Parents, at)
			}
		}
		places[one.ID] = i
		s.Thoughts, s.Round = append(s.Thoughts, t), max(s.Round, one.Round)
	}
	return s
}

// ScenarioWorth is the score of a scenario: the geometric mean of its parts, so that a scenario that is not new, not
// plausible or insignificant scores 0. Our choice.
func ScenarioWorth(w dream.Worth) float64 {
	return math.Cbrt(unit(w.Novelty) * unit(w.Plausible) * unit(w.Matters))
}

// repeating is the share of common words from which one text repeats the other; our choice.
const repeating = .85

// Repeats says whether a text uses the same words as an earlier one, in any order.
func Repeats(text, before string) bool {
	words, both := map[string]bool{}, 0
	for _, w := range tokenize(strings.ToLower(text)) {
		words[w] = true
	}
	all := len(words)
	seen := map[string]bool{}
	for _, w := range tokenize(strings.ToLower(before)) {
		switch {
		case seen[w]:
		case words[w]:
			both++
		default:
			all++
		}
		seen[w] = true
	}
	return all > 0 && float64(both) >= repeating*float64(all)
}
