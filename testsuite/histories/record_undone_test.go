package histories_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// TestRecordAnUndoneNight makes a dream lose ten of the agent's memories: it is undone when it ends.
func TestRecordAnUndoneNight(t *testing.T) {
	t.Parallel()
	var s *scene
	var agent dream.Agent
	var once sync.Once
	lose := func(provider.Arrival) provider.Fault {
		once.Do(func() {
			slots, err := s.deployment.Store.Slots(s.ctx)
			require.NoError(t, err)
			items, err := s.deployment.Store.Find(s.ctx,
				memory.Query{Agent: agent.ID, Kinds: []dream.Kind{dream.KindEpisode}, Limit: 10})
			require.NoError(t, err)
			for _, item := range items {
				item.Header().State = dream.Archived
			}
			_, err = s.deployment.Store.Commit(s.ctx,
				memory.Write{Agent: agent.ID, Cause: slots[agent.ID].Dream, Change: items})
			require.NoError(t, err)
		})
		return provider.None
	}
	s = newScene(t, provider.Options{Seed: 8, Plan: lose}, nil)
	agent = s.addAgent("recorded-undone")
	result := s.startWorker().night("dream-undone", s.request(agent), dream.Undone)
	require.Zero(t, result.Kept)
	require.Positive(t, result.Spent)
}
