package rank

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// What decides between near equals: together at most .02 of a score that goes from 0 to 1, so that nothing else is moved.
// Recency is counted against the newest memory, not against the clock: an agent that slept a year remembers as before.
const (
	weighsRecent = .01
	weighsHeavy  = .006
	weighsMood   = .004
	recentHalf   = 14 * 24 * time.Hour
)

// weighsTime is for what happened in the time that a question names: as much as half of what meaning may add.
const weighsTime = .15

// Candidate is a hit with what decides between near equals.
type Candidate struct {
	Hit
	At      time.Time
	Weight  float64  // salience or strength, in [0, 1]
	Mood    float64  // cosine with how the agent feels, in [-1, 1]
	Timely  bool     // it happened in the time that the question names
	Sources []string // of knowledge that was derived from other items; nil for what was lived
}

// Order answers the best candidates, at most limit. Derived knowledge gives way to the items it was derived from wherever one
// of them is a candidate.
func Order(all []Candidate, newest time.Time, limit int) []Candidate {
	there := make(map[string]bool, len(all))
	for _, c := range all {
		there[c.Item] = true
	}
	full := 1 + weighsRecent + weighsHeavy + weighsMood
	if slices.ContainsFunc(all, func(c Candidate) bool { return c.Timely }) {
		full += weighsTime
	}
	out := make([]Candidate, 0, len(all))
	for _, c := range all {
		if slices.ContainsFunc(c.Sources, func(id string) bool { return there[id] }) {
			continue
		}
		age := max(0, newest.Sub(c.At))
		c.Score += weighsRecent*math.Exp2(-float64(age)/float64(recentHalf)) + weighsHeavy*c.Weight + weighsMood*(1+c.Mood)/2
		if c.Timely {
			c.Score += weighsTime
		}
		c.Score = min(1, c.Score/full)
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Candidate) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Item, b.Item)) })
	return out[:min(limit, len(out))]
}
