// Package forgetting computes how knowledge fades: how fast, when it is due, and what may be kept of it.
package forgetting

import (
	"math"
	"time"
)

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
