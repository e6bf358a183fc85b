package screen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// The timeline shows every state of a phase at every width.
func TestTheTimelineOfANight(t *testing.T) {
	t.Parallel()
	state := func(t dream.Tally, state, reason string) dream.Tally { t.State, t.Reason = state, reason; return t }
	all := tallies()
	free := tallies()
	for i := range free {
		free[i].Spent, free[i].Cached = 0, 0
	}
	early := all[0]
	early.Spent = 20_000
	early.Cycles = 2
	early.Kept = 2
	early.Calls = 11
	nights := []struct {
		name    string
		tallies []dream.Tally
		breaks  []screen.Break
	}{
		{"before it begins", nil, nil},
		{"in the onset", []dream.Tally{state(early, "running", "")}, nil},
		{"in replay", []dream.Tally{all[0], state(all[1], "running", "")}, nil},
		{"over", all, nil},
		{
			"without onset",
			[]dream.Tally{
				state(dream.Tally{Phase: dream.Onset}, "skipped", "budget"), all[1], all[2], all[3],
				all[4],
			},
			nil,
		},
		{
			"out of money",
			[]dream.Tally{
				all[0], state(all[1], "exhausted", "cap"),
				state(dream.Tally{Phase: dream.REM, Cap: 175_000}, "skipped", "exhausted"),
			},
			nil,
		},
		{
			"cancelled in replay, and a return that failed",
			[]dream.Tally{all[0], state(all[1], "stopped", "cancelled"), state(all[4], "failed", "")},
			nil,
		},
		{"free of charge", free, nil},
		{"a rich night", []dream.Tally{{
			Phase:  dream.Onset,
			State:  "ran",
			Calls:  170,
			Cycles: 20,
			Kept:   64,
			Spent:  99_999_999,
			Cap:    100 * budget.Dollar,
		}, {
			Phase: dream.NREM,
			State: "ran",
			Calls: 1200,
			Spent: 123_456_789,
			Cap:   budget.Unlimited,
		}}, nil},
		{
			"woken in replay, waiting",
			[]dream.Tally{all[0], state(all[1], "stopped", "")},
			[]screen.Break{{Phase: dream.NREM, Calls: 12, Open: true}},
		},
		{
			"resumed, woken again before imagination",
			[]dream.Tally{all[0], all[1]},
			[]screen.Break{{Phase: dream.NREM, Calls: 6}, {Phase: dream.REM, Open: true}},
		},
		{"over in three stretches", all, []screen.Break{{Phase: dream.Onset, Calls: 13}, {Phase: dream.Integration}}},
	}
	for file, st := range styles {
		var b strings.Builder
		for _, n := range nights {
			b.WriteString("# " + n.name + "\n" + screen.Timeline(n.tallies, st, n.breaks...) + "\n\n")
		}
		golden(t, "timeline-"+file, b.String())
	}
}

func TestSegmentsAreAsWideAsTheirShareWhereThereIsRoom(t *testing.T) {
	t.Parallel()
	line := strings.Split(screen.Timeline(tallies(), screen.Style{Width: 200}), "\n")[0]
	require.Len(t, []rune(line), 200)
	parts := strings.Split(strings.Trim(line, "|"), "|")
	require.Len(t, parts, 5)
	share := func(i int) float64 { return float64(len([]rune(parts[i]))) / 194 }
	require.InDelta(t, .10, share(0), .02)
	require.InDelta(t, .35, share(1), .02)
	require.InDelta(t, .35, share(2), .02)
	require.InDelta(t, .15, share(3), .02)
	require.Equal(t, 3, strings.Count(parts[0], "✶"), "a spark for each Dali interrupt")
	require.Equal(t, 5, strings.Count(parts[0], "•"), "a dot for each capture")
}

func TestARunningSegmentIsNeverFull(t *testing.T) {
	t.Parallel()
	for _, spent := range []budget.Micros{0, 1, 50_000, 60_000} {
		bar := strings.Split(
			screen.Timeline([]dream.Tally{{Phase: dream.Onset, State: "running", Cap: 50_000, Spent: spent}},
				screen.Style{Width: 80}), "|")[1]
		require.Contains(t, bar, "-", "%s", spent)
	}
}
