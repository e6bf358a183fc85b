package circadian_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/circadian"
)

func TestVitalityIsTheSmallestShareLeft(t *testing.T) {
	t.Parallel()
	const dollar = budget.Dollar
	set := func(v float64) *float64 { return &v }
	for name, c := range map[string]struct {
		set  *float64
		caps []circadian.Cap
		want float64
	}{
		"no cap":    {nil, nil, 1},
		"unlimited": {nil, []circadian.Cap{{Left: 5, Limit: budget.Unlimited}}, 1},
		"the day's cap": {
			nil,
			[]circadian.Cap{{Left: dollar / 2, Limit: 2 * dollar}, {Left: 15 * dollar, Limit: 15 * dollar}},
			.25,
		},
		"the month's cap": {
			nil,
			[]circadian.Cap{{Left: 2 * dollar, Limit: 2 * dollar}, {Left: 3 * dollar, Limit: 15 * dollar}},
			.2,
		},
		"nothing may be spent":    {nil, []circadian.Cap{{Left: 0, Limit: 0}}, 0},
		"overdrawn":               {nil, []circadian.Cap{{Left: -dollar, Limit: dollar}}, 0},
		"more left than there is": {nil, []circadian.Cap{{Left: 3 * dollar, Limit: dollar}}, 1},
		"set from outside":        {set(.3), []circadian.Cap{{Left: 0, Limit: dollar}}, .3},
		"set too high":            {set(7), nil, 1},
		"set too low":             {set(-7), nil, 0},
	} {
		require.InDelta(t, c.want, circadian.Vitality(c.set, c.caps...), 1e-12, name)
	}
}

func TestTheBehaviourOfAVitality(t *testing.T) {
	t.Parallel()
	for vitality, want := range map[float64]dream.Behaviour{
		1: dream.Thriving, .5: dream.Thriving, .499: dream.Stable, .25: dream.Stable, .249: dream.Conservation,
		.125: dream.Conservation, .124: dream.Declining, .025: dream.Declining, .0249: dream.Terminal,
		0: dream.Terminal,
	} {
		require.Equal(t, want, circadian.BehaviourOf(vitality, circadian.DefaultThresholds), "%v", vitality)
	}
	require.Equal(t, dream.Terminal, circadian.BehaviourOf(math.NaN(), circadian.DefaultThresholds))
}

// The reasons of the defaults as sums: how many default dreams are left of the default day.
func TestDefaultThresholdsInDreams(t *testing.T) {
	t.Parallel()
	caps := dream.DefaultCaps
	share := func(left budget.Micros) float64 { return float64(left) / float64(caps.Day) }
	require.InDelta(t, share(2*caps.Dream), circadian.DefaultThresholds.Thriving, 1e-12)
	require.InDelta(t, share(caps.Dream), circadian.DefaultThresholds.Stable, 1e-12)
	require.InDelta(t, share(caps.Dream/2), circadian.DefaultThresholds.Conservation, 1e-12)
	onset := budget.Split(caps.Dream, budget.DefaultShares).Onset
	require.InDelta(t, share(onset), circadian.DefaultThresholds.Declining, 1e-12)
}

func TestThresholdsMustDecrease(t *testing.T) {
	t.Parallel()
	require.NoError(t, circadian.DefaultThresholds.Validate())
	require.NoError(t, circadian.Thresholds{}.Validate(), "all zero: always thriving")
	wrong := circadian.Thresholds{Thriving: .2, Stable: .3, Conservation: math.NaN(), Declining: -1}
	err := wrong.Validate()
	require.ErrorContains(t, err, "stable is 0.3 and thriving is 0.2; a worse phase must not begin above a better one")
	require.ErrorContains(t, err, "conservation is NaN; it must lie between 0 and 1")
	require.ErrorContains(t, err, "declining is -1; it must lie between 0 and 1")
}
