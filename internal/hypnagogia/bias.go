package hypnagogia

import "math"

// BiasEvery is how many outcomes make a block, after which the observer is assessed again.
const BiasEvery = 50

// Limits of the correction. Our choice: within them, a fragment at the floor of 0.10 would have had to score 0.08 to
// 0.125.
const (
	LeastBias = .8
	MostBias  = 1.25
)

// Limits beyond which the observer raises an alarm: the share of fragments that were promoted and came true, and the
// distance of the requested correction from the current one.
const (
	LeastValidated = .02
	MostValidated  = .30
	MostDrift      = .25
)

// JudgedFragment is a fragment with an outcome: what the observer gave it before any correction.
type JudgedFragment struct {
	Whole    float64
	Promoted bool
	Right    bool
}

// Bias is what the outcomes so far say about an observer.
type Bias struct {
	Factor   float64 `json:"factor"` // the factor applied to composites; 1 until BiasEvery outcomes exist
	Outcomes int     `json:"outcomes"`
	Blocks   int     `json:"blocks"` // assessed blocks of BiasEvery outcomes

	// Of the newest block.
	Right     int     `json:"right"`
	MeanRight float64 `json:"mean_right"` // mean composite of those that came true
	Mean      float64 `json:"mean"`       // of all
	Requested float64 `json:"asked"`      // the correction that the outcomes suggest, before its limits
	Drift     float64 `json:"drift"`      // its distance from the current factor
	Validated float64 `json:"validated"`  // share that was promoted and came true
	// share of pairs of a right and a wrong one in which the right one scored higher; 0.5 is chance
	Ordered float64 `json:"ordered"`

	Alarms []string `json:"alarms,omitempty"`
}

// doubt is how many average outcomes are added to the right ones, so that a single hit changes little.
const doubt = 5

// BiasOf assesses outcomes in the order of their resolution, block by block. If those that came true scored above the
// average, the factor rises; if they scored below, it falls. An incomplete block is ignored.
func BiasOf(outcomes []JudgedFragment) Bias {
	b := Bias{Factor: 1, Requested: 1, Ordered: .5, Outcomes: len(outcomes)}
	for ; len(outcomes) >= BiasEvery; outcomes = outcomes[BiasEvery:] {
		b = b.after(outcomes[:BiasEvery])
	}
	return b
}

func (b Bias) after(block []JudgedFragment) Bias {
	next := Bias{Outcomes: b.Outcomes, Blocks: b.Blocks + 1, Factor: b.Factor, Requested: 1}
	all, right, validated := 0.0, 0.0, 0
	for _, w := range block {
		all += unit(w.Whole)
		if w.Right {
			next.Right++
			right += unit(w.Whole)
		}
		if w.Right && w.Promoted {
			validated++
		}
	}
	next.Mean = all / float64(len(block))
	if next.Right > 0 {
		next.MeanRight = right / float64(next.Right)
	}
	if next.Mean > 0 {
		next.Requested = (right + doubt*next.Mean) / (float64(next.Right) + doubt) / next.Mean
	}
	next.Drift = math.Abs(next.Requested - b.Factor)
	next.Factor = math.Max(LeastBias, math.Min(MostBias, next.Requested))
	next.Validated = float64(validated) / float64(len(block))
	next.Ordered = ordered(block)
	if next.Validated < LeastValidated {
		next.Alarms = append(next.Alarms, AlarmFewPromoted)
	}
	if next.Validated > MostValidated {
		next.Alarms = append(next.Alarms, AlarmManyPromoted)
	}
	if next.Drift-MostDrift > 1e-9 {
		next.Alarms = append(next.Alarms, AlarmDrift)
	}
	return next
}

// The alarms, in words.
const (
	AlarmFewPromoted = "fewer than 2 % of the fragments were promoted and came true: " +
		"what the observer keeps comes to nothing"
	AlarmManyPromoted = "more than 30 % of the fragments were promoted and came true: " +
		"what the observer keeps was known anyway"
	AlarmDrift = "outcomes suggest a correction more than .25 away from the current one: the observer has drifted"
)

// ordered is the share of pairs of a right and a wrong one in which the right one scored higher, ties half.
func ordered(block []JudgedFragment) float64 {
	wins, pairs := 0.0, 0.0
	for _, r := range block {
		for _, w := range block {
			if !r.Right || w.Right {
				continue
			}
			pairs++
			switch {
			case r.Whole > w.Whole:
				wins++
			case r.Whole == w.Whole:
				wins += .5
			}
		}
	}
	if pairs == 0 {
		return .5
	}
	return wins / pairs
}
