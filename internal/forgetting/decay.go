// Package forgetting computes how knowledge fades: how fast, when it is due, and what may be kept of it.
package forgetting

import (
	"math"
	"time"
)

// Volatility measures the dispersion of recent surprises in [0, 1]: twice their standard deviation, so that surprises
// of which half are 0 and half are 1 give 1. Fewer than two give 0. Values are clamped to [0, 1]; NaN is left out.
func Volatility(surprises []float64) float64 {
	sum, n := 0.0, 0.0
	for _, s := range surprises {
		if !math.IsNaN(s) {
			sum += unit(s)
			n++
		}
	}
	if n < 2 {
		return 0
	}
	mean, squares := sum/n, 0.0
	for _, s := range surprises {
		if !math.IsNaN(s) {
			squares += (unit(s) - mean) * (unit(s) - mean)
		}
	}
	return unit(2 * math.Sqrt(squares/n))
}

// Strength is what is left of an initial strength at an age. It halves once per half-life at volatility 0, and twice
// per half-life at volatility 1 (the factor of two is our choice). A negative age counts as 0.
func Strength(initial float64, age, halfLife time.Duration, volatility float64) float64 {
	initial = unit(initial)
	if age <= 0 {
		return initial
	}
	if halfLife <= 0 {
		return 0
	}
	return initial * math.Exp2(-float64(age)/float64(halfLife)*rate(volatility))
}

// Due is the time when a strength that was initial at that time reaches the threshold: at once when it is not above it,
// and the zero time, which means never, when the threshold is not above 0. The maximum is about 292 years later.
func Due(at time.Time, initial float64, halfLife time.Duration, volatility, threshold float64) time.Time {
	initial = unit(initial)
	switch {
	case !(threshold > 0):
		return time.Time{}
	case initial <= threshold || halfLife <= 0:
		return at
	}
	age := math.Log2(initial/threshold) / rate(volatility) * float64(halfLife)
	if age >= math.MaxInt64 {
		return at.Add(math.MaxInt64)
	}
	return at.Add(time.Duration(age))
}

// rate is the number of half-lives that pass in one at volatility 0.
func rate(volatility float64) float64 { return 1 + unit(volatility) }

func unit(v float64) float64 {
	if v > 0 {
		return math.Min(v, 1)
	}
	return 0
}
