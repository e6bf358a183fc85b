package histories_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/histories"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/testsuite/week"
	"github.com/seed-56a03226/oneiros/workflows"
)

// TestRecordAnAgentWorkflowThatContinuesAsNewUnderSignals records a run of an agent's workflow on a server that
// suggests continue-as-new early: it was carried over during a dream, and ended by continuing as new under signals.
func TestRecordAnAgentWorkflowThatContinuesAsNewUnderSignals(t *testing.T) {
	t.Parallel()
	s := newEarlyScene(t, 60).startWorker()
	agent := s.addAgent("recorded-storm")
	agentState := workflows.AgentID(agent.Handle)
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	first, err := week.First(s.ctx, s.deployment.Client, agentState)
	require.NoError(t, err)
	storm := func() {
		for range 40 {
			require.NoError(t,
				s.deployment.Client.SignalWorkflow(s.ctx, agentState, "", workflows.SignalActive, time.Now()))
		}
	}
	storm() // over the first limit, during the dream
	_, err = s.deployment.Starter.Wake(s.ctx, starter.Connection{Agent: agent.Handle, Client: "guest"})
	require.NoError(t, err)
	require.NoError(t, s.deployment.Starter.Leave(s.ctx, agent.Handle, "guest"))
	require.Eventually(t, func() bool {
		_, err := s.deployment.Starter.Resume(s.ctx, agent.Handle)
		return err == nil
	}, time.Minute, 5*time.Millisecond)
	for range 2 {
		storm()
		alarm := workflows.Wake{Cause: presence.Alarm, Trigger: "feed/rule"}
		require.NoError(t, s.deployment.Client.SignalWorkflow(s.ctx, agentState, "", workflows.SignalAlarm, alarm))
		require.NoError(t, s.deployment.Client.SignalWorkflow(s.ctx, agentState, "", workflows.SignalSleep, nil))
		require.NoError(
			t,
			s.deployment.Client.SignalWorkflow(
				s.ctx,
				agentState,
				"",
				workflows.SignalSettings,
				s.deployment.Config.Settings,
			),
		)
	}
	require.NoError(t, s.deployment.Starter.Cancel(s.ctx, begun.Dream))
	result, err := s.deployment.Result(s.ctx, begun.Dream)
	require.NoError(t, err)
	require.Contains(t, []dream.Outcome{dream.Canceled, dream.Completed}, result.Outcome)
	var runs []week.Run
	require.Eventually(t, func() bool {
		runs, err = week.Runs(s.ctx, s.deployment.Client, agentState, first)
		return err == nil && len(runs) > 2
	}, time.Minute, 20*time.Millisecond)
	require.True(t, runs[1].Continued)
	s.saveRun(agentState, runs[1].ID, "agent-continued-under-signals")
}

// newEarlyScene has a server of its own that suggests continue-as-new after so many events.
func newEarlyScene(t *testing.T, events int) *scene {
	t.Helper()
	folder := recording(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	server := temporal.Start(t, temporal.InMemory(), temporal.WithContinueAfter(events))
	upstream, err := provider.Start(provider.Options{Seed: 40, Each: 10 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(upstream.Close)
	config := testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue: server.TaskQueue,
		Knobs: dream.DefaultKnobs(), Model: "script", Provider: upstream.URL,
	}
	resting(&config)
	deployment, err := testdeploy.Open(ctx, config, server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, deployment.Close()) })
	return &scene{
		t:          t,
		ctx:        ctx,
		folder:     folder,
		deployment: deployment,
		upstream:   upstream,
	}
}

func (s *scene) saveRun(workflow, run, name string) {
	file := filepath.Join(s.folder, name+".json.gz")
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		s.t.Logf("%s exists; a recorded history is never written over", file)
		return
	}
	require.NoError(s.t, histories.Save(s.ctx, s.deployment.Client, workflow, run, s.folder, name))
}
