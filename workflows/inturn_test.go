package workflows

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// NREM is one activity. What it does not come to because of a failure is made by the next, and nothing is made after a
// cap.
func TestTheStepsOfNREMAreMadeInTurn(t *testing.T) {
	t.Parallel()
	const forward, backward, look = "forward", "backward", "last look"
	for name, c := range map[string]struct {
		fails, caps string
		activities  [][]string
		made        int
	}{
		"all have answers":    {"", "", [][]string{{forward, backward, look}}, 3},
		"the first one fails": {forward, "", [][]string{{forward}, {backward, look}}, 2},
		"the second fails":    {backward, "", [][]string{{forward, backward}, {look}}, 2},
		"the last one fails":  {look, "", [][]string{{forward, backward, look}}, 2},
		"the second is over":  {"", backward, [][]string{{forward, backward}}, 1},
		"the first is over":   {"", forward, [][]string{{forward}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran [][]string
			step := func(what string) (activities.StepResult, error) {
				ran[len(ran)-1] = append(ran[len(ran)-1], what)
				switch what {
				case c.fails:
					return activities.StepResult{}, &activities.CallFailed{
						Model: "m", Err: &inference.Failure{Kind: inference.Unavailable},
					}
				case c.caps:
					return activities.StepResult{CallOutcome: activities.CallOutcome{
						End: activities.EndCap, Scope: activities.PhaseScope("d", dream.NREM), Reason: "the cap",
					}}, nil
				}
				return activities.StepResult{Made: []activities.MadeItem{{ID: what, Kept: true}}}, nil
			}
			env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
			env.RegisterActivityWithOptions(
				func(ctx context.Context, r activities.SideBySideRequest) (activities.SideBySideResult, error) {
					ran = append(ran, nil)
					return activities.InTurn(ctx, r,
						func(_ context.Context, s activities.SideStep) (activities.StepResult, error) {
							var q activities.ReplayRequest
							err := json.Unmarshal(s.Request, &q)
							require.NoError(t, err)
							switch {
							case s.Activity == activities.ReplayLastLook:
								return step(look)
							case q.Backward:
								return step(backward)
							}
							return step(forward)
						})
				}, activity.RegisterOptions{Name: activities.ReplaySteps})
			env.RegisterActivityWithOptions(func(context.Context, activities.StepRequest) (activities.StepResult, error) {
				ran = append(ran, nil)
				return step(look)
			}, activity.RegisterOptions{Name: activities.ReplayLastLook})
			n := &dreamRun{endedEarly: map[dream.Phase]string{}, grouping: 2}
			n.spec.Dream, n.spec.Knobs = "d", dream.DefaultKnobs()
			n.spec.Knobs.Attempts = 1
			p := &phase{run: n, name: dream.NREM}
			var ended error
			env.ExecuteWorkflow(func(ctx workflow.Context) error {
				n.stretch.start(ctx, 1, 0)
				ended = p.replay(ctx)
				return nil
			})
			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, c.activities, ran)
			require.Equal(t, c.made, p.made)
			require.Equal(t, c.made, p.kept)
			if c.fails == "" {
				require.Zero(t, p.failed)
			} else {
				require.Equal(t, 1, p.failed)
			}
			if c.caps == "" {
				require.NoError(t, ended)
			} else {
				require.ErrorIs(t, ended, errSpent)
			}
		})
	}
}
