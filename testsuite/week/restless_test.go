package week_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/testsuite/week"
)

// TestAnAgentThatIgnoresTheIdleTimeIsDetected is the control of the week: the same day twice, once with an agent that
// dreams as soon as its client has left.
func TestAnAgentThatIgnoresTheIdleTimeIsDetected(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cast, err := week.UnvisitedAgents(2, time.Now().UTC())
	require.NoError(t, err)
	s := newScene(t, ctx)
	for i, sleeper := range cast {
		sleeper.Hours = week.Kinds[len(week.Kinds)-1] // any time, nine hours apart, after two idle ones
		sleeper.Hours.Jitter = 0
		sleeper.End = sleeper.Start.Add(13 * time.Hour)
		sleeper.Restless = i == 1
		sleeper.Visits = []week.Visit{{
			At:    sleeper.Start.Add(8*time.Hour + 50*time.Minute),
			Who:   "guest",
			Cause: presence.Connect,
			For:   time.Hour,
			Stays: 20 * time.Minute,
		}}
		require.NoError(t, s.AddAgent(ctx, sleeper))
	}
	agentStates := s.each(t, cast,
		func(sleeper *week.Sleeper) (*week.Observed, error) { return s.Run(ctx, sleeper, s.server.Namespace) })
	r := &report{outcomes: map[dream.Outcome]int{}, zones: map[string]int{}}
	calls := s.ByAgent()
	for i, sleeper := range cast {
		s.audit(t, ctx, sleeper, agentStates[i], calls[sleeper.Agent.Handle], limit, r)
	}
	require.Len(t, r.untimely, 1)
	require.Contains(t, r.untimely[0], cast[1].Agent.Handle)
	require.Contains(t, r.untimely[0], "and was due at")
}
