package main

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// census reports which workflows run.
type census struct {
	runs map[string]bool
	away error
}

func (census) Here() string { return "" }

func (c census) Running(_ context.Context, workflow, _ string) (bool, error) {
	return c.runs[workflow], c.away
}

func TestTheWorkflowOfAnAgentThatDreamsByItselfIsLookedUpEachTime(t *testing.T) {
	t.Parallel()
	auto, plain := dream.Agent{ID: "1", Handle: "echo", Auto: true}, dream.Agent{ID: "2", Handle: "vega"}
	values := map[string]string{"1": recordSettings(auto), "2": recordSettings(plain)}
	executions := census{runs: map[string]bool{"agent/echo": true}}
	require.True(t, upToDate(t.Context(), executions, auto, values))
	require.True(t, upToDate(t.Context(), census{away: errors.New("Temporal is away")}, auto, values),
		"what is not known is left alone")
	require.False(t, upToDate(t.Context(), census{}, auto, values), "it was terminated")
	require.True(t, upToDate(t.Context(), census{}, plain, values), "one that does not dream by itself needs none")
	plain.Auto = true
	require.False(t, upToDate(t.Context(), executions, plain, values), "its owner has changed it")
	require.False(t, upToDate(t.Context(), executions, auto, map[string]string{}), "it has been sent nothing yet")
	for _, edit := range []func(*dream.Agent){
		func(a *dream.Agent) { a.Zone = "Europe/Berlin" },
		func(a *dream.Agent) { a.Triggers = []dream.Trigger{} },
		func(a *dream.Agent) {
			a.Triggers = []dream.Trigger{{Name: "night", Kind: dream.OnSchedule, Schedule: "03:00"}}
		},
	} {
		changed := auto
		edit(&changed)
		require.False(t, upToDate(t.Context(), executions, changed, values), "%+v", changed)
	}
}
