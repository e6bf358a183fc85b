package hypnagogia_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// nights runs n dreams under a policy, with its chance, in a world where worth is the value of a depth.
func nights(dice *rand.Rand, n int, p hypnagogia.Policy, worth func(s, c, d float64) float64,
	noise float64,
) []hypnagogia.DepthOutcome {
	out := make([]hypnagogia.DepthOutcome, n)
	for i := range out {
		s := hypnagogia.DepthInput{Surprise: .1 + .6*dice.Float64()}
		if dice.Float64() < .15 {
			s.Change = dice.Float64()
		}
		d := p.Aim(s, hypnagogia.DepthNoise*(2*dice.Float64()-1), "", 3)
		out[i] = hypnagogia.DepthOutcome{
			Depth: d, Ran: d.Cycles,
			Shrunk: worth(s.Surprise, s.Change, d.Depth) + noise*dice.NormFloat64(),
		}
	}
	return out
}

// regret is the mean distance of a policy's depths from the best, over surprise.
func regret(p hypnagogia.Policy, best func(s float64) float64) float64 {
	sum := 0.0
	for i := range 61 {
		s := .1 + .01*float64(i)
		sum += math.Abs(p.Depth(hypnagogia.DepthInput{Surprise: s}, 0) - best(s))
	}
	return sum / 61
}

func TestThePriorIsUsedUntilFiftyOutcomes(t *testing.T) {
	t.Parallel()
	prior := hypnagogia.Prior(3)
	planted := func(_, _, d float64) float64 { return .5 * (1 - d) }
	for _, n := range []int{0, 1, 49} {
		l := hypnagogia.Learn(prior, nights(hypnagogia.Dice(3, "", 0, 0, "few"), n, prior, planted, .01))
		require.Equal(t, prior, l.Policy)
		require.False(t, l.Learned)
		require.Equal(t, n, l.Outcomes)
		require.Contains(t, l.Why, "of 50 dreams can be scored: the prior is used")
	}
	require.True(t,
		hypnagogia.Learn(prior, nights(hypnagogia.Dice(3, "", 0, 0, "few"), 50, prior, planted, .01)).Learned)
}

// A planted relation: the best depth is half of the prior's, and the cost of missing it is quadratic.
func TestAPlantedRelationIsLearned(t *testing.T) {
	t.Parallel()
	best := func(s float64) float64 { return s }
	worth := func(s, _, d float64) float64 { return .2 - 1.5*(d-best(s))*(d-best(s)) }
	prior := hypnagogia.Prior(3)
	const worlds = 20
	before, after := regret(prior, best), 0.0
	for seed := range uint64(worlds) {
		dice := hypnagogia.Dice(seed, dream.Onset, 0, 0, "planted")
		l := hypnagogia.Learn(prior, nights(dice, 300, prior, worth, .1))
		require.True(t, l.Learned, "seed %d: %s", seed, l.Why)
		require.NoError(t, l.Policy.Validate())
		off := regret(l.Policy, best)
		require.Less(t, off, before, "seed %d", seed)
		after += off / worlds
	}
	t.Logf("the depth is off by %.3f under the prior and by %.3f on average under the policy learned from 300 dreams",
		before, after)
	require.Less(t, after, before/2)
}

// Negative control: where depth makes no difference, nothing is learned.
func TestARandomRelationIsNotLearned(t *testing.T) {
	t.Parallel()
	prior := hypnagogia.Prior(3)
	const worlds = 400
	wrong := 0
	for seed := range uint64(worlds) {
		dice := hypnagogia.Dice(seed, dream.Onset, 0, 0, "random")
		world := nights(dice, 200, prior, func(s, _, _ float64) float64 { return .3 * s }, .15)
		if l := hypnagogia.Learn(prior, world); l.Learned {
			wrong++
		}
	}
	t.Logf("%d of %d worlds without a relation led to a learned policy", wrong, worlds)
	require.LessOrEqual(t, wrong, worlds/100)
}

func TestCyclesChangeByOneAtMost(t *testing.T) {
	t.Parallel()
	prior := hypnagogia.Prior(3)
	world := func(worth float64) []hypnagogia.DepthOutcome {
		dice := hypnagogia.Dice(5, dream.Onset, 0, 0, "cycles")
		var out []hypnagogia.DepthOutcome
		for range 120 {
			d := prior.Aim(hypnagogia.DepthInput{Surprise: .4}, 0, "", 3)
			ran := 1 + dice.IntN(2)
			out = append(out,
				hypnagogia.DepthOutcome{Depth: d, Ran: ran, Shrunk: worth*float64(ran) + .05*dice.NormFloat64()})
		}
		return out
	}
	require.Equal(t, 3, hypnagogia.Learn(prior, world(.1)).Policy.Cycles.Transitional)
	require.Equal(t, 1, hypnagogia.Learn(prior, world(-.1)).Policy.Cycles.Transitional)
	l := hypnagogia.Learn(prior, world(0))
	require.Equal(t, prior.Cycles, l.Policy.Cycles)
	require.False(t, l.Learned)
	require.Contains(t, l.Why, "120 dreams give no evidence against the prior")
}

var day = time.Date(2026, 11, 1, 22, 0, 0, 0, time.UTC)

// A depth is scored by how much later residuals shrink.
func TestADreamIsScoredByHowMuchLaterResidualsShrink(t *testing.T) {
	t.Parallel()
	night := hypnagogia.ScoredDream{ID: "n", At: day, Ran: 2}
	result := func(sort, by string, made, at time.Duration, residual float64) hypnagogia.ResolvedPrediction {
		return hypnagogia.ResolvedPrediction{
			Dream:    by,
			Sort:     sort,
			Made:     day.Add(made),
			At:       day.Add(at),
			Surprise: residual,
		}
	}
	h := time.Hour
	var judged []hypnagogia.ResolvedPrediction
	for i := range 4 {
		away := time.Duration(i) * time.Minute
		judged = append(judged,
			result("analytical", "", -9*h+away, -h, .6), result("analytical", "", h+away, 9*h, -.2),
			result("analytical", "n", h+away, 9*h, .9),      // its own
			result("analytical", "", -9*h+away, 2*h, 1),     // made before, and resolved only after
			result("creative/rem", "", -5*h+away, -h, -.15), // no other of its sort after it
		)
	}
	got := hypnagogia.Scored([]hypnagogia.ScoredDream{night}, judged)
	require.Len(t, got, 1)
	require.InDelta(t, .4, got[0].Shrunk, 1e-9)
	require.Equal(t, 2, got[0].Ran)

	judged = append(judged, result("creative/rem", "", h, 3*h, .85), result("creative/rem", "", h, 3*h, .85),
		result("creative/rem", "", h, 3*h, .85))
	got = hypnagogia.Scored([]hypnagogia.ScoredDream{night}, judged)
	require.InDelta(t, (4*.4+3*(.15-.85))/7, got[0].Shrunk, 1e-9, "each sort is compared with itself, weighted by its number")

	night.Ran = 0
	require.Empty(t, hypnagogia.Scored([]hypnagogia.ScoredDream{night}, judged),
		"an onset without a cycle has no depth")
	require.Empty(t, hypnagogia.Scored([]hypnagogia.ScoredDream{{ID: "n", At: day, Ran: 1}}, judged[:8]),
		"two on a side are too few")
}
