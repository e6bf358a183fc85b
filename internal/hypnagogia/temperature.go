package hypnagogia

import (
	"math"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Reheat is how far up sampling returns after a capture, from the floor of its stage to the peak of its cycle.
const Reheat = .8

// Anneal is half a cosine: high at step 0, low at step steps. Steps outside [0, steps] count as the nearest end;
// without steps it is high.
func Anneal(step, steps int, high, low float64) float64 {
	if steps <= 0 || step <= 0 {
		return high
	}
	if step >= steps {
		return low
	}
	return low + (high-low)*(1+math.Cos(math.Pi*float64(step)/float64(steps)))/2
}

// CyclePeak is the hottest temperature of a Dali cycle: each cycle, counted from 1, is cooler than the one before.
func CyclePeak(high, cooling float64, cycle int) float64 {
	return high * math.Pow(cooling, float64(max(cycle, 1)-1))
}

// Reanneal raises a temperature after a capture to Reheat of the way from floor to peak; it never lowers it. Measured
// from zero, four fifths of any peak that a stage allows lie at its floor or below, where nothing would be raised.
func Reanneal(current, floor, peak float64) float64 {
	return math.Max(current, floor+Reheat*math.Max(0, peak-floor))
}

// TemperaturesAt are the temperatures of one Dali cycle, counted from 1, at a stage, rounded to thousandths.
//
// The steps of the curve are the cycle's calls in order, partials before observer calls: the first partial has the
// cycle's peak, which begins at the ceiling of the stage, and the last observer call k.TemperatureLow. A partial is
// never below the floor of the stage, nor, after a cycle that captured something, below Reheat of the way from there to
// its cycle's peak. Since each cycle peaks cooler than the last, so does what a capture returns to. An observer call
// follows the curve but is at most k.ObserverTemperature, so with the defaults (both 0.4) every observer call is at
// 0.4.
func TemperaturesAt(stage dream.Stage, cycle, partials, judged int, k dream.Knobs,
	captured bool,
) (partial, observer []float64) {
	k.TemperatureHigh = Ceiling(stage, k)
	peak := CyclePeak(k.TemperatureHigh, k.Cooling, cycle)
	last := max(partials, 0) + max(judged, 0) - 1
	for i := 0; i < partials; i++ {
		temperature := Anneal(i, last, peak, k.TemperatureLow)
		if captured {
			temperature = Reanneal(temperature, Floor(stage), peak)
		}
		partial = append(partial, thousandths(math.Max(temperature, Floor(stage))))
	}
	for i := 0; i < judged; i++ {
		temperature := Anneal(max(partials, 0)+i, last, peak, k.TemperatureLow)
		observer = append(observer, thousandths(math.Min(temperature, k.ObserverTemperature)))
	}
	return partial, observer
}

// thousandths makes a temperature the same on every processor, and readable in a request.
func thousandths(temperature float64) float64 { return math.Round(temperature*1000) / 1000 }
