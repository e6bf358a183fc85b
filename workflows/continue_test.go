package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
)

// A wake arrives after a run has read its signals, and settings arrive while that wake waits for the store: they are
// unread when the run might continue as new.
func TestSignalsThatArriveBeforeContinueAsNewAreNotLost(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	var epoch int64
	env.RegisterActivityWithOptions(
		func(_ context.Context, r activities.AnnounceWakeRequest) (activities.AnnounceWakeResult, error) {
			if r.Epoch == 1 {
				env.SignalWorkflow(SignalWake, Wake{})
			}
			return activities.AnnounceWakeResult{}, nil
		}, activity.RegisterOptions{Name: activities.AgentAnnounceWake})
	env.RegisterActivityWithOptions(func(_ context.Context, r activities.RaiseEpochRequest) (activities.Wake, error) {
		epoch++
		if epoch == 2 {
			env.SignalWorkflow(SignalSettings, Settings{MinGap: 7 * time.Hour})
		}
		r.Wake.Epoch = epoch
		return r.Wake, nil
	}, activity.RegisterOptions{Name: activities.AgentRaiseEpoch})
	env.RegisterDelayedCallback(func() {
		env.SetContinueAsNewSuggested(true)
		env.SignalWorkflow(SignalWake, Wake{})
	}, time.Minute)
	env.ExecuteWorkflow(Agent, AgentRequest{Agent: "a1", Handle: "echo", Settings: Settings{MinGap: time.Hour}})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	var next AgentRequest
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	require.EqualValues(t, 2, next.Carried.Epoch)
	require.Equal(t, 7*time.Hour, next.Carried.Settings.MinGap)
}
