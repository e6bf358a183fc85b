package week_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/week"
	"github.com/seed-56a03226/oneiros/workflows"
)

// TestAnAgentWorkflowThatContinuesAsNewUnderLoadLosesNoSignal sends wakes of rising epochs, settings and updates all
// at once while the workflow continues as new again and again. Every epoch must be counted, once.
func TestAnAgentWorkflowThatContinuesAsNewUnderLoadLosesNoSignal(t *testing.T) {
	t.Parallel()
	const suggested = 60
	storm := 400
	if full {
		storm = 4000
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	cast, err := week.UnvisitedAgents(1, time.Now().UTC())
	require.NoError(t, err)
	s := newScene(t, ctx, temporal.WithContinueAfter(suggested))
	agent := cast[0].Agent
	agent.Auto = false
	require.NoError(t, s.AddAgent(ctx, cast[0]))
	app := s.Base.Starter
	require.NoError(t, app.EnsureWorkflow(ctx, agent))
	agentState := workflows.AgentID(agent.Handle)
	first, err := week.First(ctx, s.client, agentState)
	require.NoError(t, err)

	senders := []func() error{
		func() error { // epochs 1, 2, 3, … as visits raise them, each sent twice: the second time changes nothing
			for range storm {
				wake, err := s.raise(ctx, agent.ID)
				for range 2 {
					err = errors.Join(err, s.client.SignalWorkflow(ctx, agentState, "", workflows.SignalWake, wake))
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
		func() error { // the last settings apply
			for i := range storm / 4 {
				if err := s.client.SignalWorkflow(ctx, agentState, "", workflows.SignalSettings,
					workflows.Settings{MinGap: time.Duration(i+1) * time.Hour}); err != nil {
					return err
				}
			}
			return nil
		},
		func() error { // a run ends only when every update has its answer
			for i := range storm / 8 {
				if err := s.ask(ctx, agentState, fmt.Sprintf("stale-%d", i)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	faults := make(chan error, len(senders))
	for _, send := range senders {
		go func() { faults <- send() }()
	}
	for range senders {
		require.NoError(t, <-faults)
	}
	var lived workflows.AgentState
	require.Eventually(t, func() bool {
		var err error
		lived, err = app.AgentState(ctx, agent.Handle)
		return err == nil && lived.Epoch == int64(storm) && lived.Settings.MinGap == time.Duration(storm/4)*time.Hour
	}, time.Minute, 50*time.Millisecond, "the last of each arrives")
	require.Equal(t, storm, lived.Wakes)
	runs, err := week.Runs(ctx, s.client, agentState, first)
	require.NoError(t, err)
	longest := 0
	for _, run := range runs {
		longest = max(longest, run.Events)
	}
	require.Greater(t, len(runs), storm/suggested)
	t.Logf(
		"\n    %d wakes sent twice, %d settings and %d updates into one life: %d runs, the longest of %d events; %d wakes counted",
		storm,
		storm/4,
		storm/8,
		len(runs),
		longest,
		lived.Wakes,
	)
}

// raise wakes an agent in the store alone, and lets it sleep again.
func (s *scene) raise(ctx context.Context, agent string) (workflows.Wake, error) {
	visit := presence.Visit{
		Agent:  agent,
		Client: "storm",
		Cause:  presence.Operator,
		Now:    time.Now().UTC(),
		For:    time.Minute,
	}
	arrived, err := s.Base.Store.Arrive(ctx, visit)
	if err != nil {
		return workflows.Wake{}, err
	}
	_, err = s.Base.Store.Dismiss(ctx, agent, visit.Now)
	return workflows.Wake{Epoch: arrived.Epoch, Cause: arrived.Cause, Client: arrived.Client, At: arrived.At}, err
}

// ask sends an update until it is answered, as our starter does: the server refuses one that meets a run at the
// moment of its continuing as new.
func (s *scene) ask(ctx context.Context, agentState, id string) error {
	for {
		handle, err := s.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: agentState, UpdateID: id, UpdateName: workflows.UpdateWake,
			WaitForStage: client.WorkflowUpdateStageCompleted,
			Args:         []any{workflows.Wake{Epoch: 1, Cause: presence.Operator}},
		})
		var awoken workflows.WakeAnswer
		if err == nil {
			err = handle.Get(ctx, &awoken)
		}
		var away *serviceerror.WorkflowNotReady
		if !errors.As(err, &away) {
			return err
		}
	}
}
