package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

func TestUrgentWritersGoFirstButNotForever(t *testing.T) {
	t.Parallel()
	var w priorityLock
	var served []string
	queue := func(n int) (turns []chan *dbConn) {
		for range n {
			turns = append(turns, make(chan *dbConn, 1))
		}
		return turns
	}
	w.urgent, w.plain = queue(2*maxUrgentTurns+1), queue(3)
	urgent, plain := append([]chan *dbConn{}, w.urgent...), append([]chan *dbConn{}, w.plain...)
	for l := (&dbConn{}); w.free == nil; {
		w.release(l)
		for name, turns := range map[string][]chan *dbConn{"u": urgent, "p": plain} {
			for _, turn := range turns {
				select {
				case <-turn:
					served = append(served, name)
				default:
				}
			}
		}
	}
	require.Equal(t, "uuuuuuuup"+"uuuuuuuup"+"up", join(served))
}

func join(letters []string) (word string) {
	for _, l := range letters {
		word += l
	}
	return word
}

func TestACancelledTurnPassesTheConnectionOn(t *testing.T) {
	t.Parallel()
	var w priorityLock
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.take(ended, nil, true)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, w.urgent)
	turn, l := make(chan *dbConn, 1), &dbConn{}
	turn <- l // the turn came just when it was given up
	w.cancel(&w.plain, turn)
	got, err := w.take(t.Context(), nil, false)
	require.NoError(t, err)
	require.Same(t, l, got)
}

// queuedWriteOn opens a store whose writing connection is held, so that writes queue up.
func queuedWriteOn(t *testing.T) (s *Store, letGo func()) {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "oneiros.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	l, err := s.writer.take(t.Context(), s.closed, true)
	require.NoError(t, err)
	return s, func() { s.writer.release(l) }
}

func (s *Store) send(t *testing.T, do func(*tx)) *queuedWrite {
	t.Helper()
	e := &queuedWrite{do: do, done: make(chan struct{})}
	require.True(t, s.writes.add(e, s.closed, func() { s.serve(&s.writes, true) }))
	return e
}

func TestAFailedWriteDoesNotUndoOthersOfItsBatch(t *testing.T) {
	t.Parallel()
	s, letGo := queuedWriteOn(t)
	fault := errors.New("refused")
	number := func(fail func()) func(*tx) {
		return func(d *tx) {
			l := d.counters("a")
			l.dreams++
			d.setCounters("a", l)
			if fail != nil {
				fail()
				d.fail(fault)
			}
		}
	}
	var good, bad, wild []*queuedWrite
	for range maxBatch { // more than fit into one transaction
		good = append(good, s.send(t, number(nil)))
		bad = append(bad, s.send(t, number(func() {})))
		wild = append(wild, s.send(t, number(func() { panic("a defect in it") })))
	}
	letGo()
	for i := range good {
		<-good[i].done
		require.NoError(t, good[i].err)
		<-bad[i].done
		require.ErrorIs(t, bad[i].err, fault)
		<-wild[i].done
		require.ErrorContains(t, wild[i].err, "a defect in it")
	}
	n, err := s.NextDream(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, maxBatch+1, n)
	alone := s.send(t, number(func() { panic("a defect in it") }))
	<-alone.done
	require.ErrorContains(t, alone.err, "a defect in it")
	n, err = s.NextDream(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, maxBatch+2, n)
}

func TestATransactionOfLedgerWritesEndsWhenAnUrgentWriterWaits(t *testing.T) {
	t.Parallel()
	s, letGo := queuedWriteOn(t)
	var made []string // the writing connection guards it
	var urgent *queuedWrite
	ledger := func(do func()) *queuedWrite {
		e := &queuedWrite{do: func(*tx) { do() }, done: make(chan struct{})}
		require.True(t, s.ledgerWrites.add(e, s.closed, func() { s.serve(&s.ledgerWrites, false) }))
		return e
	}
	first := ledger(func() {
		made = append(made, "ledger")
		urgent = &queuedWrite{do: func(*tx) { made = append(made, "urgent") }, done: make(chan struct{})}
		s.writes.add(urgent, s.closed, func() { s.serve(&s.writes, true) })
		for !s.writer.urgentWaits() {
			runtime.Gosched()
		}
	})
	rest := []*queuedWrite{}
	for range 3 {
		rest = append(rest, ledger(func() { made = append(made, "ledger") }))
	}
	letGo()
	for _, e := range append(rest, first) {
		<-e.done
		require.NoError(t, e.err)
	}
	<-urgent.done
	require.NoError(t, urgent.err)
	require.Equal(t, []string{"ledger", "urgent", "ledger", "ledger", "ledger"}, made)
}

func TestAWithdrawnWriteIsNotMade(t *testing.T) {
	t.Parallel()
	s, letGo := queuedWriteOn(t)
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error)
	go func() {
		_, err := s.Arrive(ctx, presence.Visit{
			Agent:  "a",
			Client: "web",
			Cause:  presence.Connect,
			Now:    time.Unix(1, 0),
			For:    time.Minute,
		})
		answer <- err
	}()
	cancel()
	require.ErrorIs(t, <-answer, context.Canceled)
	letGo()
	_, err := s.Depart(t.Context(), "b", "web", time.Unix(1, 0), 0) // queued after it
	require.NoError(t, err)
	epoch, err := s.Epoch(t.Context(), "a")
	require.NoError(t, err)
	require.Zero(t, epoch)
}

func TestWritesOfAClosingStoreAreRefused(t *testing.T) {
	t.Parallel()
	s, letGo := queuedWriteOn(t)
	e := s.send(t, func(*tx) {})
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	<-e.done
	require.ErrorIs(t, e.err, ErrClosed)
	letGo()
	require.NoError(t, <-closed)
	require.ErrorIs(t, s.writeUrgent(t.Context(), func(*tx) {}), ErrClosed)
}

func TestAVisitStopsWaitingForAnotherProcessWithItsCaller(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s, err := Open(t.Context(), path, BusyTimeout(time.Hour))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	other, err := Open(t.Context(), path, BusyTimeout(time.Millisecond))
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	visit := presence.Visit{
		Agent:  "a",
		Client: "web",
		Cause:  presence.Connect,
		Now:    time.Unix(1, 0),
		For:    time.Minute,
	}
	require.NoError(t, other.write(t.Context(), func(*tx) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := s.Arrive(ctx, visit)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}))
	require.NoError(t, s.write(t.Context(), func(*tx) {
		_, err := other.Arrive(t.Context(), visit)
		require.ErrorContains(t, err, "another writer")
	}))
	a, err := other.Arrive(t.Context(), visit)
	require.NoError(t, err)
	require.True(t, a.Raised)
	require.EqualValues(t, 1, a.Epoch)
	_, err = s.TakeSlot(t.Context(), "a", memory.Slot{Fence: memory.Fence{Dream: "d"}, Since: visit.Now},
		memory.Fence{})
	require.ErrorIs(t, err, memory.ErrAwake)
}

func TestReservationsThatShareATransactionKeepEveryCap(t *testing.T) {
	t.Parallel()
	s, letGo := queuedWriteOn(t)
	var all sync.WaitGroup
	var held, refused atomic.Int64
	for i := range 2 * maxBatch {
		all.Go(func() {
			_, err := s.Reserve(t.Context(), spend.Ask{
				Step: fmt.Sprintf("step-%d", i), Agent: "a", Dream: "d", Amount: 3,
				Accounts: []budget.Account{{Scope: "roomy", Limit: 1000}, {Scope: "tight", Limit: 100}},
			})
			if over, ok := spend.AsOverCap(err); ok && over.Scope == "tight" {
				refused.Add(1)
			} else if err == nil {
				held.Add(1)
			}
		})
	}
	letGo()
	all.Wait()
	require.EqualValues(t, 33, held.Load())
	require.EqualValues(t, 2*maxBatch-33, refused.Load())
	for _, scope := range []string{"roomy", "tight"} {
		b, err := s.Ledger().Balance(t.Context(), scope)
		require.NoError(t, err)
		require.Equal(t, spend.Balance{Reserved: 99}, b)
	}
	rows, err := s.Rows(t.Context(), spend.Query{Dream: "d"})
	require.NoError(t, err)
	require.Len(t, rows, 33, "a refused reservation leaves no row")
}
