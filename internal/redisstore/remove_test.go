package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// A removal that was interrupted after any of its steps leaves the agent listed and closed. The next one completes it
// and returns the counts of the first.
func TestAnInterruptedRemovalIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(t *testing.T, s *redisstore.Store){
		"after it has begun": func(t *testing.T, s *redisstore.Store) {
			t.Helper()
			require.NoError(t, redisstore.BeginRemoval(t.Context(), s, echo, noon))
		},
		"after the keys are gone": func(t *testing.T, s *redisstore.Store) {
			t.Helper()
			require.NoError(t, redisstore.BeginRemoval(t.Context(), s, echo, noon))
			require.NoError(t, redisstore.DropParts(t.Context(), s, echo))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, other := pair(t)
			a := dream.Agent{ID: echo, Handle: "echo"}
			require.NoError(t, s.PutAgent(t.Context(), a))
			write(t, s, memory.Write{
				Cause: "import", Add: []dream.Item{episode("e", "tides"), semantic("s", "glass", 0)},
				Events: []event.Event{event.New("ev", echo, "", noon, event.PatternFound{})},
			})
			cut(t, s)
			_, err := other.Agent(t.Context(), "echo")
			require.NoError(t, err, "it is still listed")
			late := memory.Write{Agent: echo, Cause: "import", Add: []dream.Item{episode("late", "late")}}
			_, err = other.Commit(t.Context(), late)
			require.ErrorIs(t, err, memory.ErrRemoving)
			require.ErrorIs(t, other.PutAgent(t.Context(), a), memory.ErrRemoving)
			_, err = other.Arrive(t.Context(), presence.Visit{
				Agent:  echo,
				Handle: "echo",
				Client: "laptop",
				Cause:  presence.Connect,
				Now:    noon,
				For:    time.Minute,
			})
			require.ErrorIs(t, err, memory.ErrNotFound)
			dropped, err := other.DropAgent(t.Context(), echo, noon)
			require.NoError(t, err)
			items := map[dream.Kind]int{dream.KindEpisode: 1, dream.KindSemantic: 1}
			want := memory.RemovalResult{Items: items, Events: 1}
			require.Equal(t, want, dropped)
			_, err = s.Agent(t.Context(), "echo")
			require.ErrorIs(t, err, memory.ErrNotFound)
			_, err = s.DropAgent(t.Context(), echo, noon)
			require.ErrorIs(t, err, memory.ErrNotFound)
		})
	}
}

// Two processes remove one agent, and between their steps the agent is created again: the slower one deletes nothing of
// the new agent.
func TestASlowRemovalSparesARecreatedAgent(t *testing.T) {
	t.Parallel()
	s, other := pair(t)
	a := dream.Agent{ID: echo, Handle: "echo"}
	require.NoError(t, s.PutAgent(t.Context(), a))
	write(t, s, memory.Write{Cause: "import", Add: []dream.Item{episode("e", "tides")}})
	require.NoError(t, redisstore.BeginRemoval(t.Context(), s, echo, noon))
	_, err := other.DropAgent(t.Context(), echo, noon)
	require.NoError(t, err)
	require.NoError(t, other.PutAgent(t.Context(), a))
	write(t, other, memory.Write{Cause: "import", Add: []dream.Item{episode("new", "glass")}})
	require.Error(t, redisstore.DropParts(t.Context(), s, echo))
	items, err := s.Get(t.Context(), echo, "new")
	require.NoError(t, err)
	require.Len(t, items, 1)
}

func TestARemovedAgentLeavesOneKey(t *testing.T) {
	t.Parallel()
	url, prefix := redis.Shared(t).URL, redis.Prefix(t)
	s := open(t, url, prefix)
	require.NoError(t, s.PutAgent(t.Context(), dream.Agent{ID: echo, Handle: "echo"}))
	write(t, s, memory.Write{
		Cause:   "import",
		Add:     []dream.Item{episode("e", "tides")},
		Vectors: []memory.Vector{{Item: "e", Space: "flat/2", V: []float32{1, 0}}},
	})
	require.NoError(t, s.PutBackground(t.Context(), echo, "talk", memory.Background{At: noon}))
	require.NoError(t, memory.NoteUse(t.Context(), s, echo, noon, "e"))
	_, err := s.DropAgent(t.Context(), echo, noon)
	require.NoError(t, err)
	keys, err := redis.Shared(t).Dial(t).Keys(t.Context(), prefix+"a:*").Result()
	require.NoError(t, err)
	require.Equal(t, []string{prefix + "a:" + echo + ":life"}, keys)
}
