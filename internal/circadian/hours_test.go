package circadian_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/circadian"
)

func TestInvalidHoursAreRefusedWithAHint(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"":                      "days, if any",
		"22:00 - 07:00":         "days, if any",
		"mon 22:00-07:00 often": "days, if any",
		"22-07":                 `"22-07" is not a time span`,
		"22:00":                 `"22:00" is not a time span`,
		"25:00-07:00":           "not a time span within 00:00 to 24:00",
		"22:60-07:00":           "not a time span within 00:00 to 24:00",
		"22:0-07:00":            "not a time span within 00:00 to 24:00",
		"22:00-24:01":           "not a time span within 00:00 to 24:00",
		"22:00-07:00-08:00":     "not a time span within 00:00 to 24:00",
		"+2:00-07:00":           "not a time span within 00:00 to 24:00",
		"24:00-07:00":           "a span cannot begin at 24:00",
		"07:00-07:00":           "a whole day is 00:00-24:00",
		"mo 22:00-07:00":        `"mo" is not a day or a range of days; days are mon, tue, wed`,
		"mon-fri- 22:00-07:00":  "is not a day or a range",
		"mon,,tue 22:00-07:00":  `"" is not a day`,
		"tomorrow":              "not a time span",
		strings.Repeat("x", 99): "xxx...",
	} {
		_, err := circadian.ParseHours([]string{"09:00-10:00", entry})
		require.ErrorContains(t, err, want, entry)
		require.ErrorContains(t, err, `write them like "22:00-07:00"`)
		require.NotContains(t, err.Error(), "09:00-10:00")
	}
	_, err := circadian.ParseHours([]string{"25:00-26:00", "mo 01:00-02:00"})
	require.ErrorContains(t, err, "25:00")
	require.ErrorContains(t, err, `"mo"`, "all faults at once")
	_, err = circadian.ParseHours(make([]string, 51))
	require.ErrorContains(t, err, "51 entries of hours are too many")
}

func TestSplitHours(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"":                                  nil,
		" , ":                               nil,
		"22:00-07:00":                       {"22:00-07:00"},
		"22:00-07:00, 13:00-14:00":          {"22:00-07:00", "13:00-14:00"},
		"sat,sun 00:00-10:00, 22:00-07:00,": {"sat,sun 00:00-10:00", "22:00-07:00"},
		"mon-wed, fri 22:00-07:00":          {"mon-wed,fri 22:00-07:00"},
		"22:00-07:00, sat":                  {"22:00-07:00", "sat"},
		"sat,,sun 00:00-10:00":              {"sat,,sun 00:00-10:00"},
	} {
		require.Equal(t, want, circadian.SplitHours(line), line)
	}
}

// A week of UTC by hours: Monday 2026-11-16 and on.
func TestHoursOfAWeek(t *testing.T) {
	t.Parallel()
	const day = 24
	for name, c := range map[string]struct {
		windows, quiet []string
		open           [][2]int // hours of the week
	}{
		"always": {nil, nil, [][2]int{{0, 7 * day}}},
		"nights": {
			[]string{"22:00-07:00"},
			nil,
			[][2]int{{0, 7}, {22, 31}, {46, 55}, {70, 79}, {94, 103}, {118, 127}, {142, 151}, {166, 168}},
		},
		"friday night":        {[]string{"fri 22:00-07:00"}, nil, [][2]int{{4*day + 22, 5*day + 7}}},
		"sunday night":        {[]string{"SUN 22:00-07:00"}, nil, [][2]int{{0, 7}, {166, 168}}},
		"weekend whole":       {[]string{"sat,sun 00:00-24:00"}, nil, [][2]int{{120, 168}}},
		"over the week's end": {[]string{"sat-mon 8:00-09:00"}, nil, [][2]int{{8, 9}, {128, 129}, {152, 153}}},
		"quiet only":          {nil, []string{"00:00-12:00", "mon-sat 12:00-24:00"}, [][2]int{{6*day + 12, 7 * day}}},
		"quiet wins": {
			[]string{"mon 08:00-20:00"},
			[]string{"10:00-11:00", "19:00-21:00"},
			[][2]int{{8, 10}, {11, 19}},
		},
		"quiet over two spans": {
			[]string{"mon 08:00-10:00", "mon 12:00-14:00"},
			[]string{"09:00-13:00"},
			[][2]int{{8, 9}, {13, 14}},
		},
		"joined": {
			[]string{"mon 08:00-10:00", "mon 09:00-11:00", "mon 11:00-12:00"},
			nil,
			[][2]int{{8, 12}},
		},
	} {
		windows, quiet := hours(t, c.windows...), hours(t, c.quiet...)
		require.NoError(t, circadian.Opens(windows, quiet), name)
		monday := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
		for minute := range 7 * day * 60 {
			want := false
			for _, span := range c.open {
				want = want || minute >= span[0]*60 && minute < span[1]*60
			}
			at := monday.Add(time.Duration(minute) * time.Minute)
			open, next := circadian.Open(at, nil, windows, quiet)
			require.Equal(t, want, open, "%s: %s", name, at)
			require.Equal(t, want, next.Equal(at), "%s: %s", name, at)
		}
	}
}

func TestHoursThatNeverOpenAreAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ windows, quiet []string }{
		"quiet all week":      {nil, []string{"00:00-24:00"}},
		"quiet in two halves": {nil, []string{"22:00-07:00", "07:00-22:00"}},
		"covered":             {[]string{"fri 22:00-07:00"}, []string{"20:00-23:59", "23:59-08:00"}},
	} {
		windows, quiet := hours(t, c.windows...), hours(t, c.quiet...)
		require.ErrorContains(t, circadian.Opens(windows, quiet), "no automatic dream could ever begin", name)
		open, next := circadian.Open(evening, time.UTC, windows, quiet)
		require.False(t, open)
		require.True(t, next.IsZero())
	}
}

func FuzzHours(f *testing.F) {
	for _, line := range []string{
		"22:00-07:00", "mon-fri 22:00-07:00", "sat,sun 00:00-10:00", "sun-sat 23:59-00:01, 1:00-02:00",
		"mon 00:00-24:00",
		"24:00-00:00", "mon,tue", "-", ":", "::-::", "fri-mon 9:30-9:29", "\x00", "mon 22:00-07:00", "٢٢:00-07:00",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		entries := circadian.SplitHours(line)
		h, err := circadian.ParseHours(entries)
		again, same := circadian.ParseHours(circadian.SplitHours(strings.Join(entries, ", ")))
		require.Equal(t, err == nil, same == nil)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.Equal(t, h, again, "splitting and joining keeps the meaning")
		require.Equal(t, len(entries) == 0, h.Empty())
		require.NoError(t, circadian.Opens(h, circadian.Hours{}), "windows alone always open")
		open, next := circadian.Open(evening, time.UTC, h, circadian.Hours{})
		require.Equal(t, open, next.Equal(evening))
		require.Less(t, next.Sub(evening), 7*24*time.Hour)
		if !open {
			open, _ = circadian.Open(next, time.UTC, h, circadian.Hours{})
			require.True(t, open)
		}
	})
}
