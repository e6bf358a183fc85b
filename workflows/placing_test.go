package workflows

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// placed runs do in a phase of a dream whose memory has two items without a vector. Onset.Embed returns answer(n) for
// the n-th call, counted from 1.
func placed(
	t *testing.T, name dream.Phase, answer func(call int) activities.StepResult,
	do func(p *phase, ctx workflow.Context) error,
) (requests []activities.StepRequest, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterActivityWithOptions(func(_ context.Context, r activities.StepRequest) (activities.StepResult, error) {
		requests = append(requests, r)
		return answer(len(requests)), nil
	}, activity.RegisterOptions{Name: activities.OnsetEmbed})
	n := &dreamRun{endedEarly: map[dream.Phase]string{}}
	n.spec.Dream, n.spec.Knobs = "d", dream.DefaultKnobs()
	n.gathered.WithoutVector = 2
	p := &phase{run: n, name: name}
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		n.began = workflow.Now(ctx)
		n.stretch.start(ctx, 1, 0)
		return do(p, ctx)
	})
	return requests, env.GetWorkflowError()
}

func TestADreamWaitsForMemoriesThatAreEmbeddedInTheBackground(t *testing.T) {
	t.Parallel()
	waits := activities.StepResult{Waiting: true, CallOutcome: activities.CallOutcome{NoCall: true}}
	requests, err := placed(t, dream.Onset, func(call int) activities.StepResult {
		if call < 8 {
			return waits
		}
		return activities.StepResult{CallOutcome: activities.CallOutcome{NoCall: true}}
	}, (*phase).embed)
	require.NoError(t, err)
	require.Len(t, requests, 8, "until nothing is waiting, although only two items lack a vector")
	for _, r := range requests {
		require.Equal(t, 1, r.Turn)
		require.Empty(t, r.Phase)
	}
}

func TestADreamWhoseOnsetWasSkippedEmbedsBeforeItMeasuresScenarios(t *testing.T) {
	t.Parallel()
	nothing := func(int) activities.StepResult {
		return activities.StepResult{CallOutcome: activities.CallOutcome{NoCall: true}}
	}
	for state, calls := range map[string]int{"skipped": 1, "ran": 0} {
		requests, err := placed(t, dream.REM, nothing, func(p *phase, ctx workflow.Context) error {
			p.run.state.Tallies = []dream.Tally{{Phase: dream.Onset, State: state}}
			return p.embedIfOnsetSkipped(ctx)
		})
		require.NoError(t, err)
		require.Len(t, requests, calls, state)
		for _, r := range requests {
			require.Equal(t, dream.REM, r.Phase, "charged to the phase that needs it")
		}
	}
}
