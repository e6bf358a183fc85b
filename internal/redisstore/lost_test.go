package redisstore_test

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func askFor(step string) spend.Ask {
	return spend.Ask{
		Step:     step,
		Agent:    "echo",
		Dream:    "dream/echo/1",
		Phase:    "onset",
		Model:    "m",
		Day:      "2026-03-01",
		Amount:   10,
		At:       noon,
		Accounts: []budget.Account{{Scope: "dream", Limit: budget.Unlimited}, {Scope: "day", Limit: budget.Dollar}},
	}
}

func visitNow() presence.Visit {
	return presence.Visit{
		Agent:  "echo",
		Client: "web",
		Cause:  presence.Connect,
		Now:    noon,
		For:    time.Minute,
		Lock:   5 * time.Second,
	}
}

// wire is a proxy between a store and its server. It closes the connection instead of delivering some replies.
type wire struct {
	url  string
	to   atomic.Pointer[string] // the server's address
	cuts atomic.Int64           // replies still to be lost
	lost atomic.Int64
}

func newWire(t *testing.T, server *redis.Server) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{url: "redis://" + l.Addr().String()}
	w.to.Store(&server.Address)
	var open sync.WaitGroup
	open.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", *w.to.Load())
			if err != nil {
				_ = near.Close()
				continue
			}
			open.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() })
			open.Go(func() { w.bring(near, far); _ = near.Close(); _ = far.Close() })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		open.Wait()
	})
	return w
}

func (w *wire) bring(near io.Writer, far io.Reader) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := far.Read(buffer)
		if err != nil {
			return
		}
		if w.cuts.Add(-1) >= 0 {
			w.lost.Add(1)
			return
		}
		if _, err := near.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// lose makes the next n replies get lost while do runs, and checks that they were.
func (w *wire) lose(t *testing.T, n int64, do func()) {
	t.Helper()
	w.lost.Store(0)
	w.cuts.Store(n)
	do()
	w.cuts.Store(0)
	require.Equal(t, n, w.lost.Load())
}

// Idle connections are closed before they are used again, so that each loss affects a reply: one connection, no wake
// bus.
func TestAStepWhoseReplyWasLostIsMadeOnce(t *testing.T) {
	t.Parallel()
	w := newWire(t, redis.Shared(t))
	s := open(t, w.url, redis.Prefix(t), redisstore.Connections(1), redisstore.Timeout(20*time.Second))
	l := s.Ledger()
	ctx := t.Context()
	warm(t, s)
	for round := range int64(3) {
		step := []string{"one", "two", "three"}[round]
		var hold spend.Hold
		var err error
		w.lose(t, round+1, func() { hold, err = l.Reserve(ctx, askFor(step)) })
		require.NoError(t, err)
		require.Equal(t, spend.Hold{Step: step, Attempt: 1, Amount: 10}, hold)
		again, err := l.Reserve(ctx, askFor(step))
		require.NoError(t, err)
		require.Equal(t, 2, again.Attempt, "a second call is a second attempt")
		w.lose(t, round+1, func() {
			err = l.Settle(ctx, hold, spend.Bill{State: spend.Settled, Amount: 3, Answer: []byte(step), At: noon})
		})
		require.NoError(t, err)
		var n int
		var sum budget.Micros
		w.lose(t, round+1, func() { n, sum, err = l.Close(ctx, "dream/echo/1", noon) })
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, budget.Micros(10), sum)
		require.Equal(t, spend.Balance{Spent: budget.Micros(13 * (round + 1))}, balanceOf(t, l, "day"))
		w.lose(t, round+1, func() { err = l.Allow(ctx, "echo", "2026-03-01", step, 5, budget.Dollar) })
		require.NoError(t, err)
		taken, err := l.Allowance(ctx, "echo", "2026-03-01")
		require.NoError(t, err)
		require.Equal(t, budget.Micros(5*(round+1)), taken)
		v := visitNow()
		v.Now = noon.Add(time.Duration(round) * time.Hour)
		var a presence.Arrival
		w.lose(t, round+1, func() { a, err = s.Arrive(ctx, v) })
		require.NoError(t, err)
		require.True(t, a.Raised, "the repeated visit still returns Raised")
		require.Equal(t, round+1, a.Epoch)
		a, err = s.Arrive(ctx, v)
		require.NoError(t, err)
		require.False(t, a.Raised)
	}
}

// warm makes the server load every script of the test, because an unknown script takes two replies.
func warm(t *testing.T, s *redisstore.Store) {
	t.Helper()
	l, ctx := s.Ledger(), t.Context()
	a := askFor("warm")
	a.Dream, a.Accounts = "warm", nil
	h, err := l.Reserve(ctx, a)
	require.NoError(t, err)
	require.NoError(t, l.Settle(ctx, h, spend.Bill{State: spend.Refused, At: noon}))
	_, _, err = l.Close(ctx, "warm", noon)
	require.NoError(t, err)
	require.NoError(t, l.Allow(ctx, "warm", "2026-03-01", "warm", 1, 1))
	v := visitNow()
	v.Agent = "warm"
	_, err = s.Arrive(ctx, v)
	require.NoError(t, err)
}

func balanceOf(t *testing.T, l spend.Ledger, scope string) spend.Balance {
	t.Helper()
	b, err := l.Balance(t.Context(), scope)
	require.NoError(t, err)
	return b
}

func TestScriptsAreLoadedAgainAfterAFlush(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	s := open(t, server.URL, "oneiros:")
	warm(t, s)
	require.NoError(t, server.Dial(t).ScriptFlush(t.Context()).Err())
	_, err := s.Reserve(t.Context(), askFor("step"))
	require.NoError(t, err)
}

func TestAFrozenServerTimesOutAndServesAgain(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	s := open(t, server.URL, "oneiros:", redisstore.Timeout(100*time.Millisecond))
	warm(t, s)
	server.Freeze()
	_, err := s.Reserve(t.Context(), askFor("frozen"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = s.Epoch(t.Context(), "echo")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	short, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	_, err = s.Arrive(short, visitNow())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	server.Thaw()
	patient := open(t, server.URL, "oneiros:")
	_, err = patient.Reserve(t.Context(), askFor("thawed"))
	require.NoError(t, err)
}
