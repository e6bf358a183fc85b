package hypnagogia

import "math"

// BiasEvery is how many outcomes it takes to look at the observer again (S4's sibling on the homunculus).
const BiasEvery = 50

// Bounds of the correction, ours: within them a fragment at the floor of .10 would have to have scored .08 to .125.
const (
	LeastBias = .8
	MostBias  = 1.25
)

// Limits beyond which the observer raises an alarm (S4's sibling): fragments that were promoted and came true, as a
// share of all outcomes, and how far the correction that outcomes ask for lies from the one that held.
const (
	LeastValidated = .02
	MostValidated  = .30
	MostDrift      = .25
)

// Watched is a fragment whose prediction came out: what the observer had given it, before any correction.
type Watched struct {
	Whole    float64
	Promoted bool
	Right    bool
}

// Bias is what the outcomes so far say of an observer.
type Bias struct {
	Factor   float64 `json:"factor"` // that composites are multiplied with; 1 until BiasEvery outcomes are known
	Outcomes int     `json:"outcomes"`
	Blocks   int     `json:"blocks"` // of BiasEvery outcomes, looked at so far

	// Of the newest block.
	Right     int     `json:"right"`
	MeanRight float64 `json:"mean_right"` // composite of those that came true
	Mean      float64 `json:"mean"`       // of all
	Requested float64 `json:"asked"`      // the correction they ask for, before its bounds
	Drift     float64 `json:"drift"`      // its distance from the factor that held
	Validated float64 `json:"validated"`  // promoted and came true, a share of all
	// share of pairs of a right and a wrong one in which the right one scored higher; .5 is chance
	Ordered float64 `json:"ordered"`

	Alarms []string `json:"alarms,omitempty"`
}

// doubt is how many average outcomes are added to the right ones, so that one lucky hit moves little.
const doubt = 5

// BiasOf looks at outcomes in the order in which they were resolved, block by block. Where those that came true had
// scored above the average, the observer may trust itself more; where they had scored below, its high marks mean little
// and it becomes stricter. What is left over waits for its block to fill.
func BiasOf(outcomes []Watched) Bias {
	b := Bias{Factor: 1, Requested: 1, Ordered: .5, Outcomes: len(outcomes)}
	for ; len(outcomes) >= BiasEvery; outcomes = outcomes[BiasEvery:] {
		b = b.after(outcomes[:BiasEvery])
	}
	return b
}

func (b Bias) after(block []Watched) Bias {
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
		next.Alarms = append(next.Alarms, AlarmBarren)
	}
	if next.Validated > MostValidated {
		next.Alarms = append(next.Alarms, AlarmTame)
	}
	if next.Drift-MostDrift > 1e-9 {
		next.Alarms = append(next.Alarms, AlarmDrift)
	}
	return next
}

// The alarms, in words.
const (
	AlarmBarren = "fewer than 2 % of the fragments were promoted and came true: what the observer keeps comes to nothing"
	AlarmTame   = "more than 30 % of the fragments were promoted and came true: what the observer keeps was known anyway"
	AlarmDrift  = "outcomes ask for a correction further than .25 from the one that held: the observer has drifted"
)

// ordered is the share of pairs of a right and a wrong one in which the right one scored higher, ties half.
func ordered(block []Watched) float64 {
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
