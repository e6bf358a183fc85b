package histories_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/triggers"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// called are the histories that show an agent's triggers.
var called = []string{"agent-urgent-and-called"}

// TestRecordAnAgentThatIsUrgentAndCalled records an agent that checks its urgency and its schedule, dreams early, is
// called by new episodes within the gap, and dreams when a person asks.
func TestRecordAnAgentThatIsUrgentAndCalled(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{}, func(p *testdeploy.Config) { p.Provider = "" }).startWorker()
	agent := s.addAgent("recorded-called")
	agent.Auto, agent.Triggers = true, []dream.Trigger{
		dream.IdleTrigger,
		{Name: "new-year", Kind: dream.OnSchedule, Schedule: "0 0 1 jan *"},
		{Name: "full", Kind: dream.OnEpisodes, Episodes: 1},
	}
	require.NoError(t, s.deployment.Store.PutAgent(s.ctx, agent))
	s.deployment.Starter.Options.Settings = workflows.Settings{
		IdleTimeout: time.Hour, MinGap: 24 * time.Hour,
		UrgencyRule: &circadian.UrgencyRule{Idle: time.Second, Urgent: .1, Uncertain: .1},
	}
	require.NoError(t, s.deployment.Starter.EnsureWorkflow(s.ctx, agent))
	until := func(is func(workflows.AgentState) bool) {
		t.Helper()
		require.Eventually(t, func() bool {
			agentState, err := s.deployment.Starter.AgentState(s.ctx, agent.Handle)
			return err == nil && is(agentState)
		}, time.Minute, 20*time.Millisecond)
	}
	until(func(l workflows.AgentState) bool {
		return l.Dreams == 1 && l.State == workflows.Sleeping && l.Triggering.Last.Kind == triggers.OnUrgency
	})
	fire := triggers.Fire{
		Trigger: "full",
		Kind:    dream.OnEpisodes,
		At:      time.Now(),
		Key:     "recorded",
		Reason:  "1 new episode",
	}
	require.NoError(t, s.deployment.Starter.Call(s.ctx, agent, fire))
	until(func(l workflows.AgentState) bool { return l.Triggering.Pending != nil })
	require.NoError(t,
		s.deployment.Starter.Call(s.ctx, agent,
			triggers.Fire{Trigger: "manual", Kind: dream.OnRequest, At: time.Now(), Reason: "a person asked"}))
	until(func(l workflows.AgentState) bool { return l.Dreams == 2 && l.State == workflows.Sleeping })
	s.save(workflows.AgentID(agent.Handle), "agent-urgent-and-called")
}

func TestAnAgentsTriggersHaveARecordedHistory(t *testing.T) {
	t.Parallel()
	for _, name := range called {
		require.Contains(t, files(t), "testdata/"+name+".json.gz")
	}
}
