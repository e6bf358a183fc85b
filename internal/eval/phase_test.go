package eval_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/eval"
)

func TestWhatBothArmsForetoldMakesNoDifference(t *testing.T) {
	t.Parallel()
	claims := claimsOf(5, 4, 5, 3, 40)
	differences := eval.Differences(claims, claims)
	require.Equal(t, make([]float64, 5), differences)
	require.Equal(t, eval.Estimate{}, eval.Total(differences))
	require.Equal(t, eval.Estimate{}, eval.Total(nil))
}

func TestADifferenceIsCountedBeyondTheDecoysOfEachClaim(t *testing.T) {
	t.Parallel()
	with, without := claimsOf(2, 4, 5, 10, 50), claimsOf(3, 4, 5, 10, 50)
	require.InDeltaSlice(t, []float64{0, 0, -3}, eval.Differences(with, without), 1e-9, "4 of 5, of which 1 by chance")
	require.InDeltaSlice(t, []float64{0, 0, 3}, eval.Differences(without, with), 1e-9)

	undecided := claimsOf(1, 0, 0, 10, 50)
	undecided[0].When, undecided[0].Then = "gull", "moth"
	require.Empty(t, eval.Differences(undecided, nil))

	// a claim of other words about the same thing is of the same group
	twin := claimsOf(1, 4, 5, 10, 50)
	twin[0].ID, twin[0].When = "twin", "moth"
	require.InDeltaSlice(t, []float64{0}, eval.Differences(claimsOf(1, 4, 5, 10, 50), twin), 1e-9)
}

func TestFewGroupsShowNothingAndManyThatAgreeDo(t *testing.T) {
	t.Parallel()
	for n, isSeen := range map[int]bool{1: false, 2: false, 4: false, 6: false, 8: true, 20: true} {
		same := make([]float64, n)
		for i := range same {
			same[i] = 2
		}
		e := eval.Total(same)
		require.InDelta(t, 2*n, e.Mean, 1e-9)
		require.Equal(t, isSeen, e.Low > 0, "%d groups: %+v", n, e)
	}
	e := eval.Total([]float64{40, .1, .1})
	require.Less(t, e.Low, 0., "one group alone shows nothing")
}

// Of useless phases at most one in twenty is taken for one that adds or takes something.
func TestTheIntervalOfAUselessPhaseHoldsZero(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(5, 6))
	for _, groups := range []int{2, 5, 12, 40} {
		beyond := 0
		const runs = 2000
		for range runs {
			d := make([]float64, groups)
			for i := range d {
				d[i] = dice.NormFloat64() * float64(1+dice.IntN(4))
			}
			if e := eval.Total(d); e.Low > 0 || e.High < 0 {
				beyond++
			}
		}
		require.LessOrEqual(t, beyond, runs*6/100, "%d groups", groups)
	}
}
