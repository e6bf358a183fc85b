package circadian

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestACalledDreamWaitsForIdleTimeGapAndJitter(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	at := func(h, m int) time.Time { return day.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute) }
	r := Rhythm{IdleTimeout: 30 * time.Minute, MinGap: 6 * time.Hour}
	usual := TriggerCall{At: day, Quiet: 10 * time.Minute, Jitter: 2 * time.Minute}
	for _, c := range []struct {
		name string
		call TriggerCall
		past LastTimes
		want time.Time
	}{
		{"idle for long: the jitter after the call", usual, LastTimes{Active: at(-5, 0)}, at(0, 2)},
		{"during a talk: the idle time after it", usual, LastTimes{Active: at(0, 30)}, at(0, 40)},
		{"a dream ended shortly before", usual, LastTimes{Active: at(-9, 0), Dream: at(-2, 0)}, at(4, 0)},
		{"a failed attempt shortly before", usual, LastTimes{Active: at(-9, 0), Try: at(-1, 0)}, at(5, 0)},
		{
			"requested by a person: at once",
			TriggerCall{At: day, Now: true, Quiet: time.Hour, Jitter: time.Hour},
			LastTimes{Active: at(0, -1), Dream: at(0, -2)},
			day,
		},
		{
			"requested by a person while the store was unreachable",
			TriggerCall{At: day, Now: true},
			LastTimes{Try: at(0, 5)},
			at(0, 6),
		},
	} {
		require.Equal(t, c.want, r.CallDue(c.call, c.past), c.name)
	}
}

func TestUrgencyIsCheckedBeforeThePlainRuleAndOutsideTheGap(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	r := Rhythm{IdleTimeout: 30 * time.Minute, MinGap: 6 * time.Hour, Jitter: time.Minute}
	idle := LastTimes{Active: now}
	require.Equal(t, now.Add(11*time.Minute), r.CheckAt(10*time.Minute, idle))
	require.Equal(t, now.Add(31*time.Minute), r.CheckAt(2*time.Hour, idle), "never later than the plain rule")
	dreamt := LastTimes{Active: now, Dream: now.Add(-time.Hour)}
	require.Equal(t, now.Add(5*time.Hour+time.Minute), r.CheckAt(10*time.Minute, dreamt), "the gap applies")
	require.Equal(t, r.Due(now, dreamt).At, r.CheckAt(10*time.Minute, dreamt))
}

// A schedule shared by a thousand agents begins over the five minutes of the default jitter: 3.3 per second on
// average.
func TestAgentsWithTheSameScheduleBeginSpreadOut(t *testing.T) {
	t.Parallel()
	const fleet, jitter = 1000, 5 * time.Minute
	call := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	r := Rhythm{MinGap: 6 * time.Hour}
	perSecond, starts := map[int]int{}, make([]time.Duration, fleet)
	for i := range fleet {
		c := TriggerCall{At: call, Quiet: 10 * time.Minute, Jitter: Jitter(fmt.Sprintf("agent-%d", i), 0, jitter)}
		starts[i] = r.CallDue(c, LastTimes{Active: call.Add(-time.Hour)}).Sub(call)
		perSecond[int(starts[i].Seconds())]++
	}
	slices.Sort(starts)
	most := 0
	for _, n := range perSecond {
		most = max(most, n)
	}
	require.LessOrEqual(t, most, 12, "in the fullest second")
	require.Less(t, starts[0], 2*time.Second)
	require.Greater(t, starts[fleet-1], jitter-2*time.Second)
	for q, at := range map[int]time.Duration{
		fleet / 4: 75 * time.Second, fleet / 2: 150 * time.Second,
		3 * fleet / 4: 225 * time.Second,
	} {
		require.InDelta(t, at.Seconds(), starts[q].Seconds(), 15, "quantile %d", q)
	}
}
