package hypnagogia

import "github.com/seed-56a03226/oneiros/activities/port/dream"

// The limits between the stages, as temperatures: shallow 0.8 to 1.0, transitional 1.0 to 1.2, peak 1.2 to 1.5.
const (
	shallowFrom      = .8
	transitionalFrom = 1.0
	peakFrom         = 1.2
	tooDeepAbove     = 1.5 // N2, where the benefit is gone (Lacaux et al. 2021)
)

// Floor is the lowest temperature of a generating call at this stage. After a collapse the onset returns to the peak,
// so TooDeep has the peak's floor.
func Floor(s dream.Stage) float64 {
	switch s {
	case dream.Shallow:
		return shallowFrom
	case dream.Transitional:
		return transitionalFrom
	case dream.Peak, dream.TooDeep:
		return peakFrom
	}
	return shallowFrom
}

// Ceiling is the highest temperature of a generating call at this stage: where the next stage begins, and for the
// peak the knob's value.
func Ceiling(s dream.Stage, k dream.Knobs) float64 {
	switch s {
	case dream.Shallow:
		return transitionalFrom
	case dream.Transitional:
		return peakFrom
	case dream.Peak, dream.TooDeep:
	}
	return k.TemperatureHigh
}

// InductionTemperature is the temperature of an induction at this stage: the knob's value, held within the stage.
func InductionTemperature(s dream.Stage, k dream.Knobs) float64 {
	return max(Floor(s), min(k.InductionTemperature, Ceiling(s, k)))
}

// StageAt is the stage of a temperature. A limit belongs to the deeper stage, but 1.5 is still the peak.
func StageAt(temperature float64) dream.Stage {
	switch {
	case temperature > tooDeepAbove:
		return dream.TooDeep
	case temperature >= peakFrom:
		return dream.Peak
	case temperature >= transitionalFrom:
		return dream.Transitional
	default:
		return dream.Shallow
	}
}

// Descent lists the stages of an onset in order: it begins shallow, the induction is transitional, and Dali cycles
// run at the peak. An onset of the core tier has no cycles.
func Descent(cycles int, tier dream.Tier) []dream.Stage {
	if tier == dream.Core || cycles < 1 {
		return []dream.Stage{dream.Shallow, dream.Transitional}
	}
	return []dream.Stage{dream.Shallow, dream.Transitional, dream.Peak}
}

// DescentTo lists the stages of an onset that goes no deeper than this one, in order.
func DescentTo(deepest dream.Stage) []dream.Stage {
	stages := []dream.Stage{dream.Shallow, dream.Transitional, dream.Peak}
	return stages[:max(1, min(rank(deepest), len(stages)))]
}
