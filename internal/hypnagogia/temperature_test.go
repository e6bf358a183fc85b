package hypnagogia_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// Within a Dali cycle generating calls are at 1.3 to 1.5 and judging calls at 0.3 to 0.5.
func TestAnnealingIsHalfACosineFromHotToCold(t *testing.T) {
	t.Parallel()
	for step, want := range []float64{1.5, 1.426314, 1.225, .95, .675, .473686, .4} {
		require.InDelta(t, want, hypnagogia.Anneal(step, 6, 1.5, .4), 1e-6, "step %d", step)
	}
	require.Equal(t, 1.3, hypnagogia.Anneal(0, 7, 1.3, .3))
	require.Equal(t, .3, hypnagogia.Anneal(7, 7, 1.3, .3))
	require.Equal(t, .3, hypnagogia.Anneal(9, 7, 1.3, .3))
	require.Equal(t, 1.3, hypnagogia.Anneal(-1, 7, 1.3, .3))
	require.Equal(t, 1.3, hypnagogia.Anneal(0, 0, 1.3, .3))
}

func TestAnnealingNeverRaisesTheTemperature(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		high, low := rapid.Float64Range(1.2, 1.5).Draw(r, "high"), rapid.Float64Range(.3, .5).Draw(r, "low")
		steps := rapid.IntRange(1, 60).Draw(r, "steps")
		for step := 0; step < steps; step++ {
			now, next := hypnagogia.Anneal(step, steps, high, low), hypnagogia.Anneal(step+1, steps, high, low)
			require.Greater(r, now, next)
			require.InDelta(r, high+low, now+hypnagogia.Anneal(steps-step, steps, high, low), 1e-9,
				"the curve is even about its middle")
		}
	})
}

// The cooling factor 0.95 applies to the cycle's peak.
func TestEachCyclePeaksCoolerThanTheLast(t *testing.T) {
	t.Parallel()
	for cycle, want := range map[int]float64{0: 1.5, 1: 1.5, 2: 1.425, 3: 1.35375, 5: 1.221759375} {
		require.InDelta(t, want, hypnagogia.CyclePeak(1.5, .95, cycle), 1e-12, "cycle %d", cycle)
	}
}

// After a capture the temperature is four fifths of the way from the floor to the peak, or higher.
func TestACaptureSendsTheTemperatureBackToFourFifthsOfThePeak(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 1.44, hypnagogia.Reanneal(.4, 1.2, 1.5), 1e-12)
	require.InDelta(t, 1.48, hypnagogia.Reanneal(1.48, 1.2, 1.5), 1e-12)
	require.InDelta(t, .96, hypnagogia.Reanneal(.3, .8, 1), 1e-12)
	require.InDelta(t, 1.2, hypnagogia.Reanneal(.3, 1.2, 1.1), 1e-12, "a peak below the floor raises nothing further")
}

// At every stage, with every allowed peak above the floor, a capture makes the next cycle hotter, and never hotter than
// its own peak.
func TestACaptureRaisesTheTemperatureAtEveryStage(t *testing.T) {
	t.Parallel()
	for _, stage := range []dream.Stage{dream.Shallow, dream.Transitional, dream.Peak} {
		for _, high := range []float64{1.3, 1.4, 1.5} {
			k := dream.DefaultKnobs()
			k.TemperatureHigh = high
			before, _ := hypnagogia.TemperaturesAt(stage, 2, 4, 4, k, false)
			after, _ := hypnagogia.TemperaturesAt(stage, 2, 4, 4, k, true)
			require.Equal(t, before[0], after[0], "the peak of a cycle stays")
			require.Greater(t, after[3], before[3], "%s, %v", stage, high)
			for i := range before {
				require.GreaterOrEqual(t, after[i], before[i])
				require.LessOrEqual(t, after[i], before[0])
				require.Equal(t, stage, hypnagogia.StageAt(after[i]))
			}
		}
	}
}

// With the defaults: peak 1.5, cold end 0.4, observer 0.4, four partials and four judgements, three cycles.
func TestTheTemperaturesOfADefaultOnset(t *testing.T) {
	t.Parallel()
	k := dream.DefaultKnobs()
	cold := []float64{.4, .4, .4, .4}
	for cycle, want := range [][]float64{
		{1.5, 1.446, 1.293, 1.2},
		{1.425, 1.374, 1.232, 1.2},
		{1.354, 1.307, 1.2, 1.2},
	} {
		partial, observer := hypnagogia.TemperaturesAt(dream.Peak, cycle+1, 4, 4, k, false)
		require.Equal(t, want, partial, "cycle %d", cycle+1)
		require.Equal(t, cold, observer, "cycle %d", cycle+1)
	}
	for cycle, want := range map[int][]float64{2: {1.425, 1.38, 1.38, 1.38}, 3: {1.354, 1.323, 1.323, 1.323}} {
		partial, observer := hypnagogia.TemperaturesAt(dream.Peak, cycle, 4, 4, k, true)
		require.Equal(t, want, partial, "cycle %d after a capture", cycle)
		require.Equal(t, cold, observer, "cycle %d after a capture", cycle)
	}
}

// A warmer observer follows the curve down to the cold end and is only capped.
func TestAWarmObserverAnnealsToTheColdEnd(t *testing.T) {
	t.Parallel()
	k := dream.DefaultKnobs()
	k.TemperatureLow, k.ObserverTemperature = .3, .8
	_, observer := hypnagogia.TemperaturesAt(dream.Peak, 1, 4, 4, k, false)
	require.Equal(t, []float64{.766, .526, .359, .3}, observer)
}

func TestEveryTemperatureStaysInItsRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		k := dream.DefaultKnobs()
		k.TemperatureHigh, k.TemperatureLow = rapid.Float64Range(1.2, 1.5).Draw(r, "high"),
			rapid.Float64Range(.3, .5).Draw(r, "low")
		k.Cooling, k.ObserverTemperature = rapid.Float64Range(.5, 1).Draw(r, "cooling"),
			rapid.Float64Range(0, 2).Draw(r, "observer")
		partials, judged := rapid.IntRange(0, 5).Draw(r, "partials"), rapid.IntRange(0, 5).Draw(r, "judged")
		partial, observer := hypnagogia.TemperaturesAt(dream.Peak, rapid.IntRange(1, 20).Draw(r, "cycle"), partials, judged, k,
			rapid.Bool().Draw(r, "captured"))
		require.Len(r, partial, partials)
		require.Len(r, observer, judged)
		for _, temperature := range partial {
			require.Equal(r, dream.Peak, hypnagogia.StageAt(temperature))
		}
		for _, temperature := range observer {
			require.LessOrEqual(r, temperature, k.ObserverTemperature+.0005)
		}
	})
}
