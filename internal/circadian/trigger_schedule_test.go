package circadian

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSchedulesInLocalTime(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	const layout = "2006-01-02 15:04 MST"
	for _, c := range []struct{ schedule, after, next string }{
		{"03:30", "2026-11-20 03:29 CET", "2026-11-20 03:30 CET"},
		{"03:30", "2026-11-20 03:30 CET", "2026-11-21 03:30 CET"},
		{"mon-fri 03:30", "2026-11-20 04:00 CET", "2026-11-23 03:30 CET"},
		{"sat,sun 10:00", "2026-11-20 04:00 CET", "2026-11-21 10:00 CET"},
		{"30 3 * * 1-5", "2026-11-20 04:00 CET", "2026-11-23 03:30 CET"},
		{"30 3 * * mon-fri", "2026-11-20 04:00 CET", "2026-11-23 03:30 CET"},
		{"0 3 * * 7", "2026-11-20 04:00 CET", "2026-11-22 03:00 CET"},
		{"0 3 * * 5-7", "2026-11-21 04:00 CET", "2026-11-22 03:00 CET"},
		{"*/20 22-23 * * *", "2026-11-20 22:41 CET", "2026-11-20 23:00 CET"},
		{"5/25 0 * * *", "2026-11-20 00:06 CET", "2026-11-20 00:30 CET"},
		{"0 4 1,15 * *", "2026-11-20 04:00 CET", "2026-12-01 04:00 CET"},
		{"0 4 1 * mon", "2026-11-20 04:00 CET", "2026-11-23 04:00 CET"}, // either day matches, as in cron
		{"0 4 29 feb *", "2026-11-20 04:00 CET", "2028-02-29 04:00 CET"},
		{"0 4 31 dec,jun *", "2026-11-20 04:00 CET", "2026-12-31 04:00 CET"},

		// 29 March 2026: at 02:00 the clock goes forward to 03:00.
		{"02:30", "2026-03-28 02:30 CET", "2026-03-29 03:00 CEST"},
		{"*/20 2 * * *", "2026-03-29 01:59 CET", "2026-03-29 03:00 CEST"},
		{"*/20 2 * * *", "2026-03-29 03:00 CEST", "2026-03-30 02:00 CEST"}, // a skipped time calls once
		{"03:00", "2026-03-29 01:00 CET", "2026-03-29 03:00 CEST"},
		// 25 October 2026: at 03:00 the clock goes back to 02:00.
		{"02:30", "2026-10-25 01:00 CEST", "2026-10-25 02:30 CEST"},
		{"02:30", "2026-10-25 02:30 CEST", "2026-10-26 02:30 CET"}, // repeated, but called once
		{"02:00", "2026-10-25 01:00 CEST", "2026-10-25 02:00 CEST"},
		{"03:00", "2026-10-25 02:30 CET", "2026-10-25 03:00 CET"},
	} {
		s, err := ParseSchedule(c.schedule)
		require.NoError(t, err, c.schedule)
		zones := map[string]int{"CET": 3600, "CEST": 7200}
		at, err := time.Parse("2006-01-02 15:04", c.after[:16])
		require.NoError(t, err)
		after := at.Add(-time.Duration(zones[c.after[17:]]) * time.Second).In(berlin)
		require.Equal(t, c.after, after.Format(layout), "the table is consistent")
		require.Equal(t, c.next, s.Next(after, berlin).Format(layout), "%s after %s", c.schedule, c.after)
	}
}

func TestNextIsAlwaysLaterAndSkipsNoDay(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia",
		"America/Sao_Paulo", "Asia/Kathmandu",
	} {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		for _, text := range []string{"00:00", "00:30", "01:59", "02:30", "03:00", "23:59"} {
			s, err := ParseSchedule(text)
			require.NoError(t, err)
			at, times := time.Date(2025, 1, 1, 12, 0, 0, 0, zone), 0
			for end := at.AddDate(1, 0, 0); ; times++ {
				next := s.Next(at, zone)
				require.True(t, next.After(at), "%s %s", name, text)
				require.LessOrEqual(t, next.Sub(at), 26*time.Hour, "%s %s after %s", name, text, at)
				at = next
				if at.After(end) {
					break
				}
			}
			require.Equal(t, 365, times, "%s %s", name, text)
		}
	}
}

func TestInvalidSchedulesAreRefusedWithAHint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                 "it has 0 words",
		"25:00":            `"25:00" is not a time from 00:00 to 23:59`,
		"24:00":            `"24:00" is not a time`,
		"funday 03:00":     `"funday" is not a day`,
		"0 3 * *":          "it has 4 words",
		"60 3 * * *":       `the minute "60" is not a value from 0 to 59`,
		"0 3-1 * * *":      `the hour "3-1" is not a value`,
		"0 */0 * * *":      `steps by "0"`,
		"0 3 0 * *":        `the day of the month "0"`,
		"0 3 * 13 *":       `the month "13"`,
		"0 3 * * 8":        `the weekday "8"`,
		"0 3 30 2 *":       "such a day does not exist",
		"0 3 31 apr,jun *": "such a day does not exist",
	} {
		_, err := ParseSchedule(text)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, `write it like "03:30"`, text)
	}
	require.True(t, Schedule{}.Next(time.Now(), nil).IsZero(), "the zero schedule never calls")
}

func FuzzSchedule(f *testing.F) {
	for _, text := range []string{
		"03:30", "mon-fri 03:30", "*/20 22-23 1,15 * mon", "0 0 29 2 *",
		"5/25,9 * * jan-mar/2 0-7",
	} {
		f.Add(text, int64(1_790_000_000))
	}
	zone, err := time.LoadLocation("America/New_York")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string, at int64) {
		s, err := ParseSchedule(text)
		if err != nil {
			return
		}
		from := time.Unix(at%4_000_000_000, 0)
		if next := s.Next(from, zone); !next.IsZero() {
			require.True(t, next.After(from))
		}
	})
}
