package alarm

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

var (
	highLevel = dream.Rule{Name: "high", Metric: "level", Kind: dream.Above, Number: 4}
	shutGate  = dream.Rule{Name: "shut", Metric: "gate", Kind: dream.StateIs, State: "shut"}
	anySilent = dream.Rule{Name: "quiet", Kind: dream.Stale, Window: time.Hour}
	anyHigh   = dream.Rule{Name: "any", Kind: dream.Above, Number: 4}
)

func term(metric, state string) dream.Reading { return dream.Reading{Metric: metric, State: state} }

func TestUnusedReadingsAreReportedWithWhatRulesUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		rules   []dream.Rule
		reading dream.Reading
		want    string
	}{
		{"its metric", []dream.Rule{highLevel}, of("level", 0, 9), ""},
		{"a typo", []dream.Rule{highLevel}, of("lvel", 0, 9), "no rule takes lvel; the rules take numbers of level"},
		{"a value without a metric, of the only one", []dream.Rule{highLevel, anySilent}, at(0, 9), ""},
		{
			"a value without a metric, with two metrics",
			[]dream.Rule{highLevel, shutGate},
			at(0, 9),
			"no rule takes a value without a name; the rules take numbers of level, words of gate",
		},
		{
			"a state for a number",
			[]dream.Rule{highLevel},
			term("level", "high"),
			"no rule takes words of level; the rules take numbers of level",
		},
		{"any metric", []dream.Rule{anyHigh}, of("lvel", 0, 9), ""},
		{
			"a rule about silence hides no typo",
			[]dream.Rule{highLevel, anySilent},
			of("lvel", 0, 9),
			"no rule takes lvel; the rules take numbers of level, anything",
		},
		{
			"nor a state for a number",
			[]dream.Rule{highLevel, {Name: "q", Metric: "level", Kind: dream.Stale, Window: time.Hour}},
			term("level", "high"), "no rule takes words of level; the rules take numbers of level, anything of level",
		},
		{"silence alone", []dream.Rule{anySilent}, of("lvel", 0, 9), ""},
		{
			"silence of another metric",
			[]dream.Rule{highLevel, {Name: "q", Metric: "pulse", Kind: dream.Stale, Window: time.Hour}},
			term("pulse", "on"), "",
		},
		{"no rules", nil, at(0, 9), "no rule takes a value without a name: the feed has no rules"},
	} {
		require.Equal(t, c.want, DescribeUnused(c.rules, Unused(c.rules, []dream.Reading{c.reading})), c.name)
	}
}

func TestUnusedReadingsAreCountedAndTheNewestNamed(t *testing.T) {
	t.Parallel()
	var u UnusedReadings
	for i := range 2 * mostStray {
		u = u.Add(of(fmt.Sprintf("m%d", i%(mostStray+1)), float64(i), 1))
	}
	require.Equal(t, 2*mostStray, u.Readings)
	require.Len(t, u.Metrics, mostStray)
	require.Equal(t, "m6", u.Metrics[0].Metric)
	under := u.Under([]dream.Rule{{Name: "r", Metric: "m6", Kind: dream.Above}})
	require.Len(t, under.Metrics, mostStray-1)
	require.Equal(t, 2*mostStray-u.Metrics[0].Times, under.Readings)
}

func TestAWatchHasTheLastReadingOfEachRuleAndSinceWhenItIsTrue(t *testing.T) {
	t.Parallel()
	rules := []dream.Rule{highLevel, shutGate}
	w := Watch{Since: start}
	w, _ = w.Update(rules, []dream.Reading{term("level", "high")}, start)
	require.Empty(t, w.LastJudged, "a state does not count for a rule about numbers")
	w, _ = w.Update(rules, []dream.Reading{of("level", 1, 5)}, start.Add(time.Minute))
	w, _ = w.Update(rules, []dream.Reading{of("level", 2, 6)}, start.Add(2*time.Minute))
	require.Equal(t, map[string]time.Time{"high": start.Add(2 * time.Minute)}, w.LastJudged)
	require.Equal(t, map[string]time.Time{"high": start.Add(time.Minute)}, w.Rose)
	w = w.Carry(rules, []dream.Rule{highLevel})
	require.Equal(t, map[string]time.Time{"high": start.Add(time.Minute)}, w.Rose)
	w, _ = w.Update(rules, []dream.Reading{of("level", 3, 1)}, start.Add(3*time.Minute))
	require.Empty(t, w.Rose)
}

func TestAFluctuatingNumberFiresAgainOnlyBeyondTheMargin(t *testing.T) {
	t.Parallel()
	high, low := dream.Rule{Name: "high", Kind: dream.Above, Number: 4, Margin: .5},
		dream.Rule{Name: "low", Kind: dream.Below, Number: 0, Margin: 2}
	require.NoError(t, Validate(high))
	require.Equal(t, []string{"high: 4.1", "high: 5"},
		firings([]dream.Rule{high}, at(0, 4.1), at(1, 3.9), at(2, 4.1), at(3, 3.5), at(4, 4), at(5, 5)))
	require.Equal(t, []string{"low: -1", "low: -3"},
		firings([]dream.Rule{low}, at(0, -1), at(1, 1), at(2, -1), at(3, 2), at(4, -3)))
	high.Margin = -1
	require.ErrorContains(t, Validate(high), "margin is -1; it must be 0 or more")
	shut := shutGate
	shut.Margin = 1
	require.ErrorContains(t, Validate(shut), "only above and below have one")
}

func TestAReadingWithAWrongTimeIsRefusedWithAHint(t *testing.T) {
	t.Parallel()
	weekly := []dream.Rule{{Name: "q", Kind: dream.Stale, Window: 7 * 24 * time.Hour}}
	require.NoError(t, Timely(of("level", -60*24*6, 1), Oldest(weekly), start))
	require.NoError(t, Timely(of("level", -60*24*60, 1), 0, start), "the value of a pulled feed may be old")
	require.NoError(t, Timely(of("level", 1, 1), Oldest(nil), start))
	require.NoError(t, Timely(dream.Reading{}, Oldest(nil), start))
	require.EqualError(t, Timely(of("level", -60*25, 1), Oldest(nil), start),
		`the reading of "level" has at 2026-10-18T21:00:00Z, which is too long ago: at may be up to 24h0m0s before now (2026-10-19T22:00:00Z), or left out for now`)
	require.EqualError(t, Timely(at(2, 1), 0, start),
		`the reading has at 2026-10-19T22:02:00Z, which has not come yet: at may be up to 1m0s after now (2026-10-19T22:00:00Z), or left out for now`)
}

func TestValidateTrigger(t *testing.T) {
	t.Parallel()
	for text, right := range map[string]bool{
		"hand": true, "harbour/drill": true, "": false, "a/b/c": false,
		"a b": false, "/a": false, "a/": false,
	} {
		require.Equal(t, right, ValidateTrigger(text) == nil, text)
	}
}
