package starter

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// A wake is left to whoever raised it for a moment only, on a host whose clock runs ahead too.
func TestAWakeOfAHostWhoseClockRunsAheadIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ahead time.Duration
		told  bool
	}{{time.Hour, true}, {-time.Hour, true}, {retell / 2, false}, {-retell / 2, false}} {
		s, agent := build(t)
		store := s.Memory.(*sqlitestore.Store)
		h := newHearer()
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
		s.recordUntold(context.Background())
		s.recording.mu.Lock()
		waiting := len(s.recording.agents)
		s.recording.mu.Unlock()
		require.Equal(t, c.told, waiting == 1, "%s ahead", c.ahead)
	}
}
