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

// racing is how many races a proof has, and for how long it may last.
func racing() (int, time.Duration) {
	if full {
		return 100_000, 2 * time.Hour
	}
	return 2_000, patience
}

func file(t *testing.T) *sqlitestore.Store {
	t.Helper()
	return reopen(t, filepath.Join(t.TempDir(), "memory.db"))
}

// reopen opens a store as one more process of the deployment would.
func reopen(t *testing.T, name string) *sqlitestore.Store {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// TestNoWakeIsLost proves decision 16: whatever a deed is doing when somebody knocks, nothing of it goes on after the
// knock.
func TestNoWakeIsLost(t *testing.T) {
	t.Parallel()
	holdRaces(t, file(t))
}

func TestNoWakeIsLostOverRedis(t *testing.T) {
	t.Parallel()
	holdRaces(t, hash(t, redis.Prefix(t)))
}

// A knock in another process than the deed's: its bell comes a little later than the knock returns, and comes.
func TestNoWakeOfAnotherProcessIsLost(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "memory.db")
	app := reopen(t, name)
	score := playRaces(t, waking.Races{From: app}, reopen(t, name))
	if lost, garbled := app.DroppedNotices(); lost+garbled > 0 { // a bell may lose rings, and tells
		t.Logf("the bell lost %d datagrams and could not read %d", lost, garbled)
		return
	}
	require.Zero(t, score.Lost, "a deed was never told of the knock")
}

func TestNoWakeOfAnotherProcessIsLostOverRedis(t *testing.T) {
	t.Parallel()
	prefix := redis.Prefix(t)
	score := playRaces(t, waking.Races{From: hash(t, prefix)}, hash(t, prefix))
	require.Zero(t, score.Lost, "a deed was never told of the knock")
}

// hash opens a store in the shared Redis.
func hash(t *testing.T, prefix string) *redisstore.Store {
	t.Helper()
	store, err := redisstore.Open(t.Context(), redis.Shared(t).URL, redisstore.Prefix(prefix))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func holdRaces(t *testing.T, ground waking.Ground) {
	t.Helper()
	score := playRaces(t, waking.Races{}, ground)
	require.Zero(t, score.Lost, "a step began after the knock")
	for name, seen := range map[string]int{
		"never ran": score.Never, "was stopped": score.Stopped,
		"was refused": score.Refused, "was done before": score.Ended,
	} {
		require.Greater(t, seen, score.Total()/400, "a deed that %s must be met often", name)
	}
}

// playRaces plays them and checks what holds from afar too.
func playRaces(t *testing.T, races waking.Races, ground waking.Ground) waking.Score {
	t.Helper()
	if testing.Short() {
		t.Skip("a proof; make test runs it")
	}
	count, within := racing()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	began := time.Now()
	races.Seed, races.Count, races.Lanes = seed, count, 16
	score, err := races.Run(ctx, ground)
	require.NoError(t, err)
	t.Logf("seed %d, %s: %s", seed, time.Since(began).Round(time.Millisecond), score)
	require.Equal(t, count, score.Total())
	require.Equal(t, count, score.Raised, "one epoch a race, however many visitors")
	require.Zero(t, score.Written, "the store took a write of an older epoch")
	return score
}

// The negative control: each half of the order, turned round, loses wakes. The store's fence holds all the same.
func TestTheOrderTurnedRoundLosesWakes(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]waking.Order{
		"ring first": waking.NoticeFirst, "read first": waking.ReadFirst,
		"both": waking.BothTurned,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count, within := racing()
			ctx, cancel := context.WithTimeout(context.Background(), within)
			defer cancel()
			ground, score := file(t), waking.Score{}
			// a busy machine may happen to order things well
			for round := uint64(0); round < 10 && score.Lost == 0; round++ {
				var err error
				score, err = waking.Races{Seed: seed + round, Count: min(count, 10_000), Lanes: 16, Order: order}.Run(
					ctx, ground)
				require.NoError(t, err)
				t.Logf("seed %d: %s", seed+round, score)
			}
			require.Positive(t, score.Lost, "the control must lose wakes, or the proof proves nothing")
			require.Zero(t, score.Written)
		})
	}
}
