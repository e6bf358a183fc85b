package hypnagogia

import (
	"math"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// DropReason is the reason why a thought is not kept.
type DropReason string

// The reasons.
const (
	DroppedUnweighed    DropReason = "unweighed" // it was not scored
	DroppedWorthless    DropReason = "nothing"   // its score is 0
	DroppedBelowParents DropReason = "left"      // it scores below its parents
	DroppedReplaced     DropReason = "grown"     // a thought made from it scores no less and replaces it
	DroppedByRank       DropReason = "rank"      // others are better
)

// KeepDecision is the result for a thought at the end.
type KeepDecision struct {
	Kept bool
	Why  DropReason // if it is not kept
	By   int        // DroppedBelowParents: its best parent; DroppedReplaced: what replaces it
	Rank int        // DroppedByRank: its rank among those that could be kept, from 1
	Of   int        // DroppedByRank: the number of those
}

// KeepDecisions keeps the best thoughts, at most so many, and gives the reason for every other one. Abandoned thoughts
// and those replaced by their descendants are not kept, to avoid repetition.
func (s Search) KeepDecisions(keep int) []KeepDecision {
	fates := make([]KeepDecision, len(s.Thoughts))
	status := s.stand()
	var able []int
	for _, i := range s.ranked() {
		t, at := s.Thoughts[i], status[i]
		switch {
		case !t.Weighed:
			fates[i].Why = DroppedUnweighed
		case t.Score <= 0:
			fates[i].Why = DroppedWorthless
		case at.left:
			fates[i] = KeepDecision{Why: DroppedBelowParents, By: s.bestOf(t.Parents)}
		case at.grown >= 0:
			fates[i] = KeepDecision{Why: DroppedReplaced, By: at.grown}
		default:
			able = append(able, i)
		}
	}
	for rank, i := range able {
		fates[i] = KeepDecision{Kept: true}
		if rank >= keep {
			fates[i] = KeepDecision{Why: DroppedByRank, Rank: rank + 1, Of: len(able)}
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
	return math.Cbrt(unit(w.Novelty) * unit(w.Plausible) * unit(w.Relevance))
}

// LimitWorth limits a judge's values of a scenario by what its words show: what is copied from one memory is not new,
// and words without an order are not plausible.
func LimitWorth(w dream.Worth, text string, e Evidence) dream.Worth {
	w.Novelty = math.Min(w.Novelty, newness(e.Memory.Copied(text)))
	if o := e.Order.Of(text); o != nil {
		if share := ShareJudged(o); share < understood {
			w.Plausible = math.Min(w.Plausible, share)
		}
	}
	return w
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
