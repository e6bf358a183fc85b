package hypnagogia_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// Novelty^0.5 · relevance^0.3 · coherence^0.2.
func TestTheCompositeWeighsNoveltyMost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ novelty, relevance, coherence, want float64 }{
		{1, 1, 1, 1},
		{.25, 1, 1, .5},
		{1, .25, 1, .659754},
		{1, 1, .25, .757858},
		{.5, .5, .5, .5},
		{.64, .8, .9, .732598},
		{0, 1, 1, 0},
		{2, 3, 4, 1},
		{-1, 1, 1, 0},
		{math.NaN(), 1, 1, 0},
	} {
		require.InDelta(t, c.want, hypnagogia.Composite(c.novelty, c.relevance, c.coherence), 1e-6, "%+v", c)
	}
}

func TestTheCompositeRisesWithEachPart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		share := rapid.Float64Range(0, 1)
		n := share.Draw(r, "n")
		v := share.Draw(r, "r")
		c := share.Draw(r, "c")
		more := share.Draw(r, "more")
		base := hypnagogia.Composite(n, v, c)
		require.GreaterOrEqual(r, base, 0.0)
		require.LessOrEqual(r, base, 1.0)
		require.GreaterOrEqual(r, hypnagogia.Composite(max(n, more), v, c), base)
		require.GreaterOrEqual(r, hypnagogia.Composite(n, max(v, more), c), base)
		require.GreaterOrEqual(r, hypnagogia.Composite(n, v, max(c, more)), base)
	})
}

// Distance = 1 - the highest cosine similarity.
func TestDistanceIsOneLessTheCosine(t *testing.T) {
	t.Parallel()
	for cosine, want := range map[float64]float64{1: 0, .75: .25, 0: 1, -.5: 1, 1.5: 0} {
		require.Equal(t, want, hypnagogia.Distance(cosine))
	}
}

const plain = "The harbour lights go out one by one, the way liquidity leaves a pool before anybody says so."

// The three values are kept apart, an empty playbook gives 1 and is flagged, an echo scores low. The floor is 0.10.
func TestMeasuredVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		text string
		near hypnagogia.Near
		kept bool
	}{
		{"a new thought about known things", plain, hypnagogia.Near{Playbook: .3, Memory: .55, Source: .5}, true},
		{"the same with an empty playbook", plain, hypnagogia.Near{PlaybookEmpty: true, Memory: .55, Source: .5}, true},
		{"an echo of a source", plain, hypnagogia.Near{PlaybookEmpty: true, Memory: .95, Source: .95}, false},
		{"an echo of the playbook", plain, hypnagogia.Near{Playbook: .93, Memory: .4, Source: .4}, false},
		{"unrelated to everything", plain, hypnagogia.Near{PlaybookEmpty: true}, false},
		{
			"related to the theme alone", plain,
			hypnagogia.Near{PlaybookEmpty: true, Memory: .1, Source: .1, Theme: .4},
			true,
		},
		{
			"a loop about known things", "the pool the pool the pool the pool the pool",
			hypnagogia.Near{Playbook: .3, Memory: .5, Source: .5},
			false,
		},
		{"nothing", " ", hypnagogia.Near{Playbook: .3, Memory: .5, Source: .5}, false},
	} {
		v := hypnagogia.Judge(c.text, c.near)
		require.Equal(t, c.kept, hypnagogia.Keep(v.Composite, .10), "%s: %+v", c.name, v)
		require.Equal(t, hypnagogia.Measured, v.Judge)
		require.Equal(t, c.near.PlaybookEmpty, v.PlaybookEmpty)
		require.Equal(t, hypnagogia.Distance(c.near.Memory), v.DistanceMemory)
		if v.PlaybookEmpty {
			require.Equal(t, 1.0, v.DistancePlaybook)
		}
		require.Equal(t, hypnagogia.Composite(v.Novelty, v.Relevance, v.Coherence), v.Composite)
	}
}

// Kept when the composite exceeds the floor; a kept fragment starts between 0.10 and 0.20.
func TestAFragmentIsKeptOnlyAboveTheFloorAndStartsLow(t *testing.T) {
	t.Parallel()
	require.False(t, hypnagogia.Keep(.10, .10))
	require.True(t, hypnagogia.Keep(.1001, .10))
	require.False(t, hypnagogia.Keep(math.NaN(), 0))
	for start, want := range map[float64]float64{0: .10, .05: .10, .15: .15, .2: .20, .9: .20} {
		require.Equal(t, want, hypnagogia.FragmentConfidence(start))
	}
	require.Equal(t, .10, hypnagogia.FragmentConfidence(math.NaN()))
}
