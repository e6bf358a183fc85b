package presencetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

var sharings = []struct {
	name string
	run  func(t *testing.T, one, other Store)
}{
	{"AVisitThroughOneIsSeenByTheOther", visitSeenByOther},
	{"OneWakesTheDreamOfTheOther", wakesDreamOfOther},
	{"OneOfManyVisitsThroughBothRaises", oneRaisesThroughBoth},
	{
		"NoRaceThroughBothLetsAStretchOfAnOlderEpochWrite",
		func(t *testing.T, one, other Store) { raceHolds(t, one, other) },
	},
}

func visitSeenByOther(t *testing.T, one, other Store) {
	w := raise(t, one, visit("web", 0))
	a := arrive(t, other, visit("app", time.Second))
	require.False(t, a.Raised)
	require.Equal(t, w, a.Wake)
	require.Equal(t, status(t, one, time.Second), status(t, other, time.Second))
	require.Equal(t, []string{"app", "web"}, clients(status(t, one, time.Second).Leases))
	_, err := other.TakeSlot(t.Context(), echo, slot("echo/0001", time.Second), memory.Fence{})
	require.ErrorIs(t, err, memory.ErrAwake)
	st := depart(t, other, "web", 2*time.Second, lock)
	require.Equal(t, []string{"app"}, clients(st.Leases))
	require.Equal(t, st, status(t, one, 2*time.Second))
	require.NoError(t, other.Recorded(t.Context(), echo, 1))
	require.Empty(t, unrecorded(t, one))
	_, err = one.Dismiss(t.Context(), echo, at(3*time.Second))
	require.NoError(t, err)
	require.EqualValues(t, 2, raise(t, other, visit("web", 4*time.Second)).Epoch)
}

func wakesDreamOfOther(t *testing.T, one, other Store) {
	f := sleep(t, one, "echo/0001", 0)
	foresee(t, one, f, &joy, "entry")
	w := raise(t, other, visit("web", 0))
	require.Equal(t, joy, w.Affect)
	require.Equal(t, []string{"entry"}, w.Digest)
	require.ErrorIs(t, commit(t.Context(), one, remember(f, "late")), memory.ErrWoken)
	require.Equal(t, joy, affectOf(t, one))
	require.EqualValues(t, 1, epoch(t, one))
}

func oneRaisesThroughBoth(t *testing.T, one, other Store) {
	for round := range 4 {
		var raised atomic.Int32
		wakes := make([]presence.Wake, 12)
		together(t, len(wakes), func(ctx context.Context, i int) error {
			a, err := []Store{one, other}[i%2].Arrive(ctx, visit(fmt.Sprint(i), time.Duration(round)*time.Hour))
			if a.Raised {
				raised.Add(1)
			}
			wakes[i] = a.Wake
			return err
		})
		require.EqualValues(t, 1, raised.Load())
		for _, w := range wakes {
			require.Equal(t, wakes[0], w)
		}
	}
}
