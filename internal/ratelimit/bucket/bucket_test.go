package bucket_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/ratelimit"
	"github.com/seed-56a03226/oneiros/internal/ratelimit/bucket"
)

var dawn = time.Date(2026, 11, 20, 7, 0, 0, 0, time.UTC)

// table is one with a clock that stands until it is moved.
func table() (t *bucket.Table, pass func(time.Duration)) {
	now := dawn
	return bucket.New(func() time.Time { return now }), func(d time.Duration) { now = now.Add(d) }
}

func TestAMinutesWorthIsTakenAndComesBackEvenly(t *testing.T) {
	t.Parallel()
	all, pass := table()
	for n := range 3 {
		left, taken := all.Take("ann", 3)
		require.True(t, taken)
		require.Equal(t, 2-n, left.Remaining)
		require.Equal(t, time.Duration(n+1)*20*time.Second, left.Reset)
	}
	left, taken := all.Take("ann", 3)
	require.False(t, taken)
	require.Equal(t, ratelimit.State{Limit: 3, Wait: 20 * time.Second, Reset: time.Minute, At: dawn}, left)
	_, taken = all.Take("bob", 3)
	require.True(t, taken, "each caller has its own")
	pass(20 * time.Second)
	_, taken = all.Take("ann", 3)
	require.True(t, taken)
	_, taken = all.Take("ann", 3)
	require.False(t, taken)
}

func TestWhatWasUsedTooMuchIsMadeUpFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		used, remaining int
		wait            time.Duration
	}{
		{0, 100, 0},
		{40, 60, 0},
		{99, 1, 0},
		{100, 0, 600 * time.Millisecond},
		{150, 0, 30*time.Second + 600*time.Millisecond},
		{1000, 0, 9*time.Minute + 600*time.Millisecond},
		{6000, 0, 59*time.Minute + 600*time.Millisecond},
		{1 << 60, 0, 59*time.Minute + 600*time.Millisecond},
	} {
		t.Run(fmt.Sprint(c.used), func(t *testing.T) {
			t.Parallel()
			all, pass := table()
			all.Use("ann", 100, c.used)
			left := all.Left("ann", 100)
			require.Equal(t, c.remaining, left.Remaining)
			require.InDelta(t, float64(c.wait), float64(left.Wait), float64(time.Millisecond))
			pass(left.Wait)
			require.Zero(t, all.Left("ann", 100).Wait.Round(time.Millisecond))
			pass(time.Hour)
			require.Equal(t, 100, all.Left("ann", 100).Remaining)
		})
	}
}

func TestAnotherLimitAppliesToWhatWasUsed(t *testing.T) {
	t.Parallel()
	all, _ := table()
	all.Use("ann", 100, 100)
	require.NotZero(t, all.Left("ann", 50).Wait)
	require.NotZero(t, all.Left("ann", 200).Wait, "switching keys gains nothing")
}

// A table forgets those first to whom all is left.
func TestATableHasRoomForManyCallers(t *testing.T) {
	t.Parallel()
	all, _ := table()
	all.Use("first", 10, 50)
	for n := range 20_000 {
		all.Left(fmt.Sprint(n), 10)
	}
	require.NotZero(t, all.Left("first", 10).Wait)
	for n := range 20_000 {
		all.Use(fmt.Sprint("busy ", n), 10, 50)
	}
	_, taken := all.Take("last", 10)
	require.True(t, taken)
}
