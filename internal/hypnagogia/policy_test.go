package hypnagogia_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// Low surprise keeps the onset shallow; high surprise and a change of regime deepen it.
func TestSurpriseDeepensTheOnset(t *testing.T) {
	t.Parallel()
	const want = `surprise change: depth stage cycles
0.00 0.0: 0.00 shallow 1
0.25 0.0: 0.25 shallow 1
0.29 0.0: 0.33 shallow 1
0.30 0.0: 0.35 transitional 2
0.42 0.0: 0.59 transitional 2
0.46 0.0: 0.67 peak 3
0.50 0.0: 0.75 peak 3
1.00 0.0: 1.00 peak 3
0.00 1.0: 0.25 shallow 1
0.10 1.0: 0.45 transitional 2
0.25 1.0: 0.75 peak 3
0.25 0.5: 0.50 transitional 2
`
	got := strings.Builder{}
	fmt.Fprintln(&got, "surprise change: depth stage cycles")
	for _, c := range []struct{ s, c float64 }{
		{0, 0}, {.25, 0}, {.29, 0}, {.3, 0}, {.42, 0}, {.46, 0}, {.5, 0}, {1, 0}, {0, 1}, {.1, 1}, {.25, 1}, {.25, .5},
	} {
		d := hypnagogia.Prior(3).Aim(hypnagogia.DepthInput{Surprise: c.s, Change: c.c}, 0, "", 3)
		fmt.Fprintf(&got, "%.2f %.1f: %.2f %s %d\n", c.s, c.c, d.Depth, d.Stage, d.Cycles)
	}
	require.Equal(t, want, got.String())
}

// Thriving 3-5 cycles, stable 2-3, conservation 1, declining and terminal none; the knobs limit them all.
func TestBehaviourAndKnobsLimitTheDepth(t *testing.T) {
	t.Parallel()
	calm, lost := hypnagogia.DepthInput{Surprise: .1}, hypnagogia.DepthInput{Surprise: .9}
	for _, c := range []struct {
		sensed    hypnagogia.DepthInput
		behaviour dream.Behaviour
		knob      int
		stage     dream.Stage
		cycles    int
	}{
		{calm, dream.Thriving, 3, dream.Shallow, 3},
		{lost, dream.Thriving, 3, dream.Peak, 3},
		{lost, dream.Thriving, 8, dream.Peak, 5},
		{lost, dream.Thriving, 2, dream.Peak, 2},
		{calm, dream.Stable, 3, dream.Shallow, 2},
		{lost, dream.Stable, 3, dream.Peak, 3},
		{calm, dream.Conservation, 3, dream.Shallow, 1},
		{lost, dream.Conservation, 3, dream.Peak, 1},
		{lost, dream.Declining, 3, dream.Shallow, 0},
		{lost, dream.Terminal, 3, dream.Shallow, 0},
		{lost, "", 0, dream.Transitional, 0},
		{calm, "", 0, dream.Shallow, 0},
		{lost, "", 9, dream.Peak, 9},
	} {
		d := hypnagogia.Prior(c.knob).Aim(c.sensed, 0, c.behaviour, c.knob)
		require.Equal(t, c.stage, d.Stage, "%+v", c)
		require.Equal(t, c.cycles, d.Cycles, "%+v", c)
	}
}

func TestEveryDepthIsAllowed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		knob := rapid.IntRange(0, 20).Draw(r, "cycles")
		behaviour := rapid.SampledFrom(append([]dream.Behaviour{""}, dream.Behaviours...)).Draw(r, "behaviour")
		p := hypnagogia.Policy{
			Intercept: rapid.Float64Range(-.5, .5).Draw(r, "intercept"),
			Surprise:  rapid.Float64Range(.5, 3).Draw(r, "slope"),
			Change:    rapid.Float64Range(0, 1).Draw(r, "change"), Cycles: hypnagogia.Prior(knob).Cycles,
		}
		require.NoError(r, p.Validate())
		s := hypnagogia.DepthInput{
			Surprise: rapid.Float64Range(0, 1).Draw(r, "surprise"),
			Change:   rapid.Float64Range(0, 1).Draw(r, "changed"),
		}
		d := p.Aim(s, rapid.Float64Range(-hypnagogia.DepthNoise, hypnagogia.DepthNoise).Draw(r, "chance"), behaviour,
			knob)
		bound := hypnagogia.Bounds(behaviour)
		require.LessOrEqual(r, d.Cycles, knob)
		require.GreaterOrEqual(r, d.Cycles, 0)
		if bound.CyclesMost > 0 || !bound.Allowed {
			require.LessOrEqual(r, d.Cycles, bound.CyclesMost)
		}
		require.Contains(r, []dream.Stage{dream.Shallow, dream.Transitional, dream.Peak}, d.Stage)
		more := s
		more.Surprise = math.Min(1, s.Surprise+.2)
		require.GreaterOrEqual(r, p.Depth(more, 0), p.Depth(s, 0), "more surprise is never shallower")
	})
}

func TestAPolicyOutsideItsLimitsIsRefused(t *testing.T) {
	t.Parallel()
	require.NoError(t, hypnagogia.Prior(3).Validate())
	p := hypnagogia.Prior(3)
	p.Surprise = .1
	require.ErrorContains(t, p.Validate(), "surprise is 0.1; it must lie between 0.5 and 3")
	p = hypnagogia.Prior(3)
	p.Intercept = math.NaN()
	require.Error(t, p.Validate())
	p = hypnagogia.Prior(3)
	p.Cycles.Shallow = -1
	require.ErrorContains(t, p.Validate(), "none may be negative")
}

// Each stage has its own temperatures; the peak's are those of a fixed depth.
func TestEveryStageHasItsTemperatures(t *testing.T) {
	t.Parallel()
	k := dream.DefaultKnobs()
	const want = `shallow 1: 1.000 0.970 0.887 0.800 | 0.400 | induction 1.000
shallow 2: 0.950 0.923 0.846 0.800 | 0.400 | induction 1.000
transitional 1: 1.200 1.160 1.049 1.000 | 0.400 | induction 1.200
transitional 2: 1.140 1.103 1.001 1.000 | 0.400 | induction 1.200
peak 1: 1.500 1.446 1.293 1.200 | 0.400 | induction 1.200
peak 2: 1.425 1.374 1.232 1.200 | 0.400 | induction 1.200
`
	got := strings.Builder{}
	for _, stage := range []dream.Stage{dream.Shallow, dream.Transitional, dream.Peak} {
		for _, cycle := range []int{1, 2} {
			partial, judge := hypnagogia.TemperaturesAt(stage, cycle, 4, 4, k, false)
			fmt.Fprintf(&got, "%s %d: %.3f %.3f %.3f %.3f | %.3f | induction %.3f\n", stage, cycle, partial[0],
				partial[1], partial[2], partial[3], judge[3], hypnagogia.InductionTemperature(stage, k))
			for _, temperature := range partial {
				require.GreaterOrEqual(t, temperature, hypnagogia.Floor(stage))
				require.LessOrEqual(t, temperature, hypnagogia.Ceiling(stage, k))
			}
		}
	}
	require.Equal(t, want, got.String())
	old, judged := hypnagogia.TemperaturesAt(dream.Peak, 2, 4, 4, k, true)
	now, same := hypnagogia.TemperaturesAt(dream.Peak, 2, 4, 4, k, true)
	require.Equal(t, old, now)
	require.Equal(t, judged, same)
}

func TestAnOnsetGoesNoDeeperThanItsTarget(t *testing.T) {
	t.Parallel()
	require.Equal(t, []dream.Stage{dream.Shallow}, hypnagogia.DescentTo(dream.Shallow))
	require.Equal(t, []dream.Stage{dream.Shallow, dream.Transitional}, hypnagogia.DescentTo(dream.Transitional))
	require.Equal(t, []dream.Stage{dream.Shallow, dream.Transitional, dream.Peak}, hypnagogia.DescentTo(dream.Peak))
	require.Equal(t, []dream.Stage{dream.Shallow, dream.Transitional, dream.Peak}, hypnagogia.DescentTo(dream.TooDeep))
	require.Equal(t, []dream.Stage{dream.Shallow}, hypnagogia.DescentTo(""))
}
