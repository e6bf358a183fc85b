package workflows

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// An activity that had nothing to do is not a success: a phase in which every call failed has failed.
func TestAnActivityWithoutACallDoesNotCountAsSuccess(t *testing.T) {
	t.Parallel()
	for unasked, state := range map[bool]string{true: "failed", false: "ran"} {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestWorkflowEnvironment()
		env.RegisterActivityWithOptions(func(context.Context, activities.ReplayRequest) (activities.StepResult, error) {
			return activities.StepResult{}, errors.New("nobody answers")
		}, activity.RegisterOptions{Name: activities.ReplayRun})
		env.RegisterActivityWithOptions(func(context.Context, activities.StepRequest) (activities.StepResult, error) {
			return activities.StepResult{CallOutcome: activities.CallOutcome{NoCall: unasked}}, nil
		}, activity.RegisterOptions{Name: activities.ReplayLastLook})
		n := &dreamRun{endedEarly: map[dream.Phase]string{}, fragments: []activities.MadeItem{{ID: "f", Kept: true}}}
		n.spec.Dream, n.spec.Knobs = "d", dream.DefaultKnobs()
		p := &phase{run: n, name: dream.NREM}
		env.ExecuteWorkflow(func(ctx workflow.Context) error {
			n.stretch.start(ctx, 1, 0)
			if err := p.replay(ctx); err != nil {
				return err
			}
			return p.leave()
		})
		require.NoError(t, env.GetWorkflowError())
		require.Len(t, n.pendingMarks, 1)
		require.Equal(t, state, n.pendingMarks[0].State)
		require.Equal(t, unasked, len(n.failedPhases) == 1, "the dream names the failed phase")
	}
}
