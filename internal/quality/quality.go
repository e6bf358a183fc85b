// Package quality measures what an agent's dreams yield, over its newest dreams. The metrics are watched: nothing is
// selected, staged or promoted to reach one.
package quality

import (
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Dreams is how many of the newest dreams are measured.
const Dreams = 30

// Least numbers for a reading: below them a share says nothing.
const (
	LeastDreams = 5
	leastItems  = 10
)

// Name is the name of a metric.
type Name string

// The metrics.
const (
	FragmentYield    Name = "fragment_yield"    // kept fragments, of all that the observer judged
	Novelty          Name = "novelty"           // mean of the kept fragments
	PlaybookDistance Name = "playbook_distance" // mean cosine distance of the kept fragments from the nearest entry
	SeedUse          Name = "seed_use"          // kept fragments that REM developed
	StagingRate      Name = "staging_rate"      // developed fragments that reached a staged hypothesis
	Validation       Name = "validation"        // hypotheses of the onset with a prediction that came true
	CostPerFragment  Name = "cost_per_fragment" // US dollars of the onset, for each fragment that was kept
	AlarmAborts      Name = "alarm_aborts"      // onsets that an alarm ended
)

// Range is where a metric is healthy, and from where on it is an alarm. A limit that is nil does not exist.
type Range struct {
	Name                Name
	Low, High           float64  // healthy between them
	AlarmLow, AlarmHigh *float64 // an alarm below and above
	Means               string
}

func at(x float64) *float64 { return &x }

// Ranges of all metrics, in the order in which they are shown. They come from the design of the dream engine.
var Ranges = []Range{
	{FragmentYield, .15, .40, at(.05), at(.60), "fragments kept, of all that were judged"},
	{Novelty, .3, .7, at(.2), nil, "mean novelty of the kept fragments"},
	{PlaybookDistance, .4, .8, at(.3), nil, "mean distance of the kept fragments from the playbook"},
	{SeedUse, .20, .50, at(.10), at(.70), "kept fragments that REM developed"},
	{StagingRate, .05, .15, at(.02), at(.30), "developed fragments that reached a hypothesis"},
	{Validation, .03, .10, at(.01), nil, "hypotheses of the onset with a prediction that came true"},
	{CostPerFragment, .002, .01, nil, at(.02), "dollars of the onset for each kept fragment"},
	{AlarmAborts, 0, .05, nil, at(.15), "onsets that an alarm ended"},
}

// State is how a metric reads.
type State string

// The states.
const (
	Healthy State = "healthy"
	Outside State = "outside" // neither healthy nor an alarm
	Alarm   State = "alarm"
	TooFew  State = "too few" // to be read
)

// Metric is one metric over the newest dreams.
type Metric struct {
	Name  Name    `json:"name"`
	Value float64 `json:"value"`
	Of    int     `json:"of"` // items that it is computed from
	State State   `json:"state"`
}

// Window is what the metrics are computed from: the records of the newest dreams, and what these dreams made.
type Window struct {
	Records    []*dream.Record
	Fragments  []*dream.Fragment
	Hypotheses []*dream.Hypothesis
}

// Measure computes all metrics, in the order of Ranges.
func Measure(w Window) []Metric {
	sums := w.sums()
	all := make([]Metric, len(Ranges))
	for i, r := range Ranges {
		s := sums[r.Name]
		least := leastItems
		if r.Name == AlarmAborts {
			least = LeastDreams
		}
		all[i] = Metric{Name: r.Name, Of: s.of, State: TooFew}
		if s.of > 0 {
			all[i].Value = s.sum / float64(s.of)
		}
		if s.of >= least && len(w.Records) >= LeastDreams {
			all[i].State = r.read(all[i].Value)
		}
	}
	return all
}

func (r Range) read(value float64) State {
	switch {
	case r.AlarmLow != nil && value < *r.AlarmLow, r.AlarmHigh != nil && value > *r.AlarmHigh:
		return Alarm
	case value < r.Low || value > r.High:
		return Outside
	}
	return Healthy
}

type sum struct {
	sum float64
	of  int
}

func (w Window) sums() map[Name]sum {
	all := map[Name]sum{}
	add := func(n Name, value float64) {
		s := all[n]
		all[n] = sum{s.sum + value, s.of + 1}
	}
	share := func(n Name, yes bool) {
		if yes {
			add(n, 1)
		} else {
			add(n, 0)
		}
	}
	for _, f := range w.Fragments {
		kept := f.Status != dream.FragmentDiscarded
		share(FragmentYield, kept)
		if !kept {
			continue
		}
		add(Novelty, f.Verdict.Novelty)
		if !f.Verdict.PlaybookEmpty {
			add(PlaybookDistance, f.Verdict.DistancePlaybook)
		}
		developed := f.Scenario != "" || f.Status == dream.FragmentDeveloped
		share(SeedUse, developed)
		if developed {
			share(StagingRate, f.Status == dream.FragmentPromoted)
		}
	}
	ofOnset := map[string]bool{}
	for _, f := range w.Fragments {
		ofOnset[f.Hypothesis] = f.Hypothesis != ""
	}
	for _, h := range w.Hypotheses {
		if ofOnset[h.ID] {
			share(Validation, len(h.Confirmed) > 0)
		}
	}
	spent, kept := budget.Micros(0), 0
	for _, r := range w.Records {
		i := slices.IndexFunc(r.Phases, func(t dream.Tally) bool { return t.Phase == dream.Onset && t.Calls > 0 })
		if i < 0 {
			continue
		}
		onset := r.Phases[i]
		share(AlarmAborts, onset.State == "stopped")
		if r.Paid {
			spent, kept = spent+onset.Spent, kept+onset.Kept
		}
	}
	if kept > 0 {
		all[CostPerFragment] = sum{float64(spent) / 1e6, kept}
	}
	return all
}

// Yield is what came of the predictions of an agent's dreams.
type Yield struct {
	Resolved int     `json:"resolved"` // as correct or incorrect, ever
	Correct  int     `json:"correct"`
	Rolling  float64 `json:"rolling_accuracy"` // of the newest hundred
	Peak     float64 `json:"peak_accuracy"`    // the highest that Rolling has been, from twenty outcomes on
	Passed   int     `json:"claims_passed"`
	// since when Rolling lies below .20 or above .40; zero: it lies between, or there are fewer than twenty outcomes
	Low  time.Time `json:"low_since,omitzero"`
	High time.Time `json:"high_since,omitzero"`
}

// The limits of the rolling accuracy, the outcomes it needs, and how long it may stay low.
const (
	LowYield, HighYield = .20, .40
	rolling             = 100
	leastOutcomes       = 20
	LowFor              = 14 * 24 * time.Hour
)

// Flagged says whether the accuracy has been low for so long that the settings of the dreams need a look.
func (y Yield) Flagged(now time.Time) bool { return !y.Low.IsZero() && now.Sub(y.Low) >= LowFor }

// Accuracy is the share of all outcomes that came true; 0 without any.
func (y Yield) Accuracy() float64 {
	if y.Resolved == 0 {
		return 0
	}
	return float64(y.Correct) / float64(y.Resolved)
}

// Reasoning counts the reviewed predictions by how they were reasoned and what came of them.
type Reasoning struct {
	AlignedCorrect      int `json:"aligned_correct"`
	AlignedIncorrect    int `json:"aligned_incorrect"`
	MisalignedCorrect   int `json:"misaligned_correct"` // luck
	MisalignedIncorrect int `json:"misaligned_incorrect"`
}

// ReasoningOf counts predictions; those that were not reviewed do not count.
func ReasoningOf(all []*dream.Prediction) Reasoning {
	var r Reasoning
	for _, p := range all {
		switch p.Quadrant() {
		case dream.AlignedCorrect:
			r.AlignedCorrect++
		case dream.AlignedIncorrect:
			r.AlignedIncorrect++
		case dream.MisalignedCorrect:
			r.MisalignedCorrect++
		case dream.MisalignedIncorrect:
			r.MisalignedIncorrect++
		}
	}
	return r
}

// Reviewed is how many predictions were reviewed.
func (r Reasoning) Reviewed() int {
	return r.AlignedCorrect + r.AlignedIncorrect + r.MisalignedCorrect + r.MisalignedIncorrect
}

// Outcome is one resolved prediction of a dream.
type Outcome struct {
	At    time.Time
	Right bool
}

// YieldOf adds up outcomes, in the order in which they were resolved.
func YieldOf(outcomes []Outcome, claims []*dream.Claim) Yield {
	var y Yield
	right := 0
	for i, o := range outcomes {
		y.Resolved++
		if o.Right {
			y.Correct++
			right++
		}
		if i >= rolling && outcomes[i-rolling].Right {
			right--
		}
		y.Rolling = float64(right) / float64(min(i+1, rolling))
		if y.Resolved < leastOutcomes {
			continue
		}
		y.Peak = max(y.Peak, y.Rolling)
		y.Low, y.High = since(y.Low, y.Rolling < LowYield, o.At), since(y.High, y.Rolling > HighYield, o.At)
	}
	for _, c := range claims {
		if !c.Passed.IsZero() {
			y.Passed++
		}
	}
	return y
}

// since keeps the beginning of a condition for as long as it holds.
func since(began time.Time, holds bool, at time.Time) time.Time {
	switch {
	case !holds:
		return time.Time{}
	case began.IsZero():
		return at
	}
	return began
}
