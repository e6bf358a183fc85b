package starter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/workflows"
)

func TestAnAgentsStateIsRestoredFromTheStore(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	store := s.Memory.(*sqlitestore.Store)
	s.Presence = store
	now := tonight
	s.Now = func() time.Time { return now }

	state, err := drafter{s}.restored(t.Context(), agent)
	require.NoError(t, err)
	require.Equal(t, workflows.Sleeping, state.State, "nobody ever came")
	require.Equal(t, now, state.LastActive)

	ended := now.Add(-time.Hour)
	_, err = store.Commit(t.Context(), memory.Write{Agent: agent.ID, Cause: "test", Add: []dream.Item{&dream.Record{
		Head: dream.Head{
			ID:    "dream/echo/0001",
			Agent: agent.ID,
			Kind:  dream.KindRecord,
			At:    ended,
			State: dream.Live,
		},
		Outcome: dream.Completed, Ended: ended, Run: "run",
	}}})
	require.NoError(t, err)
	arrival, err := store.Arrive(t.Context(), presence.Visit{
		Agent:  agent.ID,
		Client: "web",
		Cause:  presence.Connect,
		Now:    now,
		For:    time.Minute,
	})
	require.NoError(t, err)

	state, err = drafter{s}.restored(t.Context(), agent)
	require.NoError(t, err)
	require.Equal(t, 1, state.Dreams)
	require.Equal(t, ended, state.LastDream.UTC())
	require.Equal(t, workflows.Sleeping, state.State, "a wake that is not recorded is told to the workflow again")
	require.Zero(t, state.Epoch)

	require.NoError(t, store.Recorded(t.Context(), agent.ID, arrival.Epoch))
	state, err = drafter{s}.restored(t.Context(), agent)
	require.NoError(t, err)
	require.Equal(t, workflows.Awake, state.State)
	require.Equal(t, arrival.Epoch, state.Epoch)
	require.Equal(t, arrival.Epoch, state.Greeted, "it was announced before")
	require.Equal(t, now, state.Until, "it looks at once who is still connected")

	now = now.Add(time.Hour)
	state, err = drafter{s}.restored(t.Context(), agent)
	require.NoError(t, err)
	require.Equal(t, workflows.Sleeping, state.State, "the lease has ended")
	require.Equal(t, tonight, state.LastActive.UTC(), "idleness counts from the last client")
}
