package eval

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Expected is what can be known of an evaluation before it runs.
type Expected struct {
	Questions int // that will be asked of each arm
	Claims    int // that an arm will know at the split and that will have outcomes
	Outcomes  int // of all of them on the judging days
	Arms      int // that will be judged, raw and placebo not counted
}

// Detectable are the smallest differences that an evaluation will see: those that have the word helps or harms in 80 %
// of runs. They are shares; .25 is 25 points. One that not even the largest possible difference reaches is 0.
type Detectable struct {
	Lift        float64 `json:"lift"`         // where nothing that the placebo foretells is decided
	OverPlacebo float64 `json:"over_placebo"` // where the placebo foretells as much, by chance
	Loss        float64 `json:"loss"`         // of recall@10, where nothing is found anew
	Lost        int     `json:"lost"`         // questions lost from which an arm harms
}

// What Power assumes of claims.
const (
	// assumedChance is the rate of decoys: 28 of 373 in the last two weeks of the two sample lives (docs/demo.md), 8 %.
	assumedChance = .08
	// assumedSpread is the correlation of two outcomes of one claim; our own assumption.
	assumedSpread = .1
	// assumedDecoys is how many outcomes of decoys there are for each outcome: 315 for 42 in the sample life "house".
	assumedDecoys = 7.5
	// assumedUneven is by how much the outcomes of claims are more than their mean, weighted by themselves: a
	// coefficient of variation of .77; our own assumption.
	assumedUneven = 1.6
	// power is the share of runs in which a difference is to be seen.
	power = .8
)

// Power returns what an evaluation will see. The lift is that at which its distance from 0 in standard errors is the
// sum of the quantiles of Student's distribution for the level and for the power (as for the t-test: Cohen 1988,
// chapter 2), with the error of claims that share no name. The loss of recall is exact: the share of questions at which
// as many as it takes are lost in 80 % of runs, by the binomial distribution. Both are at the level of one of so many
// arms (Holm's first).
func Power(e Expected, recallMargin float64) Detectable {
	var s Detectable
	if e.Outcomes >= LeastOutcomes && e.Claims >= LeastGroups {
		s.Lift = smallest(func(rate float64) bool { return e.sees(rate, false) })
		s.OverPlacebo = smallest(func(rate float64) bool { return e.sees(rate, true) })
	}
	s.Lost = e.fewestLost(recallMargin)
	if s.Lost > 0 {
		s.Loss = smallestLoss(e.Questions, s.Lost)
	}
	return s
}

// smallest is the smallest lift over the assumed chance that is seen, 0 where none is.
func smallest(sees func(rate float64) bool) float64 {
	low, high := assumedChance, 1.
	if !sees(high) {
		return 0
	}
	for range 40 {
		if middle := (low + high) / 2; sees(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high - assumedChance
}

// sees says whether a rate at which claims come true is seen.
func (e Expected) sees(rate float64, talkative bool) bool {
	n := float64(e.Outcomes)
	groups := max(1+leastFreedom, float64(e.Claims)/assumedUneven)
	clustered := 1 + max(0, n/groups-1)*assumedSpread
	of := func(p float64) float64 { return p * (1 - p) * clustered / n }
	both := (rate + assumedDecoys*assumedChance) / (1 + assumedDecoys)
	least := both * (1 - both) * (1 + 1/assumedDecoys) / n // as in measure
	variance, df := max(of(rate)+of(assumedChance)/assumedDecoys, least), groups-1
	if talkative { // as in less
		variance, df = 2*max(variance, of(assumedChance)), 2*df
	}
	level := min(beyond, alpha/float64(max(1, e.Arms)))
	t := student(df)
	return (rate-assumedChance)/math.Sqrt(variance) >= t.Quantile(1-level)+t.Quantile(power)
}

// fewestLost is the smallest number of lost questions from which an arm harms, 0 where all of them are too few.
func (e Expected) fewestLost(margin float64) int {
	level := alpha / 2 / float64(max(1, e.Arms)+1) // the placebo may harm, too
	for lost := 1; lost <= e.Questions; lost++ {
		c := change{questions: e.Questions, lost: lost}
		if c.interval().High < 0 && c.mean() < -margin && c.below() <= level {
			return lost
		}
	}
	return 0
}

// smallestLoss is the share of lost questions at which at least so many are lost in 80 % of runs.
func smallestLoss(questions, lost int) float64 {
	low, high := 0., 1.
	for range 40 {
		middle := (low + high) / 2
		runs := distuv.Binomial{N: float64(questions), P: middle}
		if runs.Survival(float64(lost-1)) >= power {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}
