package dreamrun

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
)

// Times that are unknown leave a phase out, and no phase is negative.
func TestTheFourPhasesOfAWake(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time {
		return time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
	}
	for _, c := range []struct {
		name string
		wake activities.Wake
		cuts []activities.CutCall
		want [4]int
	}{
		{
			"all clocks",
			activities.Wake{At: at(0), Raised: at(1)},
			[]activities.CutCall{{Stopped: at(3), Saved: at(6)}, {Stopped: at(4), Saved: at(5)}},
			[4]int{1, 3, 2, 4},
		},
		{
			"the notice came before the signal",
			activities.Wake{},
			[]activities.CutCall{{At: at(0), Raised: at(2), Stopped: at(3), Saved: at(4)}},
			[4]int{2, 1, 1, 6},
		},
		{"light", activities.Wake{At: at(0), Raised: at(1)}, nil, [4]int{1, 0, 0, 9}},
		{
			"another host's clock runs ahead",
			activities.Wake{At: at(0), Raised: at(8)},
			[]activities.CutCall{{Stopped: at(3), Saved: at(5)}},
			[4]int{8, 0, 2, 5},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			times := timesOf(activities.InterruptRequest{Cuts: c.cuts}, c.wake, at(10))
			got := [4]int{
				int(times.Receipt.Milliseconds()), int(times.Stop.Milliseconds()),
				int(times.Preserve.Milliseconds()), int(times.Switch.Milliseconds()),
			}
			require.Equal(t, c.want, got)
		})
	}
}
