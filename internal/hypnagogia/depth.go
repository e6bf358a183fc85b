package hypnagogia

import "github.com/seed-56a03226/oneiros/internal/dream"

// The edges between the stages, as temperatures (S4, HoriStage: .8-1.0, 1.0-1.2, 1.2-1.5).
const (
	shallowFrom      = .8
	transitionalFrom = 1.0
	peakFrom         = 1.2
	tooDeepAbove     = 1.5 // N2, where the benefit is gone (Lacaux 2021)
)

// Floor is the lowest temperature an ideation call of this stage may have (Z5). A thought that went too deep is called
// back to the peak, so its floor is the peak's.
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

// Ceiling is the hottest that an ideation call of this stage may be: where the next stage begins, and for the peak the
// knob's.
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

// InductionTemperature is the heat of an induction at this stage: the knob's, held within the stage.
func InductionTemperature(s dream.Stage, k dream.Knobs) float64 {
	return max(Floor(s), min(k.InductionTemperature, Ceiling(s, k)))
}

// StageAt is the depth that a temperature stands for. An edge belongs to the deeper stage, but 1.5 is still the peak.
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

// Descent lists the stages that an onset goes through, in order: it sets out shallow, the induction is transitional
// , and Dali cycles are dreamt at the peak. A core onset has none of them.
func Descent(cycles int, tier dream.Tier) []dream.Stage {
	if tier == dream.Core || cycles < 1 {
		return []dream.Stage{dream.Shallow, dream.Transitional}
	}
	return []dream.Stage{dream.Shallow, dream.Transitional, dream.Peak}
}

// DescentTo lists the stages of an onset that goes no deeper than this one, in order.
func DescentTo(deepest dream.Stage) []dream.Stage {
	way := []dream.Stage{dream.Shallow, dream.Transitional, dream.Peak}
	return way[:max(1, min(rank(deepest), len(way)))]
}
