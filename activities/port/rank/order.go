package rank

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// What decides between near equals: together at most .02 of a score that goes from 0 to 1, so that nothing else is
// moved. Recency is counted against the newest memory, not against the clock: an agent that slept a year remembers as
// before.
const (
	weighsRecent = .01
	weighsHeavy  = .006
	weighsMood   = .004
	recentHalf   = 14 * 24 * time.Hour
)

// weighsTime is for what happened in the time that a question names: as much as half of what meaning may add.
const weighsTime = .15

// weighsContext is how much of the best score near it in the same talk is added to a candidate's own: an answer is
// often spread over what was said before and after it. Chosen on one LoCoMo dialogue; from .1 to .3, and from one
// minute to an hour, found much the same.
const (
	weighsContext = .2
	nearInTalk    = 5 * time.Minute
)

// Candidate is a hit with what decides between near equals.
type Candidate struct {
	Hit
	At      time.Time
	Talk    string   // in which it was said; empty where it has no neighbours
	Weight  float64  // salience or strength, in [0, 1]
	Mood    float64  // cosine with how the agent feels, in [-1, 1]
	Timely  bool     // it happened in the time that the question names
	Sources []string // of knowledge that was derived from other items; nil for what was lived
}

// Best answers the best candidates, at most limit. Derived knowledge gives way to the items it was derived from
// wherever one of them is a candidate; the best of these takes over its share of the score where that is higher.
func Best(all []Candidate, newest time.Time, limit int) []Candidate {
	all = inherit(all)
	full := 1 + weighsRecent + weighsHeavy + weighsMood
	if slices.ContainsFunc(all, func(c Candidate) bool { return c.Timely }) {
		full += weighsTime
	}
	near := contexts(all)
	if slices.ContainsFunc(near, func(score float64) bool { return score > 0 }) {
		full += weighsContext
	}
	out := make([]Candidate, 0, len(all))
	for i, c := range all {
		age := max(0, newest.Sub(c.At))
		c.Score += weighsRecent*math.Exp2(-float64(age)/float64(recentHalf)) + weighsHeavy*c.Weight +
			weighsMood*(1+c.Mood)/2
		if c.Timely {
			c.Score += weighsTime
		}
		c.Score += weighsContext * near[i]
		c.Score = min(1, c.Score/full)
		out = append(out, c)
	}
	slices.SortStableFunc(out,
		func(a, b Candidate) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Item, b.Item)) })
	return out[:min(limit, len(out))]
}

// inherit leaves out derived knowledge with a source among the candidates, and gives its score to the best of these
// sources: the whole score where it has one source, an n-th where it has n, because what sums up many says little of
// any one of them. On LoCoMo a source of many that took the whole score pushed right answers off the first place (-3.7
// points at 1). A source that gives way itself hands the score on.
func inherit(all []Candidate) []Candidate {
	place := make(map[string]int, len(all))
	for i, c := range all {
		place[c.Item] = i
	}
	out := slices.Clone(all)
	heirs := make([]int, len(all)) // place of the source that a candidate gives way to; -1: it stays
	for i, c := range all {
		heirs[i] = -1
		for _, id := range c.Sources {
			at, there := place[id]
			if !there || at == i {
				continue
			}
			if heirs[i] < 0 || better(all[at], all[heirs[i]]) {
				heirs[i] = at
			}
		}
	}
	for range all { // each round hands scores on by one step of derivation
		risen := false
		for i, heir := range heirs {
			if heir < 0 {
				continue
			}
			if share := out[i].Score / float64(len(out[i].Sources)); out[heir].Score < share {
				out[heir].Score = share
				risen = true
			}
		}
		if !risen {
			break
		}
	}
	kept := out[:0]
	for i, c := range out {
		if heirs[i] < 0 {
			kept = append(kept, c)
		}
	}
	return kept
}

// better orders candidates by score, then by id.
func better(a, b Candidate) bool {
	return a.Score > b.Score || a.Score == b.Score && a.Item < b.Item
}

// contexts answers, for each candidate, the best score among the others of the same talk that were said within
// nearInTalk.
func contexts(all []Candidate) []float64 {
	talks := map[string][]int{}
	for i, c := range all {
		if c.Talk != "" {
			talks[c.Talk] = append(talks[c.Talk], i)
		}
	}
	best := make([]float64, len(all))
	for _, members := range talks {
		for _, i := range members {
			for _, j := range members {
				if i != j && all[i].At.Sub(all[j].At).Abs() <= nearInTalk {
					best[i] = max(best[i], all[j].Score)
				}
			}
		}
	}
	return best
}
