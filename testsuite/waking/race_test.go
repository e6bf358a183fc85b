package waking_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/waking"
)

// raceSize is how many races a proof has, and for how long it may last.
func raceSize() (int, time.Duration) {
	if full {
		return 100_000, 2 * time.Hour
	}
	return 2_000, patience
}

func openFile(t *testing.T) *sqlitestore.Store {
	t.Helper()
	return reopen(t, filepath.Join(t.TempDir(), "memory.db"))
}

// reopen opens a store as another process of the deployment would.
func reopen(t *testing.T, name string) *sqlitestore.Store {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// TestNoWakeIsLost proves decision 16: no activity continues after a client has connected, whatever it is doing then.
func TestNoWakeIsLost(t *testing.T) {
	t.Parallel()
	requireNoneLost(t, openFile(t))
}

func TestNoWakeIsLostOverRedis(t *testing.T) {
	t.Parallel()
	requireNoneLost(t, openRedis(t, redis.Prefix(t)))
}

// A connect in another process than the activity's: its notice arrives a little after the connect returns, but it
// arrives.
func TestNoWakeOfAnotherProcessIsLost(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "memory.db")
	app := reopen(t, name)
	score := runRaces(t, waking.Races{From: app}, reopen(t, name))
	if lost, garbled := app.DroppedNotices(); lost+garbled > 0 { // a socket may lose notices, and counts them
		t.Logf("the socket lost %d datagrams and could not parse %d", lost, garbled)
		return
	}
	require.Zero(t, score.Lost, "an activity never got the notice")
}

func TestNoWakeOfAnotherProcessIsLostOverRedis(t *testing.T) {
	t.Parallel()
	prefix := redis.Prefix(t)
	score := runRaces(t, waking.Races{From: openRedis(t, prefix)}, openRedis(t, prefix))
	require.Zero(t, score.Lost, "an activity never got the notice")
}

// openRedis opens a store in the shared Redis.
func openRedis(t *testing.T, prefix string) *redisstore.Store {
	t.Helper()
	store, err := redisstore.Open(t.Context(), redis.Shared(t).URL, redisstore.Prefix(prefix))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func requireNoneLost(t *testing.T, store waking.RaceStore) {
	t.Helper()
	score := runRaces(t, waking.Races{}, store)
	require.Zero(t, score.Lost, "a step began after the connect")
	for name, seen := range map[string]int{
		"never ran": score.Never, "was stopped": score.Stopped,
		"was refused": score.Refused, "was done before": score.Ended,
	} {
		require.Greater(t, seen, score.Total()/400, "an activity that %s must occur often", name)
	}
}

// runRaces runs them and checks what also holds between two processes.
func runRaces(t *testing.T, races waking.Races, store waking.RaceStore) waking.Score {
	t.Helper()
	if testing.Short() {
		t.Skip("a proof; make test runs it")
	}
	count, within := raceSize()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	began := time.Now()
	races.Seed, races.Count, races.Lanes = seed, count, 16
	score, err := races.Run(ctx, store)
	require.NoError(t, err)
	t.Logf("seed %d, %s: %s", seed, time.Since(began).Round(time.Millisecond), score)
	require.Equal(t, count, score.Total())
	require.Equal(t, count, score.Raised, "one epoch a race, however many clients")
	require.Zero(t, score.Written, "the store took a write of an older epoch")
	return score
}

// The negative control: each half of the order, reversed, loses wakes. The store's fence holds all the same.
func TestAReversedOrderLosesWakes(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string]waking.StepOrder{
		"notice first": waking.NoticeFirst, "read first": waking.ReadFirst,
		"both": waking.BothReversed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count, within := raceSize()
			ctx, cancel := context.WithTimeout(context.Background(), within)
			defer cancel()
			store, score := openFile(t), waking.Score{}
			// on a busy machine the order may happen to be right
			for round := uint64(0); round < 10 && score.Lost == 0; round++ {
				var err error
				score, err = waking.Races{
					Seed:      seed + round,
					Count:     min(count, 10_000),
					Lanes:     16,
					StepOrder: steps,
				}.Run(
					ctx,
					store,
				)
				require.NoError(t, err)
				t.Logf("seed %d: %s", seed+round, score)
			}
			require.Positive(t, score.Lost, "the control must lose wakes, or the proof proves nothing")
			require.Zero(t, score.Written)
		})
	}
}
