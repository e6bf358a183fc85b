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
// strength is what is left of an initial strength at an age: it halves once per half-life at volatility 0, twice at 1.
func strength(initial float64, age, halfLife time.Duration, volatility float64) float64 {
	return initial * math.Exp2(-float64(age)/float64(halfLife)*(1+volatility))
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
		require.InDelta(r, threshold, strength(initial, due.Sub(noon), halfLife, volatility), 1e-9)
		require.False(r, forgetting.Due(noon, initial, halfLife, min(1, volatility+.1), threshold).After(due),
			"volatility makes it due earlier")
	})
}
