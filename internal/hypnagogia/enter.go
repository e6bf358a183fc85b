package hypnagogia

import (
	"math"
	"math/bits"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// Why an onset is skipped. A veto comes from a hook, not from Enter.
const (
	SkipDisabled = "disabled"
	SkipPhase    = "phase"
	SkipBudget   = "budget"
	SkipVeto     = "veto"
)

// Enter is why the onset is skipped, or "" when it runs: it must be enabled, allowed by the agent's behaviour, and
// more than fraction of the dream's total must remain. The comparison is exact to a millionth of fraction. With free
// models money does not matter.
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

// exceeds compares in 128 bits, so that amounts are not rounded and do not overflow.
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
