package hypnagogia

import (
	"math"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Reheat is the share of the peak that the heat goes back to after a capture (periodic reannealing).
const Reheat = .8

// Anneal is half a cosine: high at step 0, low at step steps, the middle half way (temperature schedule).
// Steps outside [0, steps] count as the nearest end; with no steps at all it is high.
func Anneal(step, steps int, high, low float64) float64 {
	if steps <= 0 || step <= 0 {
		return high
	}
	if step >= steps {
		return low
	}
	return low + (high-low)*(1+math.Cos(math.Pi*float64(step)/float64(steps)))/2
}

// CyclePeak is the hottest a Dali cycle gets: each cycle, counted from 1, is cooler than the one before.
func CyclePeak(high, cooling float64, cycle int) float64 {
	return high * math.Pow(cooling, float64(max(cycle, 1)-1))
}

// Reanneal lifts a heat back into the creative range after a capture: to Reheat of the peak, never down.
func Reanneal(current, peak float64) float64 { return math.Max(current, Reheat*peak) }

// Temperatures gives the temperatures of one Dali cycle, counted from 1, rounded to thousandths.
//
// The steps of the curve are the cycle's calls in order, partials before observer calls: the first partial stands at
// the cycle's peak, the last observer call at k.TemperatureLow. Two rules then hold each end in its range. A partial
// never falls below the floor of the peak stage (Z5), nor, when the cycle before captured something, below Reheat of
// k.TemperatureHigh. With S4's peak of 1.5 both bounds are 1.2; the second one matters only for hotter peaks. H5 wants
// the observer at .4, H8 wants it at the cold end of the curve: an observer call follows the curve but is capped at
// k.ObserverTemperature, so with the defaults (both .4) every one of them is exactly .4.
func Temperatures(cycle, partials, judged int, k dream.Knobs, captured bool) (partial, observer []float64) {
	return TemperaturesAt(dream.Peak, cycle, partials, judged, k, captured)
}

// TemperaturesAt is the same for a cycle that is dreamt at another stage than the peak: its ceiling stands in the place
// of k.TemperatureHigh, and its floor in that of the peak's.
func TemperaturesAt(stage dream.Stage, cycle, partials, judged int, k dream.Knobs,
	captured bool,
) (partial, observer []float64) {
	k.TemperatureHigh = Ceiling(stage, k)
	peak := CyclePeak(k.TemperatureHigh, k.Cooling, cycle)
	last := max(partials, 0) + max(judged, 0) - 1
	for i := 0; i < partials; i++ {
		temperature := Anneal(i, last, peak, k.TemperatureLow)
		if captured {
			temperature = Reanneal(temperature, k.TemperatureHigh)
		}
		partial = append(partial, thousandths(math.Max(temperature, Floor(stage))))
	}
	for i := 0; i < judged; i++ {
		temperature := Anneal(max(partials, 0)+i, last, peak, k.TemperatureLow)
		observer = append(observer, thousandths(math.Min(temperature, k.ObserverTemperature)))
	}
	return partial, observer
}

// thousandths keeps a heat the same on every processor, and readable in a request.
func thousandths(temperature float64) float64 { return math.Round(temperature*1000) / 1000 }
