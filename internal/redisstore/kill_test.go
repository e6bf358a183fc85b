package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/activities/port/spend/spendtest"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// acknowledged records what the store acknowledged.
type acknowledged struct {
	mu       sync.Mutex
	reserved map[string]bool
	settled  map[string]bool
	raised   map[string]int64 // by agent, the newest epoch
	failed   int
	changed  chan struct{}
}

func (d *acknowledged) note(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// work reserves, settles and visits until ctx ends, across every restart of the server.
func (d *acknowledged) work(ctx context.Context, s *redisstore.Store, worker int) {
	agent := fmt.Sprint("agent-", worker)
	for i := 0; ctx.Err() == nil; i++ {
		step := fmt.Sprintf("step-%d-%d", worker, i)
		h, err := s.Reserve(ctx, askFor(step))
		if err != nil {
			d.note(func() { d.failed++ })
			continue
		}
		d.note(func() { d.reserved[step] = true })
		if err := s.Settle(ctx, h,
			spend.Bill{State: spend.Settled, Amount: 7, Answer: []byte(step), At: noon}); err == nil {
			d.note(func() { d.settled[step] = true })
		}
		a, err := s.Arrive(ctx, presence.Visit{
			Agent:  agent,
			Client: "web",
			Cause:  presence.Connect,
			Now:    noon.Add(time.Duration(i) * time.Hour),
			For:    time.Minute,
		})
		if err == nil {
			d.note(func() { d.raised[agent] = a.Epoch })
		}
	}
}

// await returns when n more steps have been settled.
func (d *acknowledged) await(t *testing.T, n int) {
	t.Helper()
	d.mu.Lock()
	goal := len(d.settled) + n
	d.mu.Unlock()
	for {
		d.mu.Lock()
		done := len(d.settled) >= goal
		d.mu.Unlock()
		if done {
			return
		}
		select {
		case <-d.changed:
		case <-t.Context().Done():
			require.FailNow(t, "the store did not continue")
		}
	}
}

// The server is killed during writes and restarts from its file.
func TestAServerKilledDuringWritesLosesNoAcknowledgedStep(t *testing.T) {
	t.Parallel()
	const workers, kills = 4, 5
	server := redis.Start(t, redis.Fsync("always"))
	s := open(t, server.URL, "oneiros:", redisstore.Timeout(30*time.Second))
	d := &acknowledged{
		reserved: map[string]bool{}, settled: map[string]bool{}, raised: map[string]int64{},
		changed: make(chan struct{}, 1),
	}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	for worker := range workers {
		working.Go(func() { d.work(ctx, s, worker) })
	}
	for range kills {
		d.await(t, 50)
		server.Kill()
		server.Restart()
	}
	d.await(t, 50)
	stop()
	working.Wait()
	server.Restart()
	d.holds(t, s)
}

// holds compares the ledger with what was acknowledged, and checks its sums.
func (d *acknowledged) holds(t *testing.T, s *redisstore.Store) {
	t.Helper()
	rows, err := s.Rows(t.Context(), spend.Query{Dream: "dream/echo/1"})
	require.NoError(t, err)
	all, err := s.Rows(t.Context(), spend.Query{})
	require.NoError(t, err)
	require.Equal(t, all, rows)
	state, sums := map[string]spend.State{}, spend.Balance{}
	for _, r := range rows {
		require.NotContains(t, state, r.Step, "one call books once, even if its reply was lost")
		state[r.Step] = r.State
		if r.State == spend.Open {
			sums.Reserved += r.Counted
		} else {
			sums.Spent += r.Counted
		}
	}
	for _, scope := range []string{"dream", "day"} {
		require.Equal(t, sums, balanceOf(t, s.Ledger(), scope))
	}
	for step := range d.reserved {
		require.Contains(t, state, step)
	}
	for step := range d.settled {
		require.Equal(t, spend.Settled, state[step])
		answer, found, err := s.Ledger().Answer(t.Context(), step)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, step, string(answer))
	}
	untold, err := s.Unrecorded(t.Context())
	require.NoError(t, err)
	for agent, epoch := range d.raised {
		n, err := s.Epoch(t.Context(), agent)
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, epoch)
		require.Equal(t, n, untold[agent].Epoch)
	}
	t.Logf("%d reserved, %d settled and acknowledged; %d calls failed", len(d.reserved), len(d.settled), d.failed)
}

// Every call of CapHolds must succeed, so each one that a kill interrupted was repeated, and none counted twice
// (decision 1).
func TestTheCapHoldsWhileTheServerIsKilled(t *testing.T) {
	t.Parallel()
	server := redis.Start(t, redis.Fsync("always"))
	patient := redisstore.Timeout(30 * time.Second)
	here, there := open(t, server.URL, "oneiros:", patient), open(t, server.URL, "oneiros:", patient)
	held := make(chan error, 1)
	go func() { held <- spendtest.CapHolds(t.Context(), here.Ledger(), there.Ledger()) }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	kills, seen := 0, 0
	for {
		select {
		case err := <-held:
			require.NoError(t, err)
			require.NotZero(t, kills)
			t.Logf("killed %d times", kills)
			return
		case <-tick.C:
		}
		rows, err := there.Rows(t.Context(), spend.Query{})
		require.NoError(t, err)
		if len(rows) > seen+5 {
			server.Restart()
			kills, seen = kills+1, len(rows)
		}
	}
}

func TestAnImpatientCallerLearnsThatTheServerIsAway(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	s := open(t, server.URL, "oneiros:", redisstore.Timeout(50*time.Millisecond))
	server.Kill()
	_, err := s.Reserve(t.Context(), askFor("step"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.False(t, errors.Is(err, redisstore.ErrClosed))
	server.Restart()
	_, err = open(t, server.URL, "oneiros:").Reserve(t.Context(), askFor("step"))
	require.NoError(t, err)
}
