package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

const echo = "agent-echo"

func episode(id, content string) *dream.Episode {
	return &dream.Episode{
		Head: dream.Head{
			ID:    id,
			Agent: echo,
			Kind:  dream.KindEpisode,
			At:    noon,
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: content, Salience: .5,
	}
}

func semantic(id, content string, strength float64) *dream.Semantic {
	return &dream.Semantic{
		Head: dream.Head{
			ID:    id,
			Agent: echo,
			Kind:  dream.KindSemantic,
			At:    noon,
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: content, Strength: strength, Due: noon.Add(time.Hour),
	}
}

func write(t *testing.T, s memory.Store, w memory.Write) memory.Receipt {
	t.Helper()
	w.Agent = echo
	r, err := s.Commit(t.Context(), w)
	require.NoError(t, err)
	return r
}

func announce(t *testing.T, s memory.Store, id string) {
	t.Helper()
	write(t, s, memory.Write{Cause: "d1", Events: []event.Event{event.New(id, echo, "d1", noon, event.PatternFound{})}})
}
