package hypnagogia_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// block is 50 outcomes: a number of right ones with one composite, the others with another; promoted is how many
// right ones were promoted.
func block(right, promoted int, high, low float64) []hypnagogia.JudgedFragment {
	var all []hypnagogia.JudgedFragment
	for i := range hypnagogia.BiasEvery {
		w := hypnagogia.JudgedFragment{Whole: low}
		if i < right {
			w = hypnagogia.JudgedFragment{Whole: high, Right: true, Promoted: i < promoted}
		}
		all = append(all, w)
	}
	return all
}

func TestTheBiasFollowsOutcomesWithinItsLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                     string
		outcomes                 []hypnagogia.JudgedFragment
		blocks                   int
		factor, requested, drift float64
		ordered                  float64
		alarms                   []string
	}{
		{"no outcomes", nil, 0, 1, 1, 0, .5, nil},
		{"49 are not 50", block(10, 5, .6, .2)[:49], 0, 1, 1, 0, .5, nil},
		{"those that came true scored as all did", block(10, 5, .3, .3), 1, 1, 1, 0, .5, nil},
		{"a little higher", block(10, 5, .33, .3), 1, 1.052288, 1.052288, .052288, 1, nil},
		{"far higher", block(10, 5, .6, .2), 1, 1.25, 1.761905, .761905, 1, []string{hypnagogia.AlarmDrift}},
		{"lower", block(10, 5, .2, .3), 1, .809524, .809524, .190476, 0, nil},
		{"far lower", block(20, 5, .1, .5), 1, .8, .435294, .564706, 0, []string{hypnagogia.AlarmDrift}},
		{"nothing came true", block(0, 0, 0, .3), 1, 1, 1, 0, .5, []string{hypnagogia.AlarmFewPromoted}},
		{"every promoted one came true", block(20, 16, .3, .3), 1, 1, 1, 0, .5, []string{hypnagogia.AlarmManyPromoted}},
		{"at the limits there is no alarm", block(15, 15, .3, .3), 1, 1, 1, 0, .5, nil},
		{"one in fifty is enough", block(1, 1, .3, .3), 1, 1, 1, 0, .5, nil},
		{"all scores are 0", block(10, 5, 0, 0), 1, 1, 1, 0, .5, nil},
		{"the newest block decides", append(block(10, 5, .6, .2), block(10, 5, .3, .3)...), 2, 1, 1, .25, .5, nil},
		{
			"drift counts from the current factor", append(block(20, 5, .1, .5), block(10, 5, .6, .2)...), 2, 1.25, 1.761905,
			.961905, 1,
			[]string{hypnagogia.AlarmDrift},
		},
	} {
		got := hypnagogia.BiasOf(c.outcomes)
		require.Equal(t, c.blocks, got.Blocks, c.name)
		require.Equal(t, len(c.outcomes), got.Outcomes, c.name)
		require.InDelta(t, c.factor, got.Factor, 1e-6, c.name)
		require.InDelta(t, c.requested, got.Requested, 1e-6, c.name)
		require.InDelta(t, c.drift, got.Drift, 1e-6, c.name)
		require.InDelta(t, c.ordered, got.Ordered, 1e-6, c.name)
		require.Equal(t, c.alarms, got.Alarms, c.name)
	}
}

// Fragments are judged together or singly, by cost.
func TestFragmentsAreJudgedTogetherIfThatSavesATenth(t *testing.T) {
	t.Parallel()
	usual := hypnagogia.Judging{
		Fragments: 4,
		Base:      700,
		Each:      260,
		Answer:    60,
		Window:    128_000,
	}
	with := func(change func(*hypnagogia.Judging)) hypnagogia.Judging {
		j := usual
		change(&j)
		return j
	}
	price := func(in, out budget.Micros) budget.Price { return budget.Price{In: in, CachedIn: in / 10, Out: out} }
	small, dear := price(150_000, 600_000), price(3*budget.Dollar, 15*budget.Dollar)
	for _, c := range []struct {
		name             string
		judging          hypnagogia.Judging
		price            budget.Price
		single, together budget.Micros
		way              string
	}{
		{"a small model", usual, small, 720, 405, dream.ByTogether},
		{"an expensive model", usual, dear, 15_120, 8_820, dream.ByTogether},
		{"a free model", usual, budget.Price{}, 0, 0, dream.BySingle},
		{"a single fragment", with(func(j *hypnagogia.Judging) { j.Fragments = 1 }), dear, 3_780, 3_780, dream.BySingle},
		{"no fragment", with(func(j *hypnagogia.Judging) { j.Fragments = 0 }), dear, 0, 2_100, dream.BySingle},
		{
			"a window too small", with(func(j *hypnagogia.Judging) { j.Window = 1_900 }), dear, 15_120, 8_820,
			dream.BySingle,
		},
		{
			"an unknown window", with(func(j *hypnagogia.Judging) { j.Window = 0 }), dear, 15_120, 8_820,
			dream.ByTogether,
		},
		{
			"answers longer than the prompt", with(func(j *hypnagogia.Judging) { j.Base, j.Answer = 20, 900 }), dear,
			57_360, 57_180, dream.BySingle,
		},
		{
			"a reasoning model",
			with(func(j *hypnagogia.Judging) { j.Base, j.Answer, j.Thinking = 20, 900, 2_000 }), dear, 177_360,
			87_180, dream.ByTogether,
		},
	} {
		choice := hypnagogia.ChooseJudging(c.judging, c.price)
		require.Equal(t, c.way, choice.Way, "%s: %+v", c.name, choice)
		require.NotEmpty(t, choice.Why, c.name)
		require.Equal(t, c.single, choice.Single, c.name)
		require.Equal(t, c.together, choice.Together, c.name)
	}
}
