package formats

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDatesAreReadInManyForms(t *testing.T) {
	t.Parallel()
	day := func(y int, m time.Month, d int) dated {
		return dated{
			year:  y,
			month: m,
			day:   d,
			clock: -1,
			full:  true,
		}
	}
	clock := func(d dated, h, min int) dated {
		d.clock = time.Duration(h)*time.Hour + time.Duration(min)*time.Minute
		return d
	}
	march := day(2024, 3, 5)
	for line, want := range map[string]dated{
		"2024-03-05":                        march,
		"2024/3/5":                          march,
		"2024.03.05":                        march,
		"5 March 2024":                      march,
		"5th of March, 2024":                march,
		"5. March 2024":                     march,
		"the 5th March 2024":                march,
		"March 5, 2024":                     march,
		"Mar. 5th 2024":                     march,
		"Tuesday, 5 March 2024":             march,
		"Tue 5 Mar 2024":                    march,
		"Tuesday, March 5, 2024":            march,
		"5.3.2024":                          march,
		"2024-03-05, Tuesday":               march,
		"2024-03-05 (Tuesday)":              march,
		"3/5/2024":                          march,
		"2024-03-05 14:30":                  clock(march, 14, 30),
		"2024-03-05T14:30:00Z":              clock(march, 14, 30),
		"March 5, 2024 at 2:30:07 PM GMT+1": clock(march, 14, 30),
		"5 March 2024, 12:05 am":            clock(march, 0, 5),
		"Tuesday, 5 March 2024, 7 p.m.":     clock(march, 19, 0),
		"29 February 2024":                  day(2024, 2, 29),
		"31/12/2023":                        day(2023, 12, 31),
		"5 March":                           {month: 3, day: 5, clock: -1},
		"Tuesday, March 5th":                {month: 3, day: 5, clock: -1},
	} {
		got, ok := dateLine(line, false, false)
		require.True(t, ok, line)
		want.rest = ""
		require.Equal(t, want, got, line)
	}
	for line, rest := range map[string]string{
		"2024-03-05: rain":             "rain",
		"2024-03-05 - rain":            "rain",
		"5 March 2024 — rain, 3 times": "rain, 3 times",
		"2024-03-05 14:30 - rain":      "rain",
		"2024-03-05 14:30: rain":       "rain",
		"3/5/2024 | rain":              "rain",
	} {
		got, ok := dateLine(line, false, false)
		require.True(t, ok, line)
		require.Equal(t, rest, got.rest, line)
	}
	for _, line := range []string{
		"2024-03-05 was a bad day", "5 March 2024 the rain came", "31 February 2024",
		"2024-13-01", "30/30/2024", "May I go", "1.2", "hello", "",
	} {
		_, ok := dateLine(line, false, false)
		require.False(t, ok, line)
	}
	got, ok := dateLine("2024-03-05 A walk", true, false)
	require.True(t, ok)
	require.Equal(t, "A walk", got.rest)
	got, _ = dateLine("3/5/2024", false, true)
	require.Equal(t, time.May, got.month)
}

func TestTimesAreReadInManyForms(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for raw, want := range map[string]time.Time{
		`"2026-01-02T03:04:05Z"`:          at,
		`"2026-01-02T05:04:05+02:00"`:     at,
		`"2026-01-02T04:04:05"`:           at, // Berlin is an hour ahead
		`"2026-01-02 04:04:05"`:           at,
		`"2026-01-02 04:04"`:              at.Add(-5 * time.Second),
		`"2026-01-02"`:                    time.Date(2026, 1, 1, 23, 0, 0, 0, time.UTC),
		`1767323045`:                      at,
		`"1767323045"`:                    at,
		`1767323045000`:                   at,
		`1767323045000000`:                at,
		`1767323045000000000`:             at,
		`1767323045.5`:                    at.Add(500 * time.Millisecond),
		`-1`:                              time.Unix(-1, 0).UTC(),
		`"Fri, 02 Jan 2026 03:04:05 GMT"`: at,
	} {
		got, err := readTime(json.RawMessage(raw), berlin)
		require.NoError(t, err, raw)
		require.Equal(t, want, got.at, raw)
		require.NotEmpty(t, got.stamp)
	}
	for _, raw := range []string{
		`"yesterday"`, `1e300`, `"1e300"`, `99999999999999999999`, `true`, `{}`, `"\ud800"`,
		`NaN`,
	} {
		_, err := readTime(json.RawMessage(raw), berlin)
		require.Error(t, err, raw)
	}
}

func TestFormatsAreDetected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, head string
		want       Format
	}{
		{"x.jsonl", `{"kind":"episode","at":"2026-01-01T00:00:00Z","content":"c"}`, JSONL},
		{"x", `{"at":"2026-01-01T00:00:00Z","content":"c"}`, JSONL},
		{"x.jsonl", "not json\n" + `{"messages":[{"role":"user"}]}`, Chat},
		{"x.jsonl", "", JSONL},
		{"x.jsonl", `{"role":"user","content":"c"}`, Chat},
		{"x.jsonl", `{"conversations":[{"from":"human","value":"v"}]}`, Chat},
		{"x.json", `[{"title":"t","create_time":1,"mapping":{"a":{"mess`, ChatGPT},
		{"x.json", `{"mapping":{},"current_node":"a"}`, ChatGPT},
		{"x.json", `[{"qa":[{"question":"conversation","answer":`, LoCoMo},
		{"x.json", ` [ {"sample_id":"s","conversation":{}}]`, LoCoMo},
		{"x.md", "# 2024-03-05\ntext", Diary},
		{"x.txt", "just text", Diary},
		{"x", "5 March 2024\ntext", Diary},
		{"x.md", "[link](there) and text", Diary},
	} {
		got, err := Detect(c.name, []byte(c.head))
		require.NoError(t, err, c.name+" "+c.head)
		require.Equal(t, c.want, got, c.name+" "+c.head)
	}
	for _, c := range [][2]string{{"x.json", `{"a":1}`}, {"x.json", `[1,2]`}, {"x.bin", "\x00\x01"}, {"x", ""}} {
		_, err := Detect(c[0], []byte(c[1]))
		require.ErrorContains(t, err, "(jsonl, chat, chatgpt, diary or locomo)")
	}
}
