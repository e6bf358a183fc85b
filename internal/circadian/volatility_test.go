package circadian_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// about are vectors of episodes around a subject, in a space whose texts have something in common.
func about(dice *rand.Rand, subject, n int, common, scatter float64) [][]float32 {
	var all [][]float32
	for range n {
		v := make([]float32, 32)
		for i := range v {
			v[i] = float32(scatter * dice.NormFloat64())
		}
		v[subject] += 2
		v[31] += float32(common)
		all = append(all, v)
	}
	return all
}

func TestTheSubjectChangesWhenLaterEpisodesAreUnlikeEarlierOnes(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	for _, common := range []float64{0, 2, 6} { // spaces in which unrelated texts lie far apart and close together
		same := about(dice, 1, 60, common, .4)
		moved := append(about(dice, 1, 30, common, .4), about(dice, 2, 30, common, .4)...)
		var mixed [][]float32
		for range 30 {
			mixed = append(mixed, append(about(dice, 1, 1, common, .4), about(dice, 2, 1, common, .4)...)...)
		}
		require.Less(t, circadian.SubjectChange(same, hypnagogia.Cosine), .15, "common %v", common)
		require.Less(t, circadian.SubjectChange(mixed, hypnagogia.Cosine), .15, "two subjects all the time are no change")
		require.Greater(t, circadian.SubjectChange(moved, hypnagogia.Cosine), .5, "common %v", common)
		require.Zero(t, circadian.SubjectChange(moved[23:38], hypnagogia.Cosine), "too few to say")
	}
	alike := about(dice, 1, 60, 2, 0)
	require.Zero(t, circadian.SubjectChange(alike, hypnagogia.Cosine), "episodes that are all alike")
	require.Zero(t, circadian.SubjectChange(nil, hypnagogia.Cosine))
}

func TestAffectChangesByItsLevel(t *testing.T) {
	t.Parallel()
	var calm, torn, fallen []mood.PAD
	for i := range 20 {
		calm = append(calm, mood.PAD{Pleasure: .5})
		torn = append(torn, mood.PAD{Pleasure: .5 - float64(i%2)})
		fallen = append(fallen, mood.PAD{Pleasure: .5 - float64(i/10)})
	}
	require.InDelta(t, 0, circadian.AffectChange(calm), 1e-9)
	require.InDelta(t, 0, circadian.AffectChange(torn), 1e-9, "ups and downs all the time")
	require.Equal(t, 1.0, circadian.AffectChange(fallen))
	require.Zero(t, circadian.AffectChange(fallen[3:18]), "too few to say")
	for _, c := range []struct {
		changes circadian.Changes
		want    float64
	}{
		{circadian.Changes{}, 0},
		{circadian.Changes{Subject: .4, Affect: .2, Regime: .3}, .4},
		{circadian.Changes{Affect: .7}, .7},
		{circadian.Changes{Regime: 3}, 1},
	} {
		require.Equal(t, c.want, c.changes.Volatility())
	}
}
