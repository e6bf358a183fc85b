package circadian

import (
	"math"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// Changes are how fast an agent's life changes, each in [0, 1].
type Changes struct {
	Subject float64 // of what its episodes are about
	Affect  float64 // of how they feel
	Regime  float64 // of how much surprises it: how recently that rose
}

// Volatility is the fastest of the changes.
func (c Changes) Volatility() float64 {
	return math.Max(share(c.Regime, 1), math.Max(share(c.Subject, 1), share(c.Affect, 1)))
}

// How change is measured; our choice.
const (
	strongFeeling = .5  // as far from neutral as a strong feeling
	leastOfEach   = 8   // episodes in each half; fewer say nothing
	leastSpread   = .02 // in cosines; below it all episodes are alike
	unrelatedLow  = .05 // the share of pairs that lie farther apart than unrelated ones
)

// SubjectChange is how far the later half of episodes is about something else than the earlier one: by how much the
// cosines within the halves exceed those between them, as a share of what they would for halves that have nothing in
// common. positions are vectors, oldest first. Too few of them, or episodes that are all alike, have not changed.
func SubjectChange(positions [][]float32, cosine func(a, b []float32) float64) float64 {
	half := len(positions) / 2
	if half < leastOfEach {
		return 0
	}
	var within, between, all []float64
	for i, a := range positions {
		for j, b := range positions[:i] {
			c := cosine(a, b)
			all = append(all, c)
			if (i < half) == (j < half) {
				within = append(within, c)
			} else {
				between = append(between, c)
			}
		}
	}
	slices.Sort(all)
	spread := meanOf(within) - all[int(unrelatedLow*float64(len(all)))]
	if spread < leastSpread {
		return 0
	}
	return share(meanOf(within)-meanOf(between), spread)
}

// AffectChange is how far the mean affect of the later half of episodes lies from that of the earlier one, oldest
// first; as far as a strong feeling lies from neutral is 1. Ups and downs that were there all the time are no change.
func AffectChange(affects []mood.PAD) float64 {
	half := len(affects) / 2
	if half < leastOfEach {
		return 0
	}
	return share(meanAffect(affects[half:]).Distance(meanAffect(affects[:half])), strongFeeling)
}

func meanAffect(affects []mood.PAD) mood.PAD {
	var mean mood.PAD
	for i, a := range affects {
		mean = mean.Toward(a, 1/float64(i+1))
	}
	return mean
}

func meanOf(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
