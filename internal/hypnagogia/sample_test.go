package hypnagogia_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// The probability is proportional to surprise^0.6. Four weights, the first draw counted over 20,000 seeds.
func TestSurpriseIsDrawnInProportionToItsPower(t *testing.T) {
	t.Parallel()
	weights := []float64{.1, .2, .4, .8}
	const draws = 20_000
	first, second := make([]float64, 4), make([]float64, 4)
	for seed := range uint64(draws) {
		drawn := hypnagogia.Sample(weights, 2, .6, hypnagogia.Dice(seed, dream.NREM, 0, 0, "replay"))
		first[drawn[0]]++
		second[drawn[1]]++
	}
	mass := func(i int) float64 { return math.Pow(weights[i], .6) }
	total := mass(0) + mass(1) + mass(2) + mass(3)
	for i := range weights {
		require.InDelta(t, mass(i)/total, first[i]/draws, .012, "first draw of %d", i)
		next := 0.0 // exactly like consecutive draws
		for j := range weights {
			if j != i {
				next += mass(j) / total * mass(i) / (total - mass(j))
			}
		}
		require.InDelta(t, next, second[i]/draws, .012, "second draw of %d", i)
	}
}

// With all-zero surprise the draw is uniform.
func TestEqualWeightsAreDrawnUniformly(t *testing.T) {
	t.Parallel()
	for name, weights := range map[string][]float64{
		"zero": {0, 0, 0, 0}, "unusable": {math.NaN(), -1, math.Inf(-1), 0}, "alike": {.3, .3, .3, .3},
		"infinite": {math.Inf(1), math.Inf(1), math.MaxFloat64, math.Inf(1)},
	} {
		counts := make([]float64, 4)
		for seed := range uint64(8000) {
			counts[hypnagogia.Sample(weights, 1, .6, hypnagogia.Dice(seed, dream.NREM, 0, 0, "replay"))[0]]++
		}
		for i, n := range counts {
			require.InDelta(t, 2000, n, 200, "%s %d", name, i)
		}
	}
}

func TestZeroWeightsComeLast(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		drawn := hypnagogia.Sample([]float64{0, .1, math.NaN(), .9, -4}, 5, .6,
			hypnagogia.Dice(seed, dream.NREM, 0, 0, ""))
		require.ElementsMatch(t, []int{1, 3}, drawn[:2])
	}
	require.Empty(t, hypnagogia.Sample([]float64{1, 2}, 0, .6, hypnagogia.Dice(1, dream.NREM, 0, 0, "")))
	require.Empty(t, hypnagogia.Sample(nil, 3, .6, hypnagogia.Dice(1, dream.NREM, 0, 0, "")))
	require.Empty(t, hypnagogia.Sample([]float64{1}, -1, .6, hypnagogia.Dice(1, dream.NREM, 0, 0, "")))
}

func TestASampleHasNoIndexTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		weights := rapid.SliceOfN(rapid.Float64(), 0, 50).Draw(r, "weights")
		n := rapid.IntRange(0, 60).Draw(r, "n")
		seed := rapid.Uint64().Draw(r, "seed")
		alpha := rapid.Float64Range(0, 1).Draw(r, "alpha")
		drawn := hypnagogia.Sample(weights, n, alpha, hypnagogia.Dice(seed, dream.NREM, 0, 0, ""))
		require.Len(r, drawn, min(n, len(weights)))
		require.Equal(r, drawn, hypnagogia.Sample(weights, n, alpha, hypnagogia.Dice(seed, dream.NREM, 0, 0, "")))
		longer := hypnagogia.Sample(weights, n+3, alpha, hypnagogia.Dice(seed, dream.NREM, 0, 0, ""))
		require.Equal(r, drawn, longer[:len(drawn)], "a larger sample begins with the smaller one")
		slices.Sort(drawn)
		require.Len(r, slices.Compact(drawn), min(n, len(weights)))
	})
}

func BenchmarkSampleOfAHundredThousand(b *testing.B) {
	weights := make([]float64, 100_000)
	r := hypnagogia.Dice(1, dream.NREM, 0, 0, "weights")
	for i := range weights {
		weights[i] = r.Float64()
	}
	for b.Loop() {
		hypnagogia.Sample(weights, 270, .6, r)
	}
}
