// Package prediction owns what was foretold and how it is judged: confidence by phase, residuals, and a hypothesis's
// rise and fall.
package prediction

import (
	"math"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Range is the confidence that a creative prediction of a phase may have (dreams as predictions). Integration stages
// hypotheses, so its range is theirs; every other phase has that of all creative predictions together.
func Range(phase dream.Phase) (low, high float64) {
	switch phase {
	case dream.Onset:
		return .10, .20
	case dream.NREM:
		return .25, .40
	case dream.REM:
		return .20, .35
	case dream.Integration:
		return stagedLow, stagedHigh
	case dream.Return:
	}
	return .10, .40
}

// Expected is the share of a phase's predictions that is expected to come true. S4 names one for onset, NREM and REM
// alone; for other phases it is 0, which means none. The .34 of all together is a target to measure and stands nowhere.
func Expected(phase dream.Phase) float64 {
	switch phase {
	case dream.Onset:
		return .15
	case dream.NREM:
		return .30
	case dream.REM:
		return .25
	case dream.Integration, dream.Return:
	}
	return 0
}

// Clamp holds a confidence within its phase's range; what is not a number becomes the lowest.
func Clamp(phase dream.Phase, c float64) float64 {
	low, high := Range(phase)
	return clamp(c, low, high)
}

// Residual is outcome (1 when it came true, else 0) minus confidence, in [-1, 1].
func Residual(outcome bool, confidence float64) float64 {
	if outcome {
		return 1 - confidence
	}
	return -confidence
}

// Brier is the mean of the squared residuals: 0 is perfect, 1 is perfectly wrong. Without residuals there is no score,
// and it answers false.
func Brier(residuals ...float64) (float64, bool) {
	if len(residuals) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, r := range residuals {
		sum += r * r
	}
	return sum / float64(len(residuals)), true
}

func clamp(v, low, high float64) float64 {
	if !(v >= low) {
		return low
	}
	return math.Min(v, high)
}
