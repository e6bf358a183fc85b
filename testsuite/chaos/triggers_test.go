package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/triggers"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// TestTriggersSurviveTheirWorker kills the only worker once the next call of a schedule is recorded, lets that minute
// pass without any worker, and adds new episodes meanwhile. The next worker starts one dream for each agent.
func TestTriggersSurviveTheirWorker(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a minute of the clock on a real Temporal server; make test runs it")
	}
	s := openScene(t, false, nil, func(p *testdeploy.Config) {
		p.Provider = "" // the built-in model, which costs nothing
		p.Settings = workflows.Settings{MinGap: 24 * time.Hour}
	})
	employ := func(name string, trigger dream.Trigger) dream.Agent {
		agent, err := s.deployment.AddAgent(s.ctx, 0, name)
		require.NoError(t, err)
		agent.Auto, agent.Triggers = true, []dream.Trigger{trigger}
		require.NoError(t, s.deployment.Store.PutAgent(s.ctx, agent))
		require.NoError(t, s.deployment.Starter.EnsureWorkflow(s.ctx, agent))
		return agent
	}
	agentState := func(a dream.Agent) workflows.AgentState {
		l, err := s.deployment.Starter.AgentState(s.ctx, a.Handle)
		require.NoError(t, err)
		return l
	}
	timely := employ("timely", dream.Trigger{Name: "minutely", Kind: dream.OnSchedule, Schedule: "* * * * *"})
	full := employ("full", dream.Trigger{Name: "full", Kind: dream.OnEpisodes, Episodes: 20})
	var noted time.Time
	require.Eventually(t, func() bool {
		if made := agentState(timely).Triggering.Appointments; len(made) == 1 {
			noted = made[0].At
		}
		// not so late in the minute that the schedule calls at once
		return !noted.IsZero() && time.Until(noted) > 5*time.Second
	}, 2*time.Minute, 50*time.Millisecond)
	s.crew.Kill(0)
	listener := func() *triggers.Listener {
		return &triggers.Listener{
			Memory: s.deployment.Store, Events: s.deployment.Store, Calls: s.deployment.Starter,
			Now: time.Now,
		}
	}
	first := listener()
	for range 2 {
		passed, err := first.Listen(s.ctx)
		require.NoError(t, err)
		require.LessOrEqual(t, passed, 1)
	}
	passed, err := listener().Listen(s.ctx) // by the next worker, which has no state in memory
	require.NoError(t, err)
	require.Equal(t, 1, passed)
	require.Eventually(t, func() bool { return time.Now().After(noted.Add(time.Second)) }, 2*time.Minute,
		100*time.Millisecond)
	require.NoError(t, s.crew.Replace(0))
	for _, c := range []struct {
		agent   dream.Agent
		trigger string
	}{{timely, "minutely"}, {full, "full"}} {
		require.Eventually(t, func() bool {
			l, err := s.deployment.Starter.AgentState(s.ctx, c.agent.Handle)
			return err == nil && l.Dreams == 1 && l.State == workflows.Sleeping
		}, 2*time.Minute, 50*time.Millisecond, c.trigger)
		l := agentState(c.agent)
		require.Equal(t, c.trigger, l.Triggering.Last.Trigger)
		require.Empty(t, l.LastReason)
		records := s.nights(c.agent)
		require.Len(t, records, 1)
		require.NotNil(t, records[0].Episodes)
		require.Positive(t, *records[0].Episodes)
	}
	require.Nil(t, agentState(full).Triggering.Pending, "two notices cause one call")
	last, err := first.Listen(s.ctx)
	require.NoError(t, err)
	require.Zero(t, last, "the dream has seen them all")
}

func (s *scene) nights(a dream.Agent) []*dream.Record {
	s.t.Helper()
	items, err := s.deployment.Store.Find(s.ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}})
	require.NoError(s.t, err)
	return memory.As[*dream.Record](items)
}
