package alarm

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

var start = time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC)

// at is a number read a number of minutes after the start.
func at(minutes float64, number float64) dream.Reading {
	return of("", minutes, number)
}

func of(metric string, minutes, number float64) dream.Reading {
	return dream.Reading{At: start.Add(time.Duration(minutes * float64(time.Minute))), Metric: metric, Number: &number}
}

func says(minutes float64, state string) dream.Reading {
	return dream.Reading{At: start.Add(time.Duration(minutes * float64(time.Minute))), State: state}
}

// firings judges readings one by one, each at its time, and returns the text of every rule that fired.
func firings(rules []dream.Rule, readings ...dream.Reading) []string {
	w := Watch{Since: start}
	var texts []string
	for _, r := range readings {
		var fired []FiredRule
		now := r.At
		for _, before := range w.Readings {
			now = latest(now, before.At)
		}
		w, fired = w.Update(rules, []dream.Reading{r}, now)
		if len(fired) > 0 {
			for _, f := range fired {
				texts = append(texts, f.String())
			}
		}
	}
	return texts
}

func TestThePresetAlarms(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name, preset string
		readings     []dream.Reading
		want         []string
	}{
		{"five per cent up", "price", []dream.Reading{at(0, 100), at(1, 105)}, []string{"price: 100 to 105"}},
		{"less than five per cent", "price", []dream.Reading{at(0, 100), at(1, 104.9), at(2, 100)}, nil},
		{"six per cent down", "price", []dream.Reading{at(0, 100), at(1, 94)}, []string{"price: 100 to 94"}},
		{
			"a slide in steps inside the window", "price",
			[]dream.Reading{at(0, 100), at(5, 98), at(10, 96), at(14, 94)},
			[]string{"price: 100 to 94"},
		},
		{
			"a slide that is slower than the window", "price",
			[]dream.Reading{at(0, 100), at(10, 98), at(20, 96), at(30, 94), at(40, 92)},
			nil,
		},
		{
			"it stays moved and fires once", "price",
			[]dream.Reading{at(0, 100), at(1, 106), at(2, 106), at(3, 107)},
			[]string{"price: 100 to 106"},
		},
		{
			"a second move after the first has passed", "price",
			[]dream.Reading{at(0, 100), at(1, 106), at(20, 106), at(21, 113)},
			[]string{"price: 100 to 106", "price: 106 to 113"},
		},
		{
			"a feed with one reading a day", "price",
			[]dream.Reading{at(0, 100), at(1440, 106), at(2880, 113)},
			[]string{"price: 100 to 106", "price: 106 to 113"},
		},
		{
			"a move while the feed was unreachable", "price",
			[]dream.Reading{at(0, 100), at(60, 80)},
			[]string{"price: 100 to 80"},
		},
		{
			"a dip that is over", "price",
			[]dream.Reading{at(0, 100), at(1, 94), at(2, 100)},
			[]string{"price: 100 to 94"},
		},
		{"a change from zero has no share", "price", []dream.Reading{at(0, 0), at(1, 5)}, nil},
		{"a change to zero has one", "price", []dream.Reading{at(0, 5), at(1, 0)}, []string{"price: 5 to 0"}},
		{
			"below zero the share is of the size", "price",
			[]dream.Reading{at(0, -100), at(1, -94)},
			[]string{"price: -100 to -94"},
		},
		{
			"NaN", "price",
			[]dream.Reading{at(0, 100), at(1, nan), at(2, inf), at(3, -inf), at(4, 101)},
			nil,
		},
		{
			"the farthest that numbers go", "price",
			[]dream.Reading{at(0, -math.MaxFloat64), at(1, math.MaxFloat64)},
			[]string{"price: -1.79769e+308 to 1.79769e+308"},
		},
		{"one reading alone", "price", []dream.Reading{at(0, 100)}, nil},
		{
			"a late reading shows the move", "price",
			[]dream.Reading{at(5, 100), at(4, 90)},
			[]string{"price: 90 to 100"},
		},
		{
			"a late reading is what the window began with", "price",
			[]dream.Reading{at(30, 100), at(31, 100), at(2, 50)},
			[]string{"price: 50 to 100"},
		},
		{"a late reading from before the window", "price", []dream.Reading{at(10, 100), at(31, 100), at(2, 50)}, nil},

		{
			"a fifth of the liquidity", "liquidity",
			[]dream.Reading{at(0, 1e6), at(30, 8e5)},
			[]string{"liquidity: 1e+06 to 800000"},
		},
		{"a rise of liquidity", "liquidity", []dream.Reading{at(0, 1e6), at(30, 2e6)}, nil},
		{
			"a fall after a rise", "liquidity",
			[]dream.Reading{at(0, 1e6), at(30, 2e6), at(40, 1.6e6)},
			[]string{"liquidity: 2e+06 to 1.6e+06"},
		},

		{
			"paused", "pause",
			[]dream.Reading{says(0, "open"), says(1, "Paused"), says(2, "paused")},
			[]string{`pause: "Paused"`},
		},
		{
			"paused twice", "pause",
			[]dream.Reading{says(0, "paused"), says(1, "open"), says(2, "paused")},
			[]string{`pause: "paused"`, `pause: "paused"`},
		},
		{"a pause that is over when it is reported", "pause", []dream.Reading{says(5, "open"), says(4, "paused")}, nil},
		{"another word", "pause", []dream.Reading{says(0, "unpaused"), at(1, 0)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rule, ok := Preset(c.preset)
			require.True(t, ok)
			require.NoError(t, Validate(rule))
			require.Equal(t, c.want, firings([]dream.Rule{rule}, c.readings...))
		})
	}
}

func TestOtherRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		rule     dream.Rule
		readings []dream.Reading
		want     []string
	}{
		{
			"an absolute move",
			dream.Rule{Name: "r", Kind: dream.RiseFall, Number: 3, Window: time.Hour},
			[]dream.Reading{at(0, 0), at(1, 2), at(2, -1)},
			[]string{"r: 2 to -1"},
		},
		{
			"above",
			dream.Rule{Name: "r", Kind: dream.Above, Number: 90},
			[]dream.Reading{at(0, 90), at(1, 91), at(2, 92), at(3, 89), at(4, 95)},
			[]string{"r: 91", "r: 95"},
		},
		{
			"below",
			dream.Rule{Name: "r", Kind: dream.Below, Number: -5},
			[]dream.Reading{at(0, -5), at(1, -6)},
			[]string{"r: -6"},
		},
		{
			"a metric by its name",
			dream.Rule{Name: "r", Metric: "gas", Kind: dream.Above, Number: 5},
			[]dream.Reading{of("eth", 0, 9), of("gas", 1, 9)},
			[]string{"r of gas: 9"},
		},
		{
			"each metric by itself",
			dream.Rule{Name: "r", Kind: dream.Above, Number: 5},
			[]dream.Reading{of("eth", 0, 9), of("gas", 1, 9), of("gas", 2, 9)},
			[]string{"r of eth: 9", "r of gas: 9"},
		},
		{
			"metrics are not compared",
			dream.Rule{Name: "r", Kind: dream.RelativeMove, Number: .05, Window: time.Hour},
			[]dream.Reading{of("eth", 0, 9), of("gas", 1, 900)},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, Validate(c.rule))
			require.Equal(t, c.want, firings([]dream.Rule{c.rule}, c.readings...))
		})
	}
}

func TestSilenceFiresOnceWhenItIsDue(t *testing.T) {
	t.Parallel()
	rules := []dream.Rule{{Name: "quiet", Kind: dream.Stale, Window: 10 * time.Minute}}
	w := Watch{Since: start}
	due, ok := w.Due(rules)
	require.True(t, ok)
	require.Equal(t, start.Add(10*time.Minute), due, "a feed without readings is silent since the watch began")

	w, fired := w.Update(rules, []dream.Reading{at(6, 1)}, start.Add(6*time.Minute))
	require.Empty(t, fired)
	due, _ = w.Due(rules)
	require.Equal(t, start.Add(16*time.Minute), due)
	w, fired = w.Update(rules, nil, due.Add(-time.Second))
	require.Empty(t, fired)
	w, fired = w.Update(rules, nil, due)
	require.Len(t, fired, 1)
	require.Equal(t, "quiet: no reading since 2026-10-19T22:06:00Z", fired[0].String())
	_, ok = w.Due(rules)
	require.False(t, ok, "the silence has fired already")
	w, fired = w.Update(rules, nil, due.Add(time.Hour))
	require.Empty(t, fired)

	w, fired = w.Update(rules, []dream.Reading{at(90, 1)}, start.Add(90*time.Minute))
	require.Empty(t, fired)
	_, fired = w.Update(rules, nil, start.Add(100*time.Minute))
	require.Len(t, fired, 1, "silent again")
}

func TestAClockThatJumpsKeepsTheRulesWorking(t *testing.T) {
	t.Parallel()
	price, _ := Preset("price")
	rules := []dream.Rule{price}
	tomorrow := at(24*60, 100)

	w, _ := Watch{Since: start}.Update(rules, []dream.Reading{tomorrow}, start)
	require.Equal(t, start, w.Readings[0].At, "no reading is earlier than its own time")

	w, _ = Watch{Since: start}.Update(rules, []dream.Reading{tomorrow}, tomorrow.At)
	_, fired := w.Update(rules, []dream.Reading{at(1, 106)}, start.Add(time.Minute))
	require.Len(t, fired, 1, "the clock went back a day: the last reading still counts")

	w, _ = Watch{Since: start}.Update(rules, []dream.Reading{at(0, 100), {Number: new(float64)}}, start)
	require.Equal(t, start, w.Readings[1].At, "a reading without a time is of now")
}

func TestAChangedRuleStartsOver(t *testing.T) {
	t.Parallel()
	high, low := dream.Rule{Name: "high", Kind: dream.Above, Number: 5},
		dream.Rule{Name: "low", Kind: dream.Below, Number: 99}
	before := []dream.Rule{high, low}
	w, fired := Watch{Since: start}.Update(before, []dream.Reading{of("a", 0, 9)}, start)
	require.Len(t, fired, 2)
	higher := high
	higher.Number = 7
	after := []dream.Rule{higher, low}
	_, fired = w.Carry(before, after).Update(after, nil, start.Add(time.Minute))
	require.Len(t, fired, 1)
	require.Equal(t, "high", fired[0].Rule)
	require.Len(t, w.Up, 2, "the old watch is unchanged")
}

func TestAWatchSurvivesJSON(t *testing.T) {
	t.Parallel()
	price, _ := Preset("price")
	pause, _ := Preset("pause")
	rules := []dream.Rule{price, pause}
	w, _ := Watch{Since: start}.Update(rules, []dream.Reading{at(0, 100), at(1, 106), says(1, "paused")},
		start.Add(time.Minute))
	body, err := json.Marshal(w)
	require.NoError(t, err)
	var again Watch
	require.NoError(t, json.Unmarshal(body, &again))
	require.Equal(t, w, again)
	require.Len(t, again.Up, 2)
}
