package memorytest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

var agents = []clause[memory.DreamStore]{
	{"AnAgentIsFoundByIdAndByHandle", agentIsFound},
	{"AHandleBelongsToOneAgent", handleBelongsToOne},
	{"AgentsAreListedByHandle", agentsByHandle},
	{"AnAgentThatHasDreamtKeepsItsHandle", dreamerKeepsHandle},
}

func agent(id, handle string) dream.Agent {
	return dream.Agent{
		ID:        id,
		Handle:    handle,
		Persona:   "Echo listens.",
		Interests: []string{"tides", "glass"},
		Zone:      "Europe/Berlin",
		Tier:      dream.Hardened,
		Models:    map[dream.Role]string{dream.Observer: "small"},
		Caps:      dream.DefaultCaps,
		Created:   dawn,
		Triggers: []dream.Trigger{
			dream.IdleTrigger,
			{Name: "nightly", Kind: dream.OnSchedule, Schedule: "mon-fri 03:30"},
		},
	}
}

func agentIsFound(t *testing.T, s memory.DreamStore) {
	_, err := s.Agent(t.Context(), "echo")
	require.ErrorIs(t, err, memory.ErrNotFound)
	want := agent("a1", "echo")
	require.NoError(t, s.PutAgent(t.Context(), want))
	for _, name := range []string{"a1", "echo"} {
		got, err := s.Agent(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, want, got)
		got.Interests[0], got.Models[dream.Observer] = "changed", "changed"
	}
	want.Handle, want.Persona = "murmur", "Murmur now."
	require.NoError(t, s.PutAgent(t.Context(), want))
	got, err := s.Agent(t.Context(), "murmur")
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = s.Agent(t.Context(), "echo")
	require.ErrorIs(t, err, memory.ErrNotFound)
}

func handleBelongsToOne(t *testing.T, s memory.DreamStore) {
	require.NoError(t, s.PutAgent(t.Context(), agent("a1", "echo")))
	require.ErrorIs(t, s.PutAgent(t.Context(), agent("a2", "echo")), memory.ErrTaken)
	_, err := s.Agent(t.Context(), "a2")
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.NoError(t, s.PutAgent(t.Context(), agent("a1", "other")))
	require.NoError(t, s.PutAgent(t.Context(), agent("a2", "echo")))
}

func dreamerKeepsHandle(t *testing.T, s memory.DreamStore) {
	require.NoError(t, s.PutAgent(t.Context(), agent("a1", "echo")))
	require.NoError(t, s.PutAgent(t.Context(), agent("a1", "murmur")))
	_, err := s.NextDream(t.Context(), "a1")
	require.NoError(t, err)
	err = s.PutAgent(t.Context(), agent("a1", "echo"))
	require.ErrorIs(t, err, memory.ErrDreamt)
	require.ErrorContains(t, err, `stored under "murmur"`)
	changed := agent("a1", "murmur")
	changed.Persona = "Murmur now."
	require.NoError(t, s.PutAgent(t.Context(), changed))
	got, err := s.Agent(t.Context(), "a1")
	require.NoError(t, err)
	require.Equal(t, changed, got)
	_, err = s.NextDream(t.Context(), "a2") // the counters may exist before the agent's record
	require.NoError(t, err)
	require.NoError(t, s.PutAgent(t.Context(), agent("a2", "vega")))
}

func agentsByHandle(t *testing.T, s memory.DreamStore) {
	none, err := s.Agents(t.Context())
	require.NoError(t, err)
	require.Empty(t, none)
	for _, a := range []dream.Agent{agent("1", "vega"), agent("2", "echo"), agent("3", "mira")} {
		require.NoError(t, s.PutAgent(t.Context(), a))
	}
	all, err := s.Agents(t.Context())
	require.NoError(t, err)
	require.Equal(t, []dream.Agent{agent("2", "echo"), agent("3", "mira"), agent("1", "vega")}, all)
}
