package main

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// census says which workflows run.
type census struct {
	runs map[string]bool
	away error
}

func (census) Here() string { return "" }

func (c census) Running(_ context.Context, workflow, _ string) (bool, error) {
	return c.runs[workflow], c.away
}

func TestTheLifeOfAnAgentThatDreamsByItselfIsLookedForAgain(t *testing.T) {
	t.Parallel()
	auto, plain := dream.Agent{ID: "1", Handle: "echo", Auto: true}, dream.Agent{ID: "2", Handle: "vega"}
	told := map[string]bool{"1": true, "2": false}
	lives := census{runs: map[string]bool{"agent/echo": true}}
	require.True(t, settled(t.Context(), lives, auto, told))
	require.True(t, settled(t.Context(), census{away: errors.New("Temporal is away")}, auto, told), "what is not known is left alone")
	require.False(t, settled(t.Context(), census{}, auto, told), "it was terminated")
	require.True(t, settled(t.Context(), census{}, plain, told), "one that does not dream by itself needs none")
	plain.Auto = true
	require.False(t, settled(t.Context(), lives, plain, told), "its owner has changed it")
	require.False(t, settled(t.Context(), lives, auto, map[string]bool{}), "it has been told nothing yet")
}
