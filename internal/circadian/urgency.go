package circadian

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Weights of the five terms of urgency. They sum to 1.
const (
	weighsMemory     = .30
	weighsStaleness  = .25
	weighsAffect     = .20
	weighsVolatility = .15
	weighsNovelty    = .10
)

// What fills a term to 1.
const (
	// FullMemory are new episodes since the last dream: as many as the onset's choice looks back. Of more than these
	// the oldest are past it before any dream has seen them.
	FullMemory = 200
	// FullStaleness is the time since the last dream: one night (Claude Code and OpenClaw consolidate once a day).
	FullStaleness = 24 * time.Hour
	// FeltEpisodes are the newest of the new episodes that the affect is a mean over: as many as surprise is sounded
	// by.
	FeltEpisodes = 50
	// RecentResiduals are the newest outcomes since the last dream that novelty is a share of: as many as surprise is.
	RecentResiduals = 20
)

// Lived is what urgency is made of. Whoever counts it says nothing of weights.
type Lived struct {
	Episodes int           `json:"episodes"`        // new ones since the last dream
	Since    time.Duration `json:"since_ns"`        // the end of the last dream
	Never    bool          `json:"never,omitempty"` // it has not dreamt yet
	// in [0, 1]: mean distance of the newest of them from neutral, by salience
	Affect     float64 `json:"affect"`
	Volatility float64 `json:"volatility"`         // in [0, 1]: how fresh a change of regime is
	Residuals  int     `json:"residuals"`          // predictions resolved since the last dream
	Novel      int     `json:"novel"`              // of them, unlike everything in memory
	Unplaced   string  `json:"unplaced,omitempty"` // why nobody could say which are novel
}

// Term is one part of an urgency.
type Term struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"` // in [0, 1]
	Weight float64 `json:"weight"`
	Adds   float64 `json:"adds"`
}

// Urgency is how much an agent needs to dream, in [0, 1].
type Urgency struct {
	Value float64 `json:"value"`
	Terms []Term  `json:"terms"` // memory load, staleness, affect, volatility, residual novelty
	Lived Lived   `json:"lived"`
}

// UrgencyOf weighs what was lived. An agent that never dreamt is stale as soon as it has lived anything.
func UrgencyOf(l Lived) Urgency {
	stale := share(float64(l.Since), float64(FullStaleness))
	if l.Never {
		stale = math.Min(1, float64(max(0, l.Episodes)))
	}
	u := Urgency{Lived: l}
	for _, t := range []Term{
		{Name: "memory load", Value: share(float64(l.Episodes), FullMemory), Weight: weighsMemory},
		{Name: "staleness", Value: stale, Weight: weighsStaleness},
		{Name: "affect", Value: share(l.Affect, 1), Weight: weighsAffect},
		{Name: "volatility", Value: share(l.Volatility, 1), Weight: weighsVolatility},
		{Name: "residual novelty", Value: share(float64(l.Novel), float64(l.Residuals)), Weight: weighsNovelty},
	} {
		t.Value = thousandths(t.Value)
		t.Adds = thousandths(t.Value * t.Weight)
		u.Value += t.Adds
		u.Terms = append(u.Terms, t)
	}
	u.Value = thousandths(u.Value)
	return u
}

// share is part of whole, held in [0, 1]; 0 of nothing, and of what is no number.
func share(part, whole float64) float64 {
	if !(whole > 0) || !(part > 0) {
		return 0
	}
	return math.Min(1, part/whole)
}

func thousandths(v float64) float64 { return math.Round(v*1000) / 1000 }

// Eager is when an urgent agent need not wait until it has been idle for long enough.
type Eager struct {
	Idle      time.Duration `json:"idle"`      // quiet time that is enough then; 0: urgency moves nothing
	Urgent    float64       `json:"urgent"`    // from this urgency on
	Uncertain float64       `json:"uncertain"` // from this one on, while times are uncertain
}

// DefaultEager are the thresholds of S4's sibling documents: .8, and .6 in uncertain times. Ten minutes outlast the
// pause in most talks; the plain rule waits thirty.
var DefaultEager = Eager{Idle: 10 * time.Minute, Urgent: .8, Uncertain: .6}

// uncertainFrom is the volatility from which times are uncertain: a change of regime no more than ten episodes or
// outcomes old.
const uncertainFrom = .5

// Threshold is the urgency that lets a dream begin early.
func (e Eager) Threshold(u Urgency) float64 {
	if u.Lived.Volatility >= uncertainFrom {
		return e.Uncertain
	}
	return e.Urgent
}

// Early says whether the agent may dream after the shorter quiet time.
func (e Eager) Early(u Urgency) bool { return e.Idle > 0 && u.Value >= e.Threshold(u) }

// Validate names every threshold that is wrong.
func (e Eager) Validate() error {
	var faults []error
	for _, each := range []struct {
		name string
		at   float64
	}{{"urgent", e.Urgent}, {"urgent_uncertain", e.Uncertain}} {
		if !(each.at > 0 && each.at <= 1) {
			faults = append(faults, fmt.Errorf("%s is %v; it must lie above 0 and not above 1", each.name, each.at))
		}
	}
	if len(faults) == 0 && e.Uncertain > e.Urgent {
		faults = append(faults,
			fmt.Errorf("urgent_uncertain is %v and urgent is %v; uncertain times must not raise the threshold",
				e.Uncertain, e.Urgent))
	}
	return errors.Join(faults...)
}

// Space is how the cosines of memories that have nothing to do with each other lie in an embedder's space.
type Space struct {
	Mean, SD float64
	Known    bool
}

// Bounds of what is new to a memory.
const (
	novelBelow  = .3 // S4, of a space in which strangers lie at 0
	byChance    = 3  // standard deviations above strangers that the nearest of hundreds of them reach by chance alone
	sameMeaning = .9 // nobody is new who is nearer than this, whatever the space
)

// Novel says whether a text is unlike everything in memory, by its cosine to the nearest memory. In a space where
// strangers lie at a mean m, what .3 is elsewhere lies at m + .3 (1 - m), and no bound lies below what chance reaches.
func (s Space) Novel(nearest float64) bool { return nearest < s.NovelBelow() }

// NovelBelow is the cosine below which a text is novel in the space.
func (s Space) NovelBelow() float64 {
	if !s.Known {
		return novelBelow
	}
	return math.Min(sameMeaning, math.Max(s.Mean+novelBelow*(1-s.Mean), s.Mean+byChance*s.SD))
}

// LargeResidual is the size from which a residual is large: reality came out on the side that was held the less likely
// (ours; S4 gives none).
const LargeResidual = .5
