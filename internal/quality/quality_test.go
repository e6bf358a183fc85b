package quality_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/quality"
)

// The healthy ranges and alarms of the dream engine's design.
func TestTheRangesAreThoseOfTheDesign(t *testing.T) {
	t.Parallel()
	const none = -1
	for _, c := range []struct {
		name                 quality.Name
		low, high            float64
		alarmBelow, alarmTop float64
	}{
		{"fragment_yield", .15, .40, .05, .60},
		{"novelty", .3, .7, .2, none},
		{"playbook_distance", .4, .8, .3, none},
		{"seed_use", .20, .50, .10, .70},
		{"staging_rate", .05, .15, .02, .30},
		{"validation", .03, .10, .01, none},
		{"cost_per_fragment", .002, .01, none, .02},
		{"alarm_aborts", 0, .05, none, .15},
	} {
		var found bool
		for _, r := range quality.Ranges {
			if r.Name != c.name {
				continue
			}
			found = true
			require.Equal(t, []float64{c.low, c.high}, []float64{r.Low, r.High}, c.name)
			require.Equal(t, []float64{c.alarmBelow, c.alarmTop}, []float64{or(r.AlarmLow, none), or(r.AlarmHigh, none)}, c.name)
		}
		require.True(t, found, c.name)
	}
	require.Len(t, quality.Ranges, 8)
}

func or(x *float64, other float64) float64 {
	if x == nil {
		return other
	}
	return *x
}

// window are five dreams with forty fragments each fourth of which was kept.
func window() quality.Window {
	var w quality.Window
	for i := range 5 {
		state := "ran"
		if i == 0 {
			state = "stopped"
		}
		w.Records = append(w.Records, &dream.Record{Paid: true, Phases: []dream.Tally{
			{
				Phase: dream.Onset,
				State: state,
				Calls: 3,
				Kept:  2,
				Spent: 10_000,
			},
		}})
	}
	for i := range 40 {
		f := &dream.Fragment{Status: dream.FragmentDiscarded}
		if i%4 == 0 {
			f.Status, f.Verdict = dream.FragmentRaw, dream.Verdict{Novelty: .5, DistancePlaybook: .6}
		}
		w.Fragments = append(w.Fragments, f)
	}
	for i, f := range []int{0, 4, 8} {
		w.Fragments[f].Status, w.Fragments[f].Scenario = dream.FragmentDeveloped, "s"
		if i == 0 {
			w.Fragments[f].Status, w.Fragments[f].Hypothesis = dream.FragmentPromoted, "h1"
		}
	}
	w.Hypotheses = []*dream.Hypothesis{
		{Head: dream.Head{ID: "h1"}, Confirmed: []string{"p"}}, {Head: dream.Head{ID: "h2"}},
	}
	return w
}

func TestEachMetricIsReadAgainstItsRange(t *testing.T) {
	t.Parallel()
	got := map[quality.Name]quality.Metric{}
	for _, m := range quality.Measure(window()) {
		got[m.Name] = m
	}
	for name, want := range map[quality.Name]quality.Metric{
		quality.FragmentYield:    {Value: .25, Of: 40, State: quality.Healthy},
		quality.Novelty:          {Value: .5, Of: 10, State: quality.Healthy},
		quality.PlaybookDistance: {Value: .6, Of: 10, State: quality.Healthy},
		quality.SeedUse:          {Value: .3, Of: 10, State: quality.Healthy},
		quality.StagingRate:      {Value: 1. / 3, Of: 3, State: quality.TooFew},
		quality.Validation:       {Value: 1, Of: 1, State: quality.TooFew},
		quality.CostPerFragment:  {Value: .005, Of: 10, State: quality.Healthy},
		quality.AlarmAborts:      {Value: .2, Of: 5, State: quality.Alarm},
	} {
		want.Name = name
		require.InDelta(t, want.Value, got[name].Value, 1e-9, name)
		want.Value = got[name].Value
		require.Equal(t, want, got[name])
	}
}

func TestFewDreamsAreNotRead(t *testing.T) {
	t.Parallel()
	w := window()
	w.Records = w.Records[:4]
	for _, m := range quality.Measure(w) {
		require.Equal(t, quality.TooFew, m.State, m.Name)
	}
	for _, m := range quality.Measure(quality.Window{}) {
		require.Equal(t, quality.Metric{Name: m.Name, State: quality.TooFew}, m)
	}
}

func TestTheYieldFallsAndRises(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var outcomes []quality.Outcome
	add := func(n int, right func(i int) bool) {
		for i := range n {
			at := start.Add(time.Duration(len(outcomes)) * time.Hour)
			outcomes = append(outcomes, quality.Outcome{At: at, Right: right(i)})
		}
	}
	add(19, func(int) bool { return false })
	require.Zero(t, quality.YieldOf(outcomes, nil).Low, "nineteen outcomes are too few")
	add(1, func(int) bool { return false })
	y := quality.YieldOf(outcomes, nil)
	require.Equal(t, outcomes[19].At, y.Low)
	require.False(t, y.Flagged(y.Low.Add(quality.LowFor-time.Hour)))
	require.True(t, y.Flagged(y.Low.Add(quality.LowFor)))
	add(100, func(i int) bool { return i%2 == 0 })
	y = quality.YieldOf(outcomes, []*dream.Claim{{Passed: start}, {}})
	require.Equal(t, 120, y.Resolved)
	require.Equal(t, 50, y.Correct)
	require.InDelta(t, .5, y.Rolling, 1e-9, "of the newest hundred")
	require.InDelta(t, .5, y.Peak, 1e-9)
	require.InDelta(t, 50./120, y.Accuracy(), 1e-9)
	require.Zero(t, y.Low)
	require.NotZero(t, y.High)
	require.Equal(t, 1, y.Passed)
}

func TestOnlyAHighYieldHasConsequences(t *testing.T) {
	t.Parallel()
	outcomes := func(n, right int) []quality.Outcome {
		var all []quality.Outcome
		for i := range n {
			at := time.Date(2026, 3, 1, i, 0, 0, 0, time.UTC)
			all = append(all, quality.Outcome{At: at, Right: i*right/n != (i+1)*right/n})
		}
		return all
	}
	for _, c := range []struct {
		n, right int
		want     quality.Consequence
	}{
		{0, 0, quality.Consequence{}},
		{19, 19, quality.Consequence{}},
		{100, 10, quality.Consequence{}},
		{100, 30, quality.Consequence{}},
		{100, 40, quality.Consequence{}},
		{100, 60, quality.Consequence{Earlier: .1, Scenarios: 1}},
		{100, 100, quality.Consequence{Earlier: .1, Scenarios: 1}},
	} {
		require.Equal(t, c.want, quality.YieldOf(outcomes(c.n, c.right), nil).Consequence(), "%d of %d", c.right, c.n)
	}
}
