package hypnagogia_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

func repeat(v float64, n int) []float64 { return slices.Repeat([]float64{v}, n) }

// Resolved predictions show surprise; while there are few of them, episodes are used as well.
func TestSurpriseIsBlendedWhilePredictionsAreFew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                string
		residuals, episodes []float64
		surprise, weight    float64
	}{
		{"no data", nil, nil, 0, 0},
		{"episodes only", nil, repeat(.6, 40), .6, 0},
		{"five of twenty", repeat(-.2, 5), repeat(.6, 40), .5, .25},
		{"twenty", repeat(.2, 20), repeat(.6, 40), .2, 1},
		{"only the newest twenty", append(repeat(.9, 30), repeat(-.3, 20)...), nil, .3, 1},
		{"no episodes at all", repeat(.7, 3), nil, .7, 1},
		{"only the newest fifty episodes", nil, append(repeat(1, 100), repeat(.2, 50)...), .2, 0},
		{"NaN is ignored", []float64{math.NaN(), .4}, nil, .4, 1},
		{"values out of range are clamped", nil, []float64{7, -7}, 1, 0},
	} {
		s := hypnagogia.DepthInputOf(c.residuals, c.episodes)
		require.InDelta(t, c.surprise, s.Surprise, 1e-9, c.name)
		require.InDelta(t, c.weight, s.Weight, 1e-9, c.name)
	}
}

func TestARegimeThatHasChangedFades(t *testing.T) {
	t.Parallel()
	calm := repeat(.2, 40)
	require.Zero(t, hypnagogia.Regime(nil))
	require.Zero(t, hypnagogia.Regime(calm))
	require.Zero(t, hypnagogia.Regime(append(slices.Clone(calm), repeat(0, 40)...)),
		"less surprise is no change for the worse")
	require.Zero(t, hypnagogia.Regime(append(slices.Clone(calm), .9, .9)), "two bad values are no change")
	broken := append(slices.Clone(calm), repeat(.8, 7)...)
	require.Equal(t, 1.0, hypnagogia.Regime(broken))
	require.InDelta(t, .5, hypnagogia.Regime(append(broken, repeat(.8, 10)...)), 1e-9)
	require.Zero(t, hypnagogia.Regime(append(broken, repeat(.8, 20)...)), "a lasting change becomes normal")
}

// series draws n surprises: 0.85 with probability p and 0.15 otherwise; flat ones are uniform around the mean p.
func series(dice *rand.Rand, n int, p float64, flat bool) []float64 {
	out := make([]float64, n)
	for i := range out {
		switch {
		case flat:
			out[i] = math.Max(0, math.Min(1, p+dice.Float64()-.5))
		case dice.Float64() < p:
			out[i] = .85
		default:
			out[i] = .15
		}
	}
	return out
}

// The figures in the documentation of the detector.
func TestARegimeThatChangesIsFound(t *testing.T) {
	t.Parallel()
	const runs = 4000
	for _, c := range []struct {
		name string
		p    float64
		flat bool
		most float64
	}{{"creative predictions, calibrated", .15, false, .02}, {"coin flips", .5, false, .02}, {"ranks", .5, true, .02}} {
		dice := hypnagogia.Dice(1, dream.Onset, 0, 0, c.name)
		alarms := 0
		for range runs {
			values := series(dice, 60, c.p, c.flat)
			for n := range values {
				if hypnagogia.Regime(values[:n+1]) == 1 {
					alarms++
					break
				}
			}
		}
		t.Logf("%s: %.2f %% of series without a change raise an alarm", c.name, 100*float64(alarms)/runs)
		require.LessOrEqual(t, float64(alarms)/runs, c.most, c.name)
	}
	dice := hypnagogia.Dice(1, dream.Onset, 0, 0, "changes")
	var waits []int
	for range runs {
		values := append(series(dice, 40, .15, false), series(dice, 40, .75, false)...)
		wait := 40
		for n := 40; n < 80; n++ {
			if hypnagogia.Regime(values[:n+1]) == 1 {
				wait = n - 39
				break
			}
		}
		waits = append(waits, wait)
	}
	slices.Sort(waits)
	t.Logf("found after %d values in the median, %d in nine of ten", waits[runs/2], waits[runs*9/10])
	require.LessOrEqual(t, waits[runs/2], 12)
	require.LessOrEqual(t, waits[runs*9/10], 25)
}
