package circadian_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of this test are the same on every machine

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/circadian"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	require.NoError(t, err)
	return z
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return moment
}

func TestDaylightSavingTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		zone, windows, quiet, now, next string
	}{
		"Berlin, the skipped hour": {
			"Europe/Berlin", "02:00-03:00", "", "2026-03-28T22:00:00Z",
			"2026-03-30T00:00:00Z",
		},
		"Berlin, a window that begins in the skipped hour": {
			"Europe/Berlin", "02:30-04:00", "", "2026-03-28T22:00:00Z",
			"2026-03-29T01:00:00Z",
		},
		"Berlin, a window after the skipped hour": {
			"Europe/Berlin", "05:00-06:00", "", "2026-03-28T22:00:00Z",
			"2026-03-29T03:00:00Z",
		},
		"Berlin, quiet hours that end in the skipped hour": {
			"Europe/Berlin", "", "22:00-02:30", "2026-03-28T22:00:00Z",
			"2026-03-29T01:00:00Z",
		},
		"Berlin, the repeated hour": {
			"Europe/Berlin", "02:00-02:30", "", "2026-10-24T22:00:00Z",
			"2026-10-25T00:00:00Z",
		},
		"Berlin, the second time": {
			"Europe/Berlin", "02:00-02:30", "", "2026-10-25T00:30:00Z",
			"2026-10-25T01:00:00Z",
		},
		"Berlin, not a third time": {
			"Europe/Berlin", "02:00-02:30", "", "2026-10-25T01:30:00Z",
			"2026-10-26T01:00:00Z",
		},
		"Berlin, set back out of a window": {
			"Europe/Berlin", "03:00-04:00", "", "2026-10-25T00:59:00Z",
			"2026-10-25T02:00:00Z",
		},
		"Berlin, Sundays only": {
			"Europe/Berlin", "sun 02:00-03:00", "", "2026-03-28T22:00:00Z",
			"2026-04-05T00:00:00Z",
		},
		"New York, forward": {
			"America/New_York", "02:15-02:45", "", "2026-03-08T06:00:00Z",
			"2026-03-09T06:15:00Z",
		},
		"New York, back": {
			"America/New_York", "01:30-02:00", "", "2026-11-01T06:00:00Z",
			"2026-11-01T06:30:00Z",
		},
		"Lord Howe, forward by half an hour": {
			"Australia/Lord_Howe", "02:10-02:40", "", "2026-10-03T15:00:00Z",
			"2026-10-03T15:30:00Z",
		},
		"Lord Howe, back by half an hour": {
			"Australia/Lord_Howe", "01:45-01:50", "", "2026-04-04T14:50:00Z",
			"2026-04-04T15:15:00Z",
		},
		"Kolkata, which never changes": {
			"Asia/Kolkata", "22:00-07:00", "", "2026-03-29T12:00:00Z",
			"2026-03-29T16:30:00Z",
		},
		"Apia, the skipped Friday": {
			"Pacific/Apia", "fri 00:00-24:00", "", "2011-12-30T08:00:00Z",
			"2012-01-05T10:00:00Z",
		},
	} {
		windows, quiet := hours(t, circadian.SplitHours(c.windows)...), hours(t, circadian.SplitHours(c.quiet)...)
		open, next := circadian.Open(at(t, c.now), zone(t, c.zone), windows, quiet)
		require.False(t, open, name)
		require.Equal(t, c.next, next.UTC().Format(time.RFC3339), name)
	}
}

func TestSecondsCountAndTheLastMinuteIsExcluded(t *testing.T) {
	t.Parallel()
	berlin, windows := zone(t, "Europe/Berlin"), hours(t, "22:00-07:00")
	open, next := circadian.Open(at(t, "2026-11-20T20:59:59.5Z"), berlin, windows, circadian.Hours{})
	require.False(t, open)
	require.Equal(t, at(t, "2026-11-20T21:00:00Z"), next)
	open, _ = circadian.Open(at(t, "2026-11-21T05:59:59.999Z"), berlin, windows, circadian.Hours{})
	require.True(t, open)
	open, next = circadian.Open(at(t, "2026-11-21T06:00:00Z"), berlin, windows, circadian.Hours{})
	require.False(t, open)
	require.Equal(t, at(t, "2026-11-21T21:00:00Z"), next)
}

// clock evaluates hours independently of the code under test, entry by entry and day by day.
func clock(t *testing.T, entries []string, local time.Time) bool {
	t.Helper()
	now := local.Format("15:04")
	today := strings.ToLower(local.Format("Mon"))
	// the 15th is a Sunday
	yesterday := strings.ToLower(time.Date(2026, 11, 15+int(local.Weekday())-1, 12, 0, 0, 0, time.UTC).Format("Mon"))
	for _, entry := range entries {
		onDays, stretch, ok := strings.Cut(entry, " ")
		require.True(t, ok)
		from, to, _ := strings.Cut(stretch, "-")
		switch on := strings.Split(onDays, ","); {
		case from < to && contains(on, today) && now >= from && now < to:
			return true
		case from > to && (contains(on, today) && now >= from || contains(on, yesterday) && now < to):
			return true
		}
	}
	return false
}

func contains(list []string, s string) bool {
	for _, each := range list {
		if each == s {
			return true
		}
	}
	return false
}

func anyEntries(r *rand.Rand, most int) []string {
	var entries []string
	for range r.IntN(most + 1) {
		var on []string
		for _, day := range []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"} {
			if r.IntN(2) == 0 {
				on = append(on, day)
			}
		}
		from, to := r.IntN(24*60), r.IntN(24*60)
		if r.IntN(3) == 0 { // around the hours when the offset changes
			from, to = 60+r.IntN(180), 60+r.IntN(180)
		}
		if len(on) > 0 && from != to {
			entries = append(entries,
				fmt.Sprintf("%s %02d:%02d-%02d:%02d", strings.Join(on, ","), from/60, from%60, to/60, to%60))
		}
	}
	return entries
}

// For two weeks around each change of offset, minute by minute backwards: the next opening is the nearest open
// minute.
func TestNextIsTheFirstOpening(t *testing.T) {
	t.Parallel()
	const seed, rounds, minutes = 7411, 6, 14 * 24 * 60
	r := rand.New(rand.NewPCG(seed, 1))
	for _, c := range []struct{ zone, from string }{
		{"Europe/Berlin", "2026-03-22T00:00:00Z"},
		{"Europe/Berlin", "2026-10-18T00:00:00Z"},
		{"America/New_York", "2026-03-01T00:00:00Z"},
		{"America/New_York", "2026-10-25T00:00:00Z"},
		{"Australia/Lord_Howe", "2026-03-29T00:00:00Z"},
		{"Australia/Lord_Howe", "2026-09-27T00:00:00Z"},
		{"Asia/Kolkata", "2026-03-22T00:00:00Z"},
		{"Pacific/Apia", "2011-12-23T00:00:00Z"},
	} {
		place, begin := zone(t, c.zone), at(t, c.from)
		for round := range rounds {
			entries, silent := anyEntries(r, 3), anyEntries(r, 2)
			windows, quiet := hours(t, entries...), hours(t, silent...)
			text := fmt.Sprintf("seed %d, %s, round %d: windows %q, quiet %q", seed, c.zone, round, entries, silent)
			first := time.Time{}
			for m := minutes - 1; m >= 0; m-- {
				now := begin.Add(time.Duration(m) * time.Minute)
				local := now.In(place)
				want := (len(entries) == 0 || clock(t, entries, local)) && !clock(t, silent, local)
				if want {
					first = now
				}
				open, next := circadian.Open(now, place, windows, quiet)
				if open != want || (open && !next.Equal(now)) || (!first.IsZero() && !next.Equal(first)) {
					t.Fatalf("%s: at %s open is %v and next %s; want %v and %s", text, local, open, next, want, first)
				}
			}
			_, next := circadian.Open(begin, place, windows, quiet)
			require.Equal(t, circadian.Opens(windows, quiet) != nil, next.IsZero(), text)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		b.Fatal(err)
	}
	windows, _ := circadian.ParseHours([]string{"22:00-07:00"})
	for b.Loop() {
		circadian.Open(evening, berlin, windows, circadian.Hours{})
	}
}
