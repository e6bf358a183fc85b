// Package presencetest tests the contracts of presence.Store, together with memory.DreamStore, and of presence.WakeBus.
// Every store and every wake bus runs these suites.
package presencetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// Store keeps presence and memory together, because a wake changes slot, mood, digest and fence in one step.
type Store interface {
	presence.Store
	memory.DreamStore
}

type clause struct {
	name string
	run  func(*testing.T, Store)
}

// Run tests a store against the whole contract. open returns a new, empty store for each test and closes it at its end.
func Run(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for _, part := range [][]clause{visits, departures, wakes, digests, fences, slots, recordings, races} {
		for _, c := range part {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, open(t))
			})
		}
	}
}

// RunShared tests two handles on one deployment, as two processes have them.
func RunShared(t *testing.T, open func(t *testing.T) (one, other Store)) {
	t.Helper()
	for _, c := range sharings {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			one, other := open(t)
			c.run(t, one, other)
		})
	}
}

const (
	echo = "agent-echo"
	vega = "agent-vega"
)

// Visits of the suite take a lease of one minute and a lock of five seconds.
const (
	hold = time.Minute
	lock = 5 * time.Second
)

// dawn is the start time of all tests. It is far from the present, so that a store that reads a clock fails.
var dawn = time.Date(2003, 3, 1, 6, 0, 0, 0, time.UTC)

func at(after time.Duration) time.Time { return dawn.Add(after) }

func visit(client string, after time.Duration) presence.Visit {
	return presence.Visit{
		Agent:  echo,
		Client: client,
		Cause:  presence.Connect,
		Now:    at(after),
		For:    hold,
		Lock:   lock,
	}
}

func arrive(t *testing.T, s presence.Store, v presence.Visit) presence.Arrival {
	t.Helper()
	a, err := s.Arrive(t.Context(), v)
	require.NoError(t, err)
	return a
}

// raise visits and expects to wake the agent.
func raise(t *testing.T, s presence.Store, v presence.Visit) presence.Wake {
	t.Helper()
	a := arrive(t, s, v)
	require.True(t, a.Raised)
	return a.Wake
}

func status(t *testing.T, s presence.Store, after time.Duration) presence.Status {
	t.Helper()
	st, err := s.Status(t.Context(), echo, at(after))
	require.NoError(t, err)
	return st
}

func epoch(t *testing.T, s presence.Store) int64 {
	t.Helper()
	n, err := s.Epoch(t.Context(), echo)
	require.NoError(t, err)
	return n
}

func clients(leases []presence.Lease) []string {
	names := make([]string, 0, len(leases))
	for _, l := range leases {
		names = append(names, l.Client)
	}
	return names
}

// sleep takes the agent's slot for a dream and returns its fence, which names the agent's epoch.
func sleep(t *testing.T, s memory.DreamStore, dreamID string, after time.Duration) memory.Fence {
	t.Helper()
	got, err := s.TakeSlot(t.Context(), echo, slot(dreamID, after), memory.Fence{})
	require.NoError(t, err)
	return got.Fence
}

func slot(dreamID string, after time.Duration) memory.Slot {
	return memory.Slot{
		Fence: memory.Fence{Dream: dreamID, Run: "run-" + dreamID}, Workflow: "dream/" + dreamID,
		Since: at(after),
	}
}

func commit(ctx context.Context, s memory.DreamStore, w memory.Write) error {
	w.Agent = echo
	_, err := s.Commit(ctx, w)
	return err
}

// foresee writes the mood and digest that a wake would find.
func foresee(t *testing.T, s memory.DreamStore, f memory.Fence, affect *mood.PAD, digest ...string) {
	t.Helper()
	require.NoError(t,
		commit(t.Context(), s, memory.Write{Fence: f, OnWake: &memory.OnWake{Mood: affect, Digest: digest}}))
}

func affectOf(t *testing.T, s memory.DreamStore) mood.PAD {
	t.Helper()
	a, err := s.Affect(t.Context(), echo)
	require.NoError(t, err)
	return a.PAD
}

// together runs do n times concurrently and waits for all of them.
func together(t *testing.T, n int, do func(ctx context.Context, i int) error) {
	t.Helper()
	faults := make(chan error, n)
	for i := range n {
		go func() { faults <- do(t.Context(), i) }()
	}
	for range n {
		require.NoError(t, <-faults)
	}
}
