package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/seed-56a03226/oneiros/activities"
)

// attended runs an attendant whose activity answers in turn how much later something is due; 0: nothing is. It returns
// when the activity ran, since the beginning.
func attended(t *testing.T, due []time.Duration, during func(env *testsuite.TestWorkflowEnvironment)) []time.Duration {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflow(Attend)
	env.RegisterActivityWithOptions(func(context.Context, activities.AttendRequest) (activities.AttendResult, error) {
		return activities.AttendResult{}, nil
	}, activity.RegisterOptions{Name: activities.RoomsAttend})
	began := env.Now()
	var ran []time.Duration
	env.OnActivity(activities.RoomsAttend, mock.Anything, activities.AttendRequest{Agent: "id-echo"}).
		Return(func(context.Context, activities.AttendRequest) (activities.AttendResult, error) {
			ran = append(ran, env.Now().Sub(began).Round(time.Second))
			after := due[min(len(ran), len(due))-1]
			if after == 0 {
				return activities.AttendResult{}, nil
			}
			return activities.AttendResult{Next: env.Now().Add(after)}, nil
		})
	if during != nil {
		during(env)
	}
	env.ExecuteWorkflow(Attend, AttendRequest{Agent: "id-echo", Handle: "echo"})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	return ran
}

func TestAnAttendantEndsWhenNothingIsDue(t *testing.T) {
	t.Parallel()
	require.Equal(t, []time.Duration{0}, attended(t, []time.Duration{0}, nil))
}

func TestAnAttendantLooksAgainWhenSomethingIsDue(t *testing.T) {
	t.Parallel()
	require.Equal(t, []time.Duration{0, time.Hour, 3 * time.Hour},
		attended(t, []time.Duration{time.Hour, 2 * time.Hour, 0}, nil))
}

func TestASignalLetsAnAttendantLookAtOnce(t *testing.T) {
	t.Parallel()
	signal := func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalLook, nil) }, time.Minute)
	}
	require.Equal(t, []time.Duration{0, time.Minute}, attended(t, []time.Duration{time.Hour, 0}, signal))
}

func TestAnAttendantWithoutAnAgentIsRefused(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflow(Attend)
	env.ExecuteWorkflow(Attend, AttendRequest{})
	require.ErrorContains(t, env.GetWorkflowError(), "agent is empty")
}
