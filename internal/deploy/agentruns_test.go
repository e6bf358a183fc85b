package deploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/workflows"
)

// census is a Temporal server that counts what it is asked.
type census struct {
	mu                    sync.Mutex
	runs                  map[string]bool
	away                  error
	lagging               bool // what has begun is not listed yet
	counts, lists, starts int
}

func (*census) Paused(context.Context, string, string) (activities.Ending, time.Time, error) {
	return activities.Ending{}, time.Time{}, nil
}

func (*census) TellPaused(context.Context, dream.Agent, string, time.Time) error { return nil }

func (*census) ClusterID() string { return "" }

func (*census) Ended(context.Context, string, string) (activities.Ending, error) {
	return activities.Ending{}, nil
}

func (c *census) Running(_ context.Context, workflow, _ string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs[workflow], c.away
}

func (c *census) CountAgents(context.Context) (int64, error) {
	c.counts++
	if c.lagging {
		return 0, c.away
	}
	return int64(len(c.runs)), c.away
}

func (c *census) RunningAgentWorkflows(context.Context) (map[string]bool, error) {
	c.lists++
	if c.lagging {
		return map[string]bool{}, c.away
	}
	return maps.Clone(c.runs), c.away
}

func (c *census) EnsureWorkflow(_ context.Context, a dream.Agent) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away != nil {
		return c.away
	}
	c.starts++
	c.runs[workflows.AgentID(a.Handle)] = true
	return nil
}

func TestAgentsAtRestCostOneCallForAllOfThem(t *testing.T) {
	t.Parallel()
	var agents []dream.Agent
	for i := range 500 {
		agents = append(agents, dream.Agent{ID: fmt.Sprint(i), Handle: fmt.Sprint("a", i), Auto: i%2 == 0})
	}
	server := &census{runs: map[string]bool{}}
	r := newAgentRuns(server, server)
	failed := func(a dream.Agent, err error) { require.NoError(t, err, a.Handle) }
	for range 2 { // the second sees the new number
		require.NoError(t, r.pass(t.Context(), agents, failed))
	}
	require.Equal(t, 250, server.starts, "those that dream by themselves")
	counts, lists := server.counts, server.lists
	for range listEvery {
		require.NoError(t, r.pass(t.Context(), agents, failed))
	}
	require.Equal(t, counts+listEvery, server.counts)
	require.Equal(t, lists+1, server.lists)
	require.Equal(t, 250, server.starts)
}

func TestAnAgentsWorkflowRunsAndHasItsPresentSettings(t *testing.T) {
	t.Parallel()
	auto, plain := dream.Agent{ID: "1", Handle: "echo", Auto: true}, dream.Agent{ID: "2", Handle: "vega"}
	away := errors.New("Temporal is away")
	inZone, switched := auto, plain
	inZone.Zone, switched.Auto = "Europe/Berlin", true
	scheduled := auto
	scheduled.Triggers = []dream.Trigger{{Name: "night", Kind: dream.OnSchedule, Schedule: "03:00"}}
	for _, c := range []struct {
		name   string
		agent  dream.Agent
		before func(*census)
		want   int // calls
	}{
		{"nothing has changed", auto, func(*census) {}, 0},
		{"it was terminated", auto, func(c *census) { c.runs = map[string]bool{} }, 1},
		{"Temporal is away: what is not known is left alone", auto, func(c *census) { c.away = away }, 0},
		{"one that does not dream by itself needs none", plain, func(*census) {}, 0},
		{"its owner has switched it on", switched, func(*census) {}, 1},
		{"another zone", inZone, func(*census) {}, 1},
		{"a schedule", scheduled, func(*census) {}, 1},
		{
			"it does not dream by itself, but runs",
			dream.Agent{ID: "2", Handle: "vega", Zone: "Asia/Tokyo"},
			func(c *census) { c.runs["agent/vega"] = true }, 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := &census{runs: map[string]bool{}}
			r := newAgentRuns(server, server)
			failed := func(_ dream.Agent, err error) { require.ErrorIs(t, err, server.away) }
			require.NoError(t, r.pass(t.Context(), []dream.Agent{auto, plain}, failed))
			require.NoError(t, r.pass(t.Context(), []dream.Agent{auto, plain}, failed))
			before := server.starts
			c.before(server)
			require.ErrorIs(t, r.pass(t.Context(), []dream.Agent{c.agent}, failed), server.away)
			require.Equal(t, c.want, server.starts-before)
			server.away = nil
			require.NoError(t, r.pass(t.Context(), []dream.Agent{c.agent}, failed))
			require.Equal(t, c.want, server.starts-before, "once")
		})
	}
}

func TestAWorkflowThatCouldNotBeReachedIsTriedAgain(t *testing.T) {
	t.Parallel()
	server := &census{runs: map[string]bool{}, away: errors.New("Temporal is away")}
	r := newAgentRuns(server, server)
	var failures []string
	failed := func(a dream.Agent, _ error) { failures = append(failures, a.Handle) }
	agents := []dream.Agent{{ID: "1", Handle: "echo", Auto: true}, {ID: "2", Handle: "vega"}}
	require.ErrorIs(t, r.pass(t.Context(), agents, failed), server.away)
	require.ElementsMatch(t, []string{"echo", "vega"}, failures)
	server.away = nil
	require.NoError(t, r.pass(t.Context(), agents, failed))
	require.Equal(t, 1, server.starts, "one that does not dream by itself is not started because nothing is known")
}

func TestEditsReachAWorkflowThatTheListDoesNotShowYet(t *testing.T) {
	t.Parallel()
	server := &census{runs: map[string]bool{}}
	r := newAgentRuns(server, server)
	failed := func(a dream.Agent, err error) { require.NoError(t, err, a.Handle) }
	vega := dream.Agent{ID: "2", Handle: "vega"}
	require.NoError(t, r.pass(t.Context(), []dream.Agent{vega}, failed))
	server.lagging = true
	server.runs["agent/vega"] = true // woken by a client
	vega.Zone = "Asia/Tokyo"
	require.NoError(t, r.pass(t.Context(), []dream.Agent{vega}, failed))
	require.Equal(t, 1, server.starts)
}
