package starter

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// A recent wake is left to the process that raised it only for a moment, even if the clock of its host runs ahead.
func TestAWakeOfAHostWithAClockAheadIsReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ahead    time.Duration
		reported bool
	}{{time.Hour, true}, {-time.Hour, true}, {retryUnrecorded / 2, false}, {-retryUnrecorded / 2, false}} {
		s, agent := build(t)
		store := s.Memory.(*sqlitestore.Store)
		h := newWakeClient()
		s.Client, s.Presence = h, store
		t.Cleanup(s.Close)
		_, err := store.Arrive(context.Background(), presence.Visit{
			Agent:  agent.ID,
			Client: "guest",
			Cause:  presence.Connect,
			Now:    tonight.Add(c.ahead),
			For:    time.Minute,
		})
		require.NoError(t, err)
		waking{s}.recordMissing(context.Background())
		s.recording.mu.Lock()
		waiting := len(s.recording.agents)
		s.recording.mu.Unlock()
		require.Equal(t, c.reported, waiting == 1, "%s ahead", c.ahead)
	}
}
