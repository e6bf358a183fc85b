package deploy

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// shelved is a store whose agents were active until some hour and have so many memories. It records whose memories
// are read.
type shelved struct {
	store
	agentStates map[string]struct{ hour, memories int }
	read        []string
}

func (s *shelved) Agents(context.Context) ([]dream.Agent, error) {
	var all []dream.Agent
	for id := range s.agentStates {
		all = append(all, dream.Agent{ID: id, Handle: id})
	}
	return all, nil
}

func (s *shelved) Find(_ context.Context, q memory.Query) ([]dream.Item, error) {
	agentState := s.agentStates[q.Agent]
	if agentState.memories == 0 {
		return nil, nil
	}
	at := time.Date(2026, 11, 20, agentState.hour, 0, 0, 0, time.UTC)
	return []dream.Item{
		&dream.Episode{Head: dream.Head{ID: "e", Agent: q.Agent, Kind: dream.KindEpisode, At: at}},
	}, nil
}

func (s *shelved) Count(_ context.Context, q memory.Query) (int, error) {
	return s.agentStates[q.Agent].memories, nil
}

func (s *shelved) Search(_ context.Context, q memory.Search) (memory.Found, error) {
	s.read = append(s.read, q.Agent)
	return memory.Found{}, nil
}

func TestMemoriesOfTheLastActiveAgentsAreReadAheadUpToABound(t *testing.T) {
	t.Parallel()
	s := &shelved{agentStates: map[string]struct{ hour, memories int }{
		"last":   {9, mostWarmed - 10},
		"before": {8, 10},
		"never":  {0, 0},
		"long":   {7, 1},
	}}
	h := &Deployment{store: openedStore{store: s}, log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	h.warm(t.Context())
	require.Equal(t, []string{"last", "before"}, s.read)
}
