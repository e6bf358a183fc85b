package forgetting_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/internal/forgetting"
)

const month = 30 * 24 * time.Hour

var noon = time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC)

// Forgetting follows the dispersion of recent surprise.
func TestVolatilityIsTheDispersionOfSurprises(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		surprises []float64
		want      float64
	}{
		{nil, 0},
		{[]float64{.9}, 0},
		{[]float64{.5, .5, .5}, 0},
		{[]float64{0, 1}, 1},
		{[]float64{0, 1, 0, 1}, 1},
		{[]float64{.2, .4}, .2},
		{[]float64{.2, math.NaN(), .4}, .2},
		{[]float64{-3, 7}, 1},
		{[]float64{math.NaN(), math.NaN()}, 0},
	} {
		require.InDelta(t, c.want, forgetting.Volatility(c.surprises), 1e-12, "%v", c.surprises)
	}
}

// The knob half_life is the half-life at volatility 0; in a changing world, knowledge fades faster.
func TestStrengthHalvesPerHalfLifeAndFasterWhenVolatile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		age        time.Duration
		volatility float64
		want       float64
	}{
		{0, 0, .8},
		{-month, 1, .8},
		{month, 0, .4},
		{2 * month, 0, .2},
		{month, 1, .2},
		{month / 2, 1, .4},
		{month, .5, .282843},
	} {
		require.InDelta(t, c.want, forgetting.Strength(.8, c.age, month, c.volatility), 1e-6, "%+v", c)
	}
	require.Zero(t, forgetting.Strength(.8, time.Hour, 0, 0))
	require.Equal(t, 1.0, forgetting.Strength(7, 0, month, 0))
}

func TestAnEntryIsDueWhenItsStrengthReachesTheThreshold(t *testing.T) {
	t.Parallel()
	require.Equal(t, noon.Add(2*month), forgetting.Due(noon, .8, month, 0, .2))
	require.Equal(t, noon.Add(month), forgetting.Due(noon, .8, month, 1, .2))
	require.Equal(t, noon, forgetting.Due(noon, .2, month, 0, .2))
	require.Equal(t, noon, forgetting.Due(noon, .9, 0, 0, .2))
	require.True(t, forgetting.Due(noon, .9, month, 0, 0).IsZero(), "never")
	require.True(t, forgetting.Due(noon, .9, month, 0, math.NaN()).IsZero())
	require.True(t, forgetting.Due(noon, 1, math.MaxInt64, 0, 1e-300).After(noon), "no overflow")
}

func TestAtTheDueTimeStrengthEqualsTheThreshold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		initial, threshold := rapid.Float64Range(.3, 1).Draw(r, "initial"),
			rapid.Float64Range(.01, .29).Draw(r, "threshold")
		halfLife := time.Duration(rapid.Int64Range(int64(time.Hour), int64(3650*24*time.Hour)).Draw(r, "half-life"))
		volatility := rapid.Float64Range(0, 1).Draw(r, "volatility")
		due := forgetting.Due(noon, initial, halfLife, volatility, threshold)
		require.InDelta(r, threshold, forgetting.Strength(initial, due.Sub(noon), halfLife, volatility), 1e-9)
		require.False(r, forgetting.Due(noon, initial, halfLife, min(1, volatility+.1), threshold).After(due),
			"volatility makes it due earlier")
	})
}
