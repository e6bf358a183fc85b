package mood_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

func anyMood(r *rapid.T, name string) mood.PAD {
	axis := rapid.Float64Range(-1, 1)
	return mood.PAD{
		Pleasure: axis.Draw(r, name+" p"), Arousal: axis.Draw(r, name+" a"),
		Dominance: axis.Draw(r, name+" d"),
	}
}

// Arousal above 0.3 and pleasure below -0.2 or above 0.2.
func TestTheBiasOfAMood(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pleasure, arousal float64
		want              mood.Bias
	}{
		{-.21, .31, mood.Threat},
		{-.2, .31, mood.Broad},
		{-.21, .3, mood.Broad},
		{-1, 1, mood.Threat},
		{.21, .31, mood.Opportunity},
		{.2, .31, mood.Broad},
		{.21, .3, mood.Broad},
		{1, 1, mood.Opportunity},
		{0, 1, mood.Broad},
		{0, 0, mood.Broad},
		{-1, -1, mood.Broad},
		{1, -1, mood.Broad},
	} {
		require.Equal(t, c.want, mood.PAD{Pleasure: c.pleasure, Arousal: c.arousal}.Bias(), "%+v", c)
	}
	require.Equal(t, .15, mood.RebiasAfterShift)
}

func TestCongruenceIsTheCosineOfTwoMoods(t *testing.T) {
	t.Parallel()
	joy := mood.PAD{Pleasure: .5, Arousal: .5}
	require.InDelta(t, 1, joy.Cosine(mood.PAD{Pleasure: 1, Arousal: 1}), 1e-12)
	require.InDelta(t, -1, joy.Cosine(mood.PAD{Pleasure: -.1, Arousal: -.1}), 1e-12)
	require.InDelta(t, 0, joy.Cosine(mood.PAD{Dominance: 1}), 1e-12)
	require.Zero(t, joy.Cosine(mood.PAD{}), "a neutral mood is congruent with nothing")
}

func TestMoodsHaveADistance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		a, b := anyMood(r, "a"), anyMood(r, "b")
		require.Equal(r, a.Distance(b), b.Distance(a))
		require.LessOrEqual(r, a.Distance(b), 2*math.Sqrt(3))
		require.Zero(r, a.Distance(a))
		require.InDelta(r, a.Cosine(b), b.Cosine(a), 1e-12)
		require.LessOrEqual(r, math.Abs(a.Cosine(b)), 1.0)
	})
}

// A mood moves gradually from dream to waking.
func TestTowardMovesAShareOfTheWay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		a, b := anyMood(r, "a"), anyMood(r, "b")
		share := rapid.Float64Range(0, 1).Draw(r, "share")
		require.Equal(r, a, a.Toward(b, 0))
		require.InDelta(r, 0, a.Toward(b, 1).Distance(b), 1e-12)
		require.InDelta(r, share*a.Distance(b), a.Distance(a.Toward(b, share)), 1e-9)
		require.NoError(r, a.Toward(b, 3).Validate(), "no step leaves the range")
	})
}

func TestAnAxisOutsideItsRangeIsNamed(t *testing.T) {
	t.Parallel()
	require.NoError(t, mood.PAD{Pleasure: 1, Arousal: -1}.Validate())
	require.EqualError(t, mood.PAD{Arousal: 1.5}.Validate(), "affect arousal is 1.5; it must lie between -1 and 1")
	require.ErrorContains(t, mood.PAD{Dominance: math.NaN()}.Validate(), "dominance")
	require.ErrorContains(t, mood.PAD{Pleasure: math.Inf(-1)}.Validate(), "pleasure")
}
