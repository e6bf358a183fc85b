package fabrictest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
)

// readerComesBack lets four writers append concurrently, while readers replace each other after every few events. A new
// reader knows only the number of the last event read.
func readerComesBack(t *testing.T, a Announcer) {
	const writers, each = 4, 25
	faults := make(chan error, writers)
	for w := range writers {
		go func() { faults <- writeInTurn(t.Context(), a, fmt.Sprint("w", w), each) }()
	}
	var seen []event.Event
	for place := int64(0); len(seen) < writers*each; place = seen[len(seen)-1].Seq {
		visit, leave := context.WithCancel(t.Context())
		seen = append(seen, readSome(t, visit, a.Log, place)...)
		leave()
	}
	for range writers {
		require.NoError(t, <-faults)
	}
	newest := map[string]int{}
	for i, e := range seen {
		require.EqualValues(t, i+1, e.Seq, "no gap and no duplicate")
		var writer string
		var number int
		_, err := fmt.Sscanf(e.ID, "%2s-%d", &writer, &number)
		require.NoError(t, err)
		require.Equal(t, newest[writer]+1, number, "the events of one writer keep their order")
		newest[writer] = number
	}
	require.Empty(t, read(t, a, int64(len(seen)), 10))
}

func writeInTurn(ctx context.Context, a Announcer, writer string, n int) error {
	for i := range n {
		if _, err := announce(ctx, a, pattern(fmt.Sprintf("%s-%d", writer, i+1))); err != nil {
			return err
		}
	}
	return nil
}

// readSome reads at least one event and at most five.
func readSome(t *testing.T, ctx context.Context, log fabric.Log, after int64) []event.Event {
	t.Helper()
	require.NoError(t, log.Await(ctx, echo, after))
	for {
		events, err := log.Events(ctx, echo, after, 5)
		require.NoError(t, err)
		if len(events) > 0 {
			return events
		}
		require.NoError(t, log.Await(ctx, echo, after)) // it may return without a new event
	}
}

// record creates agents, under handles of their own.
func record(t *testing.T, a Announcer, ids ...string) {
	t.Helper()
	for _, id := range ids {
		require.NoError(t, a.Store.PutAgent(t.Context(), dream.Agent{
			ID:      id,
			Handle:  id,
			Zone:    "UTC",
			Tier:    dream.Core,
			Created: dawn,
		}))
	}
}

func of(agent, id string) event.Event {
	e := pattern(id)
	e.Agent = agent
	return e
}

func heads(t *testing.T, a Announcer) {
	found, err := a.Log.Heads(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
	record(t, a, echo, "agent-vega", "agent-mute")
	for _, e := range []event.Event{of(echo, "v1"), of(echo, "v2"), of("agent-vega", "v1"), of(echo, "v2")} {
		_, err := announce(t.Context(), a, e)
		require.NoError(t, err)
	}
	found, err = a.Log.Heads(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int64{echo: 2, "agent-vega": 1}, found)
	found, err = a.Log.Heads(t.Context(), "agent-vega", "agent-mute", "nobody")
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"agent-vega": 1}, found)
}

func sweepReadsAll(t *testing.T, a Announcer) {
	agents := []string{"agent-a", "agent-b:c", "agent-d"}
	record(t, a, agents...)
	const each = 30
	faults := make(chan error, len(agents))
	for _, agent := range agents {
		go func() {
			for i := range each {
				if _, err := announce(t.Context(), a, of(agent, fmt.Sprint("v", i+1))); err != nil {
					faults <- err
					return
				}
			}
			faults <- nil
		}()
	}
	sweep := &fabric.Sweep{Log: a.Log}
	newest, all := map[string]int64{}, 0
	for all < each*len(agents) {
		require.NoError(t, sweep.Once(t.Context(), func(e event.Event) error {
			require.Equal(t, newest[e.Agent]+1, e.Seq)
			require.Equal(t, fmt.Sprint("v", e.Seq), e.ID)
			newest[e.Agent]++
			all++
			return nil
		}))
	}
	for range agents {
		require.NoError(t, <-faults)
	}
	require.Equal(t, newest, sweep.After)
	late := &fabric.Sweep{Log: a.Log}
	require.NoError(t, late.Skip(t.Context()))
	require.NoError(t,
		late.Once(t.Context(), func(e event.Event) error { return fmt.Errorf("%s is older than the sweep", e.ID) }))
}

func sweepGoesOn(t *testing.T, a Announcer) {
	record(t, a, echo)
	_, err := announce(t.Context(), a, pattern("v1"), pattern("v2"), pattern("v3"))
	require.NoError(t, err)
	full, seen := errors.New("full"), []string{}
	sweep := &fabric.Sweep{Log: a.Log}
	take := func(room int) func(event.Event) error {
		return func(e event.Event) error {
			if len(seen) == room {
				return full
			}
			seen = append(seen, e.ID)
			return nil
		}
	}
	require.ErrorIs(t, sweep.Once(t.Context(), take(1)), full)
	require.ErrorIs(t, sweep.Once(t.Context(), take(1)), full)
	require.NoError(t, sweep.Once(t.Context(), take(5)))
	require.True(t, slices.Equal([]string{"v1", "v2", "v3"}, seen), seen)
}
