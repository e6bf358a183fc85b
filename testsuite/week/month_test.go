package week_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/week"
)

// TestAgentStatesThatGoOnAsNewLoseNoNight lets nobody visit: the agents' lives skip freely, and go on as new every few
// nights, in the midst of dreams too, without losing a timer.
func TestAgentStatesThatGoOnAsNewLoseNoNight(t *testing.T) {
	t.Parallel()
	const suggested = 60 // events: about two nights' worth
	agents, nights := 3, 5
	if full {
		agents, nights = 12, 30
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	cast, err := week.Hermits(agents, time.Now().UTC())
	require.NoError(t, err)
	s := newSetting(t, ctx, temporal.WithContinueAfter(suggested))
	for _, hermit := range cast {
		require.NoError(t, s.Hire(ctx, hermit))
	}
	agentStates := s.each(t, cast, func(hermit *week.Sleeper) (*week.Lived, error) {
		return s.LiveAlone(ctx, hermit, s.server.Namespace, nights)
	})
	r := &report{outcomes: map[dream.Outcome]int{}, zones: map[string]int{}}
	calls := s.ByAgent()
	for i, hermit := range cast {
		s.audit(t, ctx, hermit, agentStates[i], calls[hermit.Agent.Handle], suggested, r)
	}
	require.Empty(t, r.untimely, "a dream that did not begin when it was due")
	s.nothingLeft(t, ctx)
	require.GreaterOrEqual(t, r.nights, agents*nights)
	require.GreaterOrEqual(t, r.continued, agents*nights/4, "lives went on as new")
	t.Logf("\n    %d agents, %d nights; the server suggests continue-as-new after %d events", agents, nights, suggested)
	r.print(t)
}
