package hypnagogia_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// Shallow 0.8 to 1.0, transitional 1.0 to 1.2, peak 1.2 to 1.5.
func TestATemperatureHasItsStage(t *testing.T) {
	t.Parallel()
	for temperature, want := range map[float64]dream.Stage{
		0: dream.Shallow, .8: dream.Shallow, .999: dream.Shallow, 1.0: dream.Transitional, 1.199: dream.Transitional,
		1.2: dream.Peak, 1.31: dream.Peak, 1.5: dream.Peak, 1.501: dream.TooDeep, 2: dream.TooDeep,
	} {
		require.Equal(t, want, hypnagogia.StageAt(temperature), "%v", temperature)
	}
}

// Every generating call is at least as hot as its stage's lower limit.
func TestAStageHasItsFloor(t *testing.T) {
	t.Parallel()
	for stage, want := range map[dream.Stage]float64{
		dream.Shallow: .8, dream.Transitional: 1.0, dream.Peak: 1.2,
		dream.TooDeep: 1.2,
	} {
		require.Equal(t, want, hypnagogia.Floor(stage), stage)
		if stage != dream.TooDeep {
			require.Equal(t, stage, hypnagogia.StageAt(hypnagogia.Floor(stage)))
		}
	}
}

// The core tier is one induction; cycles run at the peak.
func TestTheDescentPassesEveryStage(t *testing.T) {
	t.Parallel()
	require.Equal(t, []dream.Stage{dream.Shallow, dream.Transitional, dream.Peak},
		hypnagogia.Descent(3, dream.Hardened))
	require.Equal(t, []dream.Stage{dream.Shallow, dream.Transitional}, hypnagogia.Descent(0, dream.Hardened))
	require.Equal(t, []dream.Stage{dream.Shallow, dream.Transitional}, hypnagogia.Descent(3, dream.Core))
}

// More than total × budget_fraction must remain.
func TestWhyAnOnsetIsSkipped(t *testing.T) {
	t.Parallel()
	const half = budget.Dollar / 2
	for _, c := range []struct {
		name             string
		enabled, phase   bool
		remaining, total budget.Micros
		fraction         float64
		free             bool
		want             string
	}{
		{"all is left", true, true, half, half, .15, false, ""},
		{"disabled comes first", false, false, 0, half, .15, false, "disabled"},
		{"the phase forbids it", true, false, half, half, .15, false, "phase"},
		{"exactly the fraction is not more", true, true, 75_000, half, .15, false, "budget"},
		{"one micro-dollar more is", true, true, 75_001, half, .15, false, ""},
		{"nothing left", true, true, 0, half, .15, false, "budget"},
		{"overdrawn", true, true, -1, half, 0, false, "budget"},
		{"no budget at all", true, true, 0, 0, .15, false, "budget"},
		{"free models need none", true, true, 0, 0, .15, true, ""},
		{"the whole is never left over", true, true, half, half, 1, false, "budget"},
		{"no rounding at unlimited", true, true, budget.Unlimited, budget.Unlimited, .999999, false, ""},
	} {
		require.Equal(t, c.want, hypnagogia.Enter(c.enabled, c.phase, c.remaining, c.total, c.fraction, c.free), c.name)
	}
}
