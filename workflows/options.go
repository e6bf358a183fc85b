package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// heartbeat is how long a paid activity may be silent before it counts as lost: three beats of the activity
// (activities.HeartbeatEvery) and a second.
const heartbeat = 10 * time.Second

// TaskTimeout is how long a workflow task may run before another worker gets it, and so how long a workflow stalls
// when its worker is killed within a task. The server's default is 10 s, which would delay a wake by 10 s. Local
// activities extend the task.
const TaskTimeout = 3 * time.Second

// nonRetryable are the failure types that a further attempt cannot mend.
var nonRetryable = []string{activities.FailRefused, activities.FailFenced, activities.FailMissing}

// paidCall is the option set of an activity that spends money: few attempts, each with a reservation of its own. Its
// partial result counts when it is cancelled, so the workflow waits for it. It makes up to so many model calls, one
// after the other.
func paidCall(ctx workflow.Context, k dream.Knobs, calls int, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Duration(calls) * k.CallTimeout,
		HeartbeatTimeout:    heartbeat,
		WaitForCancellation: true,
		Summary:             summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute,
			MaximumAttempts: int32(k.Attempts), NonRetryableErrorTypes: nonRetryable,
		},
	})
}

// quickWrite is the option set of an activity that only reads or writes the store: cheap, idempotent, retried until
// the store answers. It runs inside the workflow task and runs again when the worker dies.
func quickWrite(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: 10 * time.Minute,
		StartToCloseTimeout:    30 * time.Second,
		Summary:                summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second,
			NonRetryableErrorTypes: nonRetryable,
		},
	})
}

// shortly is the option set of a store activity of an agent's workflow. It gives up after five seconds and is tried
// again later, because the workflow must handle wakes while the store is unreachable.
func shortly(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: 5 * time.Second,
		StartToCloseTimeout:    4 * time.Second,
		Summary:                summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: time.Second,
			NonRetryableErrorTypes: nonRetryable,
		},
	})
}
