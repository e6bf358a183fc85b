// Package prediction holds the rules of predictions: confidence by phase, resolution, residuals, calibration, and the
// confidence of hypotheses.
package prediction

import (
	"math"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Range is the confidence that a creative prediction of a phase may have. Integration stages hypotheses and has their
// range; other phases without a range of their own have that of all creative predictions.
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

// Expected is the share of a phase's predictions that is expected to come true. Only onset, NREM and REM have one; 0
// means none.
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

// Clamp holds a confidence within its phase's range; NaN becomes the lower bound.
func Clamp(phase dream.Phase, c float64) float64 {
	low, high := Range(phase)
	return clamp(c, low, high)
}

// Residual is the outcome (1 when it came true, else 0) minus the confidence, in [-1, 1].
func Residual(outcome bool, confidence float64) float64 {
	if outcome {
		return 1 - confidence
	}
	return -confidence
}

// Brier is the mean of the squared residuals: 0 is perfect, 1 is always wrong with full confidence. False without
// residuals.
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
