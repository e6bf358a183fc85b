// Package fabrictest tests that an event log keeps the contract of fabric.Log. Every log runs this suite.
package fabrictest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Announcer is a log and the store whose commits fill it. They may be two handles on one deployment.
type Announcer struct {
	Log   fabric.Log
	Store memory.DreamStore
}

const echo = "agent-echo"

var dawn = time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)

// Run tests a log against the whole contract. open returns a new, empty one for each test and closes it at its end.
func Run(t *testing.T, open func(t *testing.T) Announcer) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, Announcer)
	}{
		{"EventsAreReadAsTheyWereWritten", comeBack},
		{"SequenceHasNoGapsAndRepeatsAreIgnored", noGaps},
		{"ConcurrentWritersLeaveNoGaps", noGapsAtOnce},
		{"AFailedWriteAnnouncesNothing", failedWriteIsSilent},
		{"EachAgentHasItsOwnSequence", ownSequence},
		{"AwaitReturnsImmediatelyForExistingEvents", awaitPast},
		{"AwaitReturnsForANewEvent", awaitFuture},
		{"AwaitEndsWithItsContext", awaitEnds},
		{"AFollowerSeesEveryEventOnce", followerSeesAll},
		{"AReaderContinuesWhereAnotherStopped", readerComesBack},
		{"HeadsReturnsTheNewestEventOfEveryAgent", heads},
		{"ASweepReadsEveryAgentInOrderAndOnce", sweepReadsAll},
		{"ASweepRetriesARefusedEvent", sweepGoesOn},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t))
		})
	}
}

func pattern(id string) event.Event {
	return event.New(id, echo, "echo/0001", dawn,
		event.PatternFound{Prediction: id, Confidence: .3, Direction: "forward"})
}

func announce(ctx context.Context, a Announcer, events ...event.Event) (memory.Receipt, error) {
	return a.Store.Commit(ctx, memory.Write{Agent: events[0].Agent, Cause: "test", Events: events})
}

func read(t *testing.T, a Announcer, after int64, limit int) []event.Event {
	t.Helper()
	events, err := a.Log.Events(t.Context(), echo, after, limit)
	require.NoError(t, err)
	return events
}

func comeBack(t *testing.T, a Announcer) {
	require.Empty(t, read(t, a, 0, 10))
	want := pattern("v1")
	want.At = dawn.Add(123456789 * time.Nanosecond)
	want.Data = json.RawMessage(`{ "spaced" : "<kept & exact>" }`)
	bare := event.Event{
		ID:        "v2",
		Agent:     echo,
		Schema:    event.Schema,
		Subsystem: "psyche",
		Type:      "Bare",
		At:        dawn,
	}
	r, err := announce(t.Context(), a, want, bare)
	require.NoError(t, err)
	require.EqualValues(t, 2, r.LastSeq)
	want.Seq, bare.Seq = 1, 2
	require.Equal(t, []event.Event{want, bare}, read(t, a, 0, 10))
}

func noGaps(t *testing.T, a Announcer) {
	for i := range 5 {
		// each commit repeats the second event of the one before
		first, second := pattern(fmt.Sprint("v", i)), pattern(fmt.Sprint("v", i+1))
		r, err := announce(t.Context(), a, first, second)
		require.NoError(t, err)
		require.EqualValues(t, i+2, r.LastSeq)
	}
	for after := range int64(7) {
		for i, e := range read(t, a, after, 3) {
			require.Equal(t, after+int64(i)+1, e.Seq)
			require.Equal(t, fmt.Sprint("v", e.Seq-1), e.ID)
		}
		require.Len(t, read(t, a, after, 3), int(min(3, max(0, 6-after))))
	}
}

func noGapsAtOnce(t *testing.T, a Announcer) {
	const writers, each = 8, 10
	faults := make(chan error, writers)
	for w := range writers {
		go func() {
			for i := range each {
				if _, err := announce(t.Context(), a, pattern(fmt.Sprintf("v-%d-%d", w, i)),
					pattern(fmt.Sprintf("both-%d", i))); err != nil {
					faults <- err
					return
				}
			}
			faults <- nil
		}()
	}
	for range writers {
		require.NoError(t, <-faults)
	}
	events := read(t, a, 0, 1000)
	require.Len(t, events, writers*each+each)
	for i, e := range events {
		require.EqualValues(t, i+1, e.Seq)
	}
}

func failedWriteIsSilent(t *testing.T, a Announcer) {
	_, err := a.Store.Commit(t.Context(),
		memory.Write{Agent: echo, Fence: memory.Fence{Dream: "d", Run: "r"}, Events: []event.Event{pattern("v1")}})
	require.ErrorIs(t, err, memory.ErrFenced)
	require.Empty(t, read(t, a, 0, 10))
	r, err := announce(t.Context(), a, pattern("v2"))
	require.NoError(t, err)
	require.EqualValues(t, 1, r.LastSeq)
}

func ownSequence(t *testing.T, a Announcer) {
	other := pattern("v1")
	other.Agent = "agent-vega"
	for _, e := range []event.Event{other, pattern("v1")} {
		r, err := announce(t.Context(), a, e)
		require.NoError(t, err)
		require.EqualValues(t, 1, r.LastSeq)
	}
	require.Len(t, read(t, a, 0, 10), 1)
}

func awaitPast(t *testing.T, a Announcer) {
	_, err := announce(t.Context(), a, pattern("v1"))
	require.NoError(t, err)
	require.NoError(t, a.Log.Await(t.Context(), echo, 0))
}

func awaitFuture(t *testing.T, a Announcer) {
	const followers = 5
	back := make(chan error, followers)
	for range followers {
		go func() { back <- a.Log.Await(t.Context(), echo, 0) }()
	}
	_, err := announce(t.Context(), a, pattern("v1"))
	require.NoError(t, err)
	for range followers {
		require.NoError(t, <-back)
	}
}

func awaitEnds(t *testing.T, a Announcer) {
	ctx, cancel := context.WithCancel(t.Context())
	back := make(chan error, 1)
	go func() { back <- a.Log.Await(ctx, echo, 0) }()
	cancel()
	require.ErrorIs(t, <-back, context.Canceled)
}

func followerSeesAll(t *testing.T, a Announcer) {
	const events = 60
	seen := make(chan []string, 1)
	fault := make(chan error, 1)
	go func() {
		var ids []string
		for after := int64(0); after < events; {
			if err := a.Log.Await(t.Context(), echo, after); err != nil {
				fault <- err
				return
			}
			got, err := a.Log.Events(t.Context(), echo, after, 7)
			if err != nil {
				fault <- err
				return
			}
			for _, e := range got {
				ids, after = append(ids, e.ID), e.Seq
			}
		}
		seen <- ids
	}()
	var want []string
	for i := range events {
		want = append(want, fmt.Sprint("v", i))
		_, err := announce(t.Context(), a, pattern(want[i]))
		require.NoError(t, err)
	}
	select {
	case ids := <-seen:
		require.Equal(t, want, ids)
	case err := <-fault:
		require.NoError(t, err)
	}
}
