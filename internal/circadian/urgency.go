package circadian

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Weights of the five terms of urgency. They add up to 1.
const (
	weighsMemory     = .30
	weighsStaleness  = .25
	weighsAffect     = .20
	weighsVolatility = .15
	weighsNovelty    = .10
)

// Values at which a term reaches 1.
const (
	// FullMemory is the number of new episodes since the last dream at which memory load is 1: as many as the onset
	// considers. Older ones would fall out of its range before any dream has seen them.
	FullMemory = 200
	// FullStaleness is the time since the last dream at which staleness is 1: one day.
	FullStaleness = 24 * time.Hour
	// FeltEpisodes is how many of the newest new episodes the affect is averaged over: as many as for surprise.
	FeltEpisodes = 50
	// RecentResiduals is how many of the newest outcomes since the last dream novelty is a share of: as many as for
	// surprise.
	RecentResiduals = 20
)

// UrgencyInput is what urgency is computed from.
type UrgencyInput struct {
	Episodes int           `json:"episodes"`        // new ones since the last dream
	Since    time.Duration `json:"since_ns"`        // since the end of the last dream
	Never    bool          `json:"never,omitempty"` // the agent has not dreamt yet
	// in [0, 1]: mean distance of the newest of them from neutral, weighted by salience
	Affect     float64 `json:"affect"`
	Volatility float64 `json:"volatility"`         // in [0, 1]: how fast its life changes (Changes)
	Residuals  int     `json:"residuals"`          // predictions resolved since the last dream
	Novel      int     `json:"novel"`              // those unlike everything in memory
	Unplaced   string  `json:"unplaced,omitempty"` // why novelty could not be computed
}

// Term is one term of an urgency.
type Term struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"` // in [0, 1]
	Weight float64 `json:"weight"`
	Adds   float64 `json:"adds"`
}

// Urgency is how much an agent needs to dream, in [0, 1].
type Urgency struct {
	Value float64      `json:"value"`
	Terms []Term       `json:"terms"` // memory load, staleness, affect, volatility, residual novelty
	Input UrgencyInput `json:"lived"`
}

// UrgencyOf computes the urgency. An agent that never dreamt is stale as soon as it has an episode.
func UrgencyOf(l UrgencyInput) Urgency {
	stale := share(float64(l.Since), float64(FullStaleness))
	if l.Never {
		stale = math.Min(1, float64(max(0, l.Episodes)))
	}
	u := Urgency{Input: l}
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

// share is part/whole held in [0, 1]; 0 for a whole of 0 or NaN.
func share(part, whole float64) float64 {
	if !(whole > 0) || !(part > 0) {
		return 0
	}
	return math.Min(1, part/whole)
}

func thousandths(v float64) float64 { return math.Round(v*1000) / 1000 }

// UrgencyRule is when an urgent agent may dream after a shorter idle time.
type UrgencyRule struct {
	Idle      time.Duration `json:"idle"`      // the shorter idle time; 0: urgency has no effect
	Urgent    float64       `json:"urgent"`    // the urgency from which it applies
	Uncertain float64       `json:"uncertain"` // the same while times are uncertain
}

// DefaultUrgencyRule are the default thresholds: 0.8, and 0.6 in uncertain times. Ten minutes are longer than the
// pauses of most talks; without urgency the idle time is thirty minutes.
var DefaultUrgencyRule = UrgencyRule{Idle: 10 * time.Minute, Urgent: .8, Uncertain: .6}

// uncertainFrom is the volatility from which times are uncertain: half of what the newest episodes are about is new, or
// surprise has risen at most ten episodes or outcomes ago.
const uncertainFrom = .5

// Threshold is the urgency from which a dream may begin early.
func (e UrgencyRule) Threshold(u Urgency) float64 {
	if u.Input.Volatility >= uncertainFrom {
		return e.Uncertain
	}
	return e.Urgent
}

// Early says whether the agent may dream after the shorter idle time.
func (e UrgencyRule) Early(u Urgency) bool { return e.Idle > 0 && u.Value >= e.Threshold(u) }

// Validate returns every invalid threshold.
func (e UrgencyRule) Validate() error {
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

// Space is the distribution of the cosines of unrelated memories in an embedder's space.
type Space struct {
	Mean, SD   float64
	Calibrated bool
}

// Limits for the novelty of a text.
const (
	novelBelow = .3 // in a space where unrelated texts have cosine 0
	// standard deviations above the mean that the nearest of hundreds of unrelated texts reaches by chance
	byChance    = 3
	sameMeaning = .9 // a text nearer than this is never novel
)

// Novel says whether a text is unlike everything in memory, by its cosine to the nearest memory. In a space where
// unrelated texts have the mean cosine m, the limit 0.3 becomes m + 0.3 (1 - m), and it is never below what chance
// reaches.
func (s Space) Novel(nearest float64) bool { return nearest < s.NovelBelow() }

// NovelBelow is the cosine below which a text is novel in the space.
func (s Space) NovelBelow() float64 {
	if !s.Calibrated {
		return novelBelow
	}
	return math.Min(sameMeaning, math.Max(s.Mean+novelBelow*(1-s.Mean), s.Mean+byChance*s.SD))
}

// LargeResidual is the absolute residual from which it counts as large: the less likely outcome occurred. Our choice.
const LargeResidual = .5
