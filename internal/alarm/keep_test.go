package alarm

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

func TestAThinnedWindowStillShowsTheChange(t *testing.T) {
	t.Parallel()
	rule := dream.Rule{Name: "price", Kind: dream.RelativeMove, Number: .05, Window: time.Hour}
	rules := []dream.Rule{rule}
	w := Watch{Since: start}
	for second := 0; second < 3600*3; second += 4 {
		n := 100.0
		if second == 2*3600+16 {
			n = 96 // the lowest of its part, for one second
		}
		r := at(float64(second)/60, n)
		var fired []FiredRule
		w, fired = w.Update(rules, []dream.Reading{r}, r.At)
		require.Empty(t, fired)
	}
	require.LessOrEqual(t, len(w.Readings), 3*(slicesOf+2))
	_, fired := w.Update(rules, []dream.Reading{at(179.99, 101)}, start.Add(180*time.Minute))
	require.Len(t, fired, 1)
	require.InDelta(t, 96, *fired[0].From, 0)
}

func TestUnusedMetricsAreNotKept(t *testing.T) {
	t.Parallel()
	rules := []dream.Rule{{Name: "high", Metric: "gas", Kind: dream.Above, Number: 5}}
	kept := Keep([]dream.Reading{of("eth", 0, 1), of("gas", 1, 1), of("gas", 2, 2), of("eth", 3, 1)}, rules,
		start.Add(time.Hour))
	require.Len(t, kept, 1)
	require.InDelta(t, 2, *kept[0].Number, 0)
	require.Empty(t, Keep(kept, nil, start))
}

func TestARepeatedStateOfTheSameMomentIsKeptOnce(t *testing.T) {
	t.Parallel()
	pause, _ := Preset("pause")
	w := Watch{Since: start}
	for range 100 {
		w, _ = w.Update([]dream.Rule{pause}, []dream.Reading{says(0, "paused"), says(0, "paused")}, start)
	}
	require.Len(t, w.Readings, 1)
}

func TestThousandsOfMetricsStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	var rules []dream.Rule
	for i := range MostRules {
		rules = append(rules,
			dream.Rule{
				Name: fmt.Sprintf("r%d", i), Kind: dream.RelativeMove, Number: .05,
				Window: time.Duration(i+1) * 17 * time.Minute,
			})
	}
	w := Watch{Since: start}
	for i := range 80 {
		var fresh []dream.Reading
		for j := range MostReadings {
			fresh = append(fresh, of(fmt.Sprintf("%060d", j%(mostMetric+i%3)), float64(i), float64(100+i%3)))
		}
		w, _ = w.Update(rules, fresh, start.Add(time.Duration(i)*time.Minute))
	}
	body, err := json.Marshal(w)
	require.NoError(t, err)
	require.LessOrEqual(t, len(w.Readings), mostKept+2*mostMetric)
	require.Less(t, len(body), 512<<10)
}

// sequence draws readings of one feed in order, with windows never fuller than what is kept exactly.
func sequence(t *rapid.T) []dream.Reading {
	var readings []dream.Reading
	clock := 0.0
	for range rapid.IntRange(0, exactly-8).Draw(t, "readings") {
		clock += rapid.Float64Range(0, 30).Draw(t, "gap")
		if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
			readings = append(readings, says(clock, rapid.SampledFrom([]string{"open", "paused"}).Draw(t, "state")))
			continue
		}
		readings = append(readings, at(clock, float64(rapid.IntRange(90, 110).Draw(t, "number"))))
	}
	return readings
}

var several = []dream.Rule{
	{Name: "price", Kind: dream.RelativeMove, Number: .05, Window: 15 * time.Minute},
	{Name: "drop", Kind: dream.RelativeDrop, Number: .1, Window: time.Hour},
	{Name: "move", Kind: dream.RiseFall, Number: 8, Window: 40 * time.Minute},
	{Name: "pause", Kind: dream.StateIs, State: "paused"},
	{Name: "high", Kind: dream.Above, Number: 107},
	{Name: "quiet", Kind: dream.Stale, Window: 20 * time.Minute},
}

func TestKeptReadingsSufficeAndBatchesGiveTheSameAlarms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		readings := sequence(t)
		bounded, everything := Watch{Since: start}, Watch{Since: start}
		var one, all []FiredRule
		for _, r := range readings {
			var fired []FiredRule
			bounded, fired = bounded.Update(several, []dream.Reading{r}, r.At)
			one = append(one, fired...)

			kept := slices.Clone(everything.Readings)
			everything, fired = everything.Update(several, []dream.Reading{r}, r.At)
			everything.Readings = append(kept, r) // without thinning
			all = append(all, fired...)
		}
		require.Equal(t, all, one)
		if len(readings) > 0 {
			_, batch := Watch{Since: start}.Update(several, readings, readings[len(readings)-1].At)
			require.Equal(t, one, batch)
		}
	})
}

func FuzzHear(f *testing.F) {
	f.Add(int64(0), 100.0, int64(time.Minute), 106.0, int64(2*time.Minute), "paused", "m")
	f.Add(int64(-5), math.Inf(1), int64(math.MaxInt64), math.NaN(), int64(math.MinInt64), "", "")
	f.Fuzz(func(t *testing.T, a int64, n float64, b int64, m float64, now int64, state, metric string) {
		clock := start.Add(time.Duration(now))
		fresh := []dream.Reading{
			{At: start.Add(time.Duration(a)), Metric: metric, Number: &n},
			{At: start.Add(time.Duration(b)), Metric: metric, Number: &m, State: state},
			{State: state},
			{At: start.Add(time.Duration(a)), State: state},
		}
		w := Watch{Since: start}
		for range 3 {
			before := w.Up
			var fired []FiredRule
			w, fired = w.Update(several, fresh, clock)
			for _, r := range w.Readings {
				require.NoError(t, ValidateReading(r))
				require.False(t, r.At.After(clock))
			}
			require.True(t, slices.IsSortedFunc(w.Readings, func(a, b dream.Reading) int { return a.At.Compare(b.At) }))
			if len(fresh) == 0 {
				for _, one := range fired {
					require.NotContains(t, before, one.Rule, "it was true before")
				}
			}
			_, err := json.Marshal(w)
			require.NoError(t, err)
			fresh = nil
		}
	})
}
