package circadian_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/circadian"
)

var (
	evening = time.Date(2026, 11, 20, 21, 0, 0, 0, time.UTC) // a Friday
	rhythm  = circadian.Rhythm{IdleTimeout: 30 * time.Minute, MinGap: 6 * time.Hour, ResumeAfter: 5 * time.Minute}
)

func TestANewDreamIsDueAfterIdleTimeAndGaps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		past circadian.LastTimes
		want time.Time
	}{
		"never dreamt": {circadian.LastTimes{Active: evening}, evening.Add(30 * time.Minute)},
		"dreamt long ago": {
			circadian.LastTimes{Active: evening, Dream: evening.Add(-24 * time.Hour)},
			evening.Add(30 * time.Minute),
		},
		"dreamt an hour ago": {
			circadian.LastTimes{Active: evening, Dream: evening.Add(-time.Hour)},
			evening.Add(5 * time.Hour),
		},
		"tried just now": {circadian.LastTimes{Active: evening, Try: evening}, evening.Add(6 * time.Hour)},
		"tried after it dreamt": {
			circadian.LastTimes{Active: evening, Dream: evening.Add(-2 * time.Hour), Try: evening.Add(-time.Hour)},
			evening.Add(5 * time.Hour),
		},
		"dreamt after it tried": {
			circadian.LastTimes{Active: evening, Dream: evening.Add(-time.Hour), Try: evening.Add(-2 * time.Hour)},
			evening.Add(5 * time.Hour),
		},
		"the gap ends as it idles": {
			circadian.LastTimes{Active: evening, Dream: evening.Add(-330 * time.Minute)},
			evening.Add(30 * time.Minute),
		},
	} {
		require.Equal(t, circadian.NextDream{At: c.want}, rhythm.Due(evening, c.past), name)
		late := rhythm
		late.Jitter = 77 * time.Second
		require.Equal(t, circadian.NextDream{At: c.want.Add(77 * time.Second)}, late.Due(evening, c.past), name)
	}
}

// Histories recorded before there was a jitter depend on this arithmetic.
func TestWithoutJitterTheArithmeticIsUnchanged(t *testing.T) {
	t.Parallel()
	const seed = 20261120
	r := rand.New(rand.NewPCG(seed, 1))
	moment := func() time.Time {
		if r.IntN(4) == 0 {
			return time.Time{}
		}
		return evening.Add(time.Duration(r.Int64N(int64(72 * time.Hour))))
	}
	for range 5000 {
		law := circadian.Rhythm{
			IdleTimeout: time.Duration(r.Int64N(int64(12 * time.Hour))),
			MinGap:      time.Duration(r.Int64N(int64(24 * time.Hour))),
		}
		past := circadian.LastTimes{Active: moment(), Dream: moment(), Try: moment()}
		idle := past.Active.Add(law.IdleTimeout)
		for _, last := range []time.Time{past.Dream, past.Try} {
			if gap := last.Add(law.MinGap); !last.IsZero() && gap.After(idle) {
				idle = gap
			}
		}
		require.Equal(t, circadian.NextDream{At: idle}, law.Due(evening, past), "seed %d: %+v %+v", seed, law, past)
		require.Equal(t, circadian.NextDream{At: idle},
			law.Begin(evening, past, time.UTC, circadian.Hours{}, circadian.Hours{}))
	}
}

func TestAnInterruptedDreamIsResumedUnlessItHasExpired(t *testing.T) {
	t.Parallel()
	expires := evening.Add(8 * time.Hour)
	for name, c := range map[string]struct {
		now    time.Time
		past   circadian.LastTimes
		jitter time.Duration
		want   circadian.NextDream
	}{
		"quiet again": {
			evening,
			circadian.LastTimes{Active: evening, Dream: evening, Expires: expires},
			0,
			circadian.NextDream{At: evening.Add(5 * time.Minute), Resume: true},
		},
		"a failed attempt counts": {
			evening,
			circadian.LastTimes{Active: evening, Try: evening.Add(time.Hour), Expires: expires},
			0,
			circadian.NextDream{At: evening.Add(65 * time.Minute), Resume: true},
		},
		"jittered": {
			evening,
			circadian.LastTimes{Active: evening, Expires: expires},
			time.Minute,
			circadian.NextDream{At: evening.Add(6 * time.Minute), Resume: true},
		},
		"no room for the jitter": {
			evening,
			circadian.LastTimes{Active: expires.Add(-6 * time.Minute), Expires: expires},
			time.Minute,
			circadian.NextDream{At: expires.Add(-time.Minute), Resume: true},
		},
		"no time left": {
			evening,
			circadian.LastTimes{Active: expires.Add(-5 * time.Minute), Expires: expires},
			0,
			circadian.NextDream{At: expires.Add(25 * time.Minute)},
		},
		"its time is over": {
			expires,
			circadian.LastTimes{Active: evening, Dream: evening, Expires: expires},
			0,
			circadian.NextDream{At: expires},
		},
	} {
		law := rhythm
		law.Jitter = c.jitter
		require.Equal(t, c.want, law.Due(c.now, c.past), name)
	}
}

func TestNoNewDreamBeginsBeforeAnInterruptedOneExpires(t *testing.T) {
	t.Parallel()
	hasty := circadian.Rhythm{IdleTimeout: time.Minute, MinGap: time.Minute, ResumeAfter: time.Hour}
	expires := evening.Add(30 * time.Minute)
	require.Equal(t, circadian.NextDream{At: expires}, hasty.Due(evening, circadian.LastTimes{
		Active:  evening,
		Expires: expires,
	}))
}

func hours(t *testing.T, entries ...string) circadian.Hours {
	t.Helper()
	h, err := circadian.ParseHours(entries)
	require.NoError(t, err)
	return h
}

func TestADreamDueInClosedHoursBeginsTheJitterAfterTheOpening(t *testing.T) {
	t.Parallel()
	windows, none := hours(t, "22:00-07:00"), circadian.Hours{}
	law := rhythm
	law.Jitter = 90 * time.Second
	past := circadian.LastTimes{Active: evening} // due 21:31:30
	opens := evening.Add(time.Hour)
	want := circadian.NextDream{At: opens.Add(90 * time.Second)}
	for _, now := range []time.Time{evening, opens, want.At} {
		require.Equal(t, want, law.Begin(now, past, time.UTC, windows, none), now)
	}
	morning := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC) // no check during the night
	require.Equal(t, circadian.NextDream{At: morning.Add(13*time.Hour + 90*time.Second)},
		law.Begin(morning, past, time.UTC, windows, none))
	require.Equal(t, circadian.NextDream{At: opens}, law.Begin(evening, past, time.UTC, hours(t, "22:00-22:01"), none),
		"the window is shorter than the jitter")
	require.Equal(t, circadian.NextDream{}, law.Begin(evening, past, time.UTC, windows, hours(t, "00:00-24:00")),
		"never")
}

func TestAnInterruptedDreamWaitsForTheHoursUntilItExpires(t *testing.T) {
	t.Parallel()
	windows, none := hours(t, "22:00-07:00"), circadian.Hours{}
	past := circadian.LastTimes{Active: evening, Dream: evening, Expires: evening.Add(2 * time.Hour)}
	require.Equal(t, circadian.NextDream{At: evening.Add(time.Hour), Resume: true},
		rhythm.Begin(evening, past, time.UTC, windows, none))
	past.Expires = evening.Add(time.Hour)
	require.Equal(t, circadian.NextDream{At: evening.Add(6 * time.Hour)},
		rhythm.Begin(evening, past, time.UTC, windows, none), "a new dream")
}

func TestJitterIsTheSameOnEveryMachine(t *testing.T) {
	t.Parallel()
	require.Equal(t, "50.553198951s", circadian.Jitter("echo", 1, 5*time.Minute).String())
	require.Equal(t, "4m18.213934764s", circadian.Jitter("echo", 2, 5*time.Minute).String())
	require.Zero(t, circadian.Jitter("echo", 1, 0))
	require.Zero(t, circadian.Jitter("echo", 1, -time.Second))
	require.Zero(t, circadian.Jitter("echo", 1, 1))
}

func TestJitterIsSpreadEvenlyOverAgentsAndDreams(t *testing.T) {
	t.Parallel()
	const most, cells, draws = time.Minute, 20, 20_000
	for name, draw := range map[string]func(i int) time.Duration{
		"agents": func(i int) time.Duration { return circadian.Jitter(fmt.Sprint("agent", i), 3, most) },
		"dreams": func(i int) time.Duration { return circadian.Jitter("echo", i, most) },
	} {
		var counts [cells]int
		for i := range draws {
			d := draw(i)
			require.GreaterOrEqual(t, d, time.Duration(0))
			require.Less(t, d, most)
			counts[int(d*cells/most)]++
		}
		chi := 0.0
		for _, n := range counts {
			off := float64(n - draws/cells)
			chi += off * off / (draws / cells)
		}
		require.Less(t, chi, 43.8, "%s: 19 degrees of freedom, one in a thousand", name)
	}
}
