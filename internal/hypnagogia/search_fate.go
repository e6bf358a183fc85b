package hypnagogia

import (
	"math"
	"strings"

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

// SearchOf is the search that made scenarios, which stand in the order they were made.
func SearchOf(all []*dream.Scenario) Search {
	var s Search
	places := map[string]int{}
	for i, one := range all {
		t := Thought{Op: one.Operation, Round: one.Round, Weighed: one.Worth != nil, Score: one.Score}
		for _, id := range one.Parents {
			if at, ok := places[id]; ok { // one that was forgotten meanwhile is nobody's parent
				t.Parents = append(t.Parents, at)
			}
		}
		places[one.ID] = i
		s.Thoughts, s.Round = append(s.Thoughts, t), max(s.Round, one.Round)
	}
	return s
}

// ScenarioWorth is the score of a scenario: the geometric mean of its parts, so that one that is nothing new, cannot be
// true or would not matter is worth nothing. It is ours.
func ScenarioWorth(w dream.Worth) float64 {
	return math.Cbrt(unit(w.Novelty) * unit(w.Plausible) * unit(w.Matters))
}

// repeating is the share of words two texts have in common from which on the one repeats the other; it is ours.
const repeating = .85

// Repeats says whether a text says in the same words, in whatever order, what another said before.
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
