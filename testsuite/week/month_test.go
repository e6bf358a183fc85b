package week_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/week"
)

// TestAgentWorkflowsThatContinueAsNewLoseNoDream has no clients: the agents' workflows skip freely, and continue as
// new every few nights, also during dreams, without losing a timer.
func TestAgentWorkflowsThatContinueAsNewLoseNoDream(t *testing.T) {
	t.Parallel()
	const suggested = 60 // events: about two nights' worth
	agents, nights := 3, 5
	if full {
		agents, nights = 12, 30
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	cast, err := week.UnvisitedAgents(agents, time.Now().UTC())
	require.NoError(t, err)
	s := newScene(t, ctx, temporal.WithContinueAfter(suggested))
	for _, hermit := range cast {
		require.NoError(t, s.AddAgent(ctx, hermit))
	}
	agentStates := s.each(t, cast, func(hermit *week.Sleeper) (*week.Observed, error) {
		return s.RunUnvisited(ctx, hermit, s.server.Namespace, nights)
	})
	r := &report{outcomes: map[dream.Outcome]int{}, zones: map[string]int{}}
	calls := s.ByAgent()
	for i, hermit := range cast {
		s.audit(t, ctx, hermit, agentStates[i], calls[hermit.Agent.Handle], suggested, r)
	}
	require.Empty(t, r.untimely, "a dream that did not begin when it was due")
	s.nothingLeft(t, ctx)
	require.GreaterOrEqual(t, r.nights, agents*nights)
	require.GreaterOrEqual(t, r.continued, agents*nights/4, "agent workflows continued as new")
	t.Logf("\n    %d agents, %d nights; the server suggests continue-as-new after %d events", agents, nights, suggested)
	r.print(t)
}
