package alarm

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// nights are the ends of onsets, one entry per dream: c completed, a aborted, s skipped; several letters for several
// stretches.
func nights(dreams ...string) []event.Event {
	var events []event.Event
	for i, ends := range dreams {
		id := fmt.Sprintf("dream/echo/%04d", i+1)
		add := func(p event.Payload) { events = append(events, event.New("", "a1", id, start, p)) }
		add(event.DreamStarted{})
		for _, end := range ends {
			switch end {
			case 'c':
				add(event.OnsetCompleted{})
			case 'a':
				add(event.AlarmAbort{Trigger: "eth/price"})
			case 's':
				add(event.OnsetSkipped{})
			}
		}
	}
	return events
}

func TestTheAlarmFrequency(t *testing.T) {
	t.Parallel()
	many := func(n int, ends string) []string {
		var list []string
		for range n {
			list = append(list, ends)
		}
		return list
	}
	for _, c := range []struct {
		name   string
		dreams []string
		last   int
		want   Frequency
	}{
		{"no dream", nil, 30, Frequency{Verdict: Unknown}},
		{"only skipped onsets", []string{"s", "s"}, 30, Frequency{Verdict: Unknown}},
		{"none of twenty", many(20, "c"), 30, Frequency{Dreams: 20, Onsets: 20, Verdict: Healthy}},
		{"one of twenty is not below 5 %", append(many(19, "c"), "a"), 30, Frequency{
			Dreams:  20,
			Onsets:  20,
			Aborted: 1,
			Share:   .05,
			Verdict: Raised,
		}},
		{"three of twenty are not above 15 %", append(many(17, "c"), "a", "a", "a"), 30, Frequency{
			Dreams:  20,
			Onsets:  20,
			Aborted: 3,
			Share:   .15,
			Verdict: Raised,
		}},
		{"four of twenty", append(many(16, "c"), "a", "a", "a", "a"), 30, Frequency{
			Dreams:  20,
			Onsets:  20,
			Aborted: 4,
			Share:   .2,
			Verdict: TooMany,
		}},
		{
			"only the newest count", append(many(30, "a"), "c", "s", "c"), 2,
			Frequency{Dreams: 2, Onsets: 2, Verdict: Healthy},
		},
		{"a dream with two stretches counts both", []string{"a", "ac", "c"}, 2, Frequency{
			Dreams:  2,
			Onsets:  3,
			Aborted: 1,
			Share:   1.0 / 3,
			Verdict: TooMany,
		}},
		{"all", many(40, "a"), 0, Frequency{
			Dreams:  40,
			Onsets:  40,
			Aborted: 40,
			Share:   1,
			Verdict: TooMany,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, CountAlarmAborts(nights(c.dreams...), c.last))
		})
	}
}
