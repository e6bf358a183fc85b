package ablation_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/testsuite/ablation"
)

// at is an idea at a random place in a space of 32 dimensions.
func at(dice *rand.Rand) ablation.Idea {
	v := make([]float32, 32)
	for i := range v {
		v[i] = float32(dice.NormFloat64())
	}
	return ablation.Idea{
		Phase:     dream.Onset,
		Text:      "t",
		Kept:      true,
		Memory:    .5,
		Surface:   1,
		Coherence: .8,
		Place:     ablation.Place(v),
	}
}

// honest makes nights of four ideas for a cent each, from seeds.
func honest(seeds ...uint64) []ablation.Night {
	var all []ablation.Night
	for _, seed := range seeds {
		dice := rand.New(rand.NewPCG(seed, 0))
		n := ablation.Night{
			Arm: "a", Seed: seed,
			Spent: map[dream.Phase]budget.Micros{dream.Onset: budget.Dollar / 100, dream.REM: 7},
		}
		for range 4 {
			n.Ideas = append(n.Ideas, at(dice))
		}
		all = append(all, n)
	}
	return all
}

func measured(nights []ablation.Night) ablation.Row {
	return ablation.Measure("a", ablation.Cut(nights, budget.Unlimited, dream.Onset, dream.Onset))
}

// The negative control: an arm that has the same seed every night has fewer distinct ideas, and the measure must show
// it.
func TestAnArmThatDreamsTheSameNightOverAndOverHasTheIdeasOfOneNight(t *testing.T) {
	t.Parallel()
	varied, same := measured(honest(1, 2, 3, 4, 5, 6)), measured(honest(3, 3, 3, 3, 3, 3))
	require.Equal(t, varied.Ideas, same.Ideas)
	require.InDelta(t, 24, varied.Distinct.Value, 1e-9)
	require.InDelta(t, 4, same.Distinct.Value, 1e-9)
	require.InDelta(t, 4, varied.PerCent.Value, 1e-9)
	require.InDelta(t, 4.0/6, same.UsePer.Value, 1e-9)
	require.Less(t, same.Distinct.High, varied.Distinct.Low, "the intervals do not overlap")
	require.Less(t, same.Apart.Value, varied.Apart.Value)
}

func TestIdeasThatLieTogetherCountAsOne(t *testing.T) {
	t.Parallel()
	place := func(v ...float32) ablation.Idea {
		return ablation.Idea{Phase: dream.Onset, Kept: true, Place: ablation.Place(v)}
	}
	nights := []ablation.Night{{
		Spent: map[dream.Phase]budget.Micros{dream.Onset: 10},
		Ideas: []ablation.Idea{place(1, 0, 0), place(1, .2, 0), place(1, 0, .2), place(0, 1, 0)},
	}}
	r := measured(nights)
	require.InDelta(t, 2, r.Distinct.Value, 1e-9)
	nights[0].Ideas[0].Kept = false
	r = measured(nights)
	require.InDelta(t, .75, r.Kept.Value, 1e-9)
	require.InDelta(t, 2, r.Useful.Value, 1e-9, "ideas that were not kept do not change the count of kept ones")
	require.True(t, math.IsNaN(r.LogProb.Value), "ideas without scores have no mean")
}

func TestMoneyIsCountedUntilItIsSpentAndANightInPart(t *testing.T) {
	t.Parallel()
	nights := honest(1, 2, 3)
	cut := ablation.Cut(nights, 25_000, dream.Onset, dream.Onset)
	require.Len(t, cut, 3)
	require.Len(t, cut[2].Ideas, 2)
	require.InDelta(t, .5, cut[2].Whole, 1e-9)
	require.Equal(t, budget.Micros(5_000), cut[2].Money)
	require.Len(t, ablation.Cut(nights, 20_000, dream.Onset, dream.Onset), 2, "no night counts without money for it")
	require.Equal(t, budget.Micros(10_007), nights[0].Money(), "all phases")
	require.Empty(t, ablation.Cut(nights, 20_000, dream.REM)[0].Ideas, "the onset's fragments are not scenarios")
	arms := map[string][]ablation.Night{"a": nights, "b": honest(1, 2)}
	require.Equal(t, budget.Micros(20_000), ablation.Least(arms, []string{"a", "b"}, dream.Onset))
	require.Zero(t, ablation.Least(arms, []string{"a", "c"}), "an arm that has not begun")
}

func TestAVectorInBytesKeepsItsDirection(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(5, 5))
	for range 100 {
		a, b := make([]float32, 384), make([]float32, 384)
		for i := range a {
			a[i] = float32(dice.NormFloat64())
			b[i] = a[i] + float32(dice.NormFloat64())
		}
		pair := []ablation.Idea{
			{Phase: dream.Onset, Place: ablation.Place(a)},
			{Phase: dream.Onset, Place: ablation.Place(b)},
		}
		r := measured([]ablation.Night{{Spent: map[dream.Phase]budget.Micros{dream.Onset: 1}, Ideas: pair}})
		require.InDelta(t, hypnagogia.Distance(hypnagogia.Cosine(a, b)), r.Apart.Value, .01)
	}
	require.Equal(t, []byte{0, 0}, ablation.Place([]float32{0, 0}))
	require.Equal(t, []byte{127, 0x81}, ablation.Place([]float32{.5, -.5}))
}

func TestTheArmThatHasSpentLeastDreamsNext(t *testing.T) {
	t.Parallel()
	require.Equal(t, ablation.Arms[0], ablation.Next(nil))
	var nights []ablation.Night
	dreamt := map[string]int{}
	for range 60 {
		arm := ablation.Next(nights)
		n := ablation.Night{Arm: arm.Name, Spent: map[dream.Phase]budget.Micros{}}
		if arm.Onset {
			n.Spent[dream.Onset] = budget.Micros(50 + 50*len(arm.Way)%70)
		}
		if arm.Whole {
			n.Spent[dream.REM] = 80
		}
		nights = append(nights, n)
		dreamt[arm.Name]++
	}
	onset, whole := map[string]budget.Micros{}, map[string]budget.Micros{}
	for _, n := range nights {
		onset[n.Arm] += n.Money(dream.Onset)
		whole[n.Arm] += n.Money()
	}
	for _, arm := range ablation.Arms {
		require.Positive(t, dreamt[arm.Name], arm.Name)
		if arm.Onset {
			require.InDelta(t, float64(onset[ablation.With]), float64(onset[arm.Name]), 150, arm.Name)
		}
	}
	require.InDelta(t, float64(whole[ablation.With]), float64(whole[ablation.Without]), 300)
}

func TestEveryArmsNightIsAllowed(t *testing.T) {
	t.Parallel()
	for _, arm := range ablation.Arms {
		require.NoError(t, ablation.Knobs(arm).Validate(), arm.Name)
	}
}

func TestAModelThatSaysItsInstructionsAgainIsHeard(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 1, ablation.Recited("You care about the boat Patience, the Hallow Light"), 1e-9)
	require.Greater(t,
		ablation.Recited(
			"- [r2] They sang The Low Lamp by the beam that came in at the window every fifteen seconds."), .8)
	require.Zero(t, ablation.Recited("The tide keeps its accounts in rope, and rounds down."))
	require.Zero(t, ablation.Recited("Festina"))
	half := ablation.Recited(
		"Attention turns inward; nothing has to be rowed across the harbour before the milk is sour.")
	require.Greater(t, half, .2)
	require.Less(t, half, .6)
}
