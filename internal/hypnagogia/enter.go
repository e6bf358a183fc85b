package hypnagogia

import (
	"math"
	"math/bits"

	"github.com/seed-56a03226/oneiros/internal/budget"
)

// Why an onset is skipped. A veto is not a law's to give: a hook gives it.
const (
	SkipDisabled = "disabled"
	SkipPhase    = "phase"
	SkipBudget   = "budget"
	SkipVeto     = "veto"
)

// Enter says why the onset is skipped, or "" when it runs (should_enter_hypnagogia): it must be enabled, allowed by the
// behavioural phase, and more than fraction of the dream's total must remain. The comparison is exact: fraction counts
// in millionths. When every model is free, money never forbids.
func Enter(enabled, phaseAllows bool, remaining, total budget.Micros, fraction float64, free bool) string {
	switch {
	case !enabled:
		return SkipDisabled
	case !phaseAllows:
		return SkipPhase
	case !free && !exceeds(remaining, total, fraction):
		return SkipBudget
	default:
		return ""
	}
}

// exceeds compares in 128 bits, so that no amount of money is rounded or wraps around.
func exceeds(remaining, total budget.Micros, fraction float64) bool {
	const million = 1_000_000
	if remaining <= 0 || math.IsNaN(fraction) {
		return false
	}
	millionths := uint64(math.Round(math.Max(0, math.Min(1, fraction)) * million))
	leftHigh, leftLow := bits.Mul64(uint64(remaining), million)
	rightHigh, rightLow := bits.Mul64(uint64(max(total, 0)), millionths)
	return leftHigh > rightHigh || leftHigh == rightHigh && leftLow > rightLow
}
