package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// heartbeat is how long a paid deed may be silent before it counts as lost: three beats of activities.beat, and the
// five seconds that a killed worker's task waits at least.
const heartbeat = 10 * time.Second

// TaskTimeout is how long a workflow task may be out before another worker gets it: the stall of a story whose worker
// was killed in the middle of one. The server's default of 10 s would be a 10 s wake; deeds that write the store extend
// it.
const TaskTimeout = 3 * time.Second

// finally are failures that no other attempt mends.
var finally = []string{activities.FailRefused, activities.FailFenced, activities.FailMissing}

// paidCall is the shape of a deed that spends money: few attempts, each reserved anew; its partial result counts when
// it is cancelled, so the workflow waits for it.
func paidCall(ctx workflow.Context, k dream.Knobs, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: k.CallTimeout,
		HeartbeatTimeout:    heartbeat,
		WaitForCancellation: true,
		Summary:             summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute,
			MaximumAttempts: int32(k.Attempts), NonRetryableErrorTypes: finally,
		},
	})
}

// quickWrite is the shape of a deed that only writes or reads the store: cheap, idempotent, tried until the store
// answers. It runs inside the workflow task and is run again when the worker dies.
func quickWrite(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: 10 * time.Minute,
		StartToCloseTimeout:    30 * time.Second,
		Summary:                summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second,
			NonRetryableErrorTypes: finally,
		},
	})
}

// shortly is the shape of a deed of an agent's life: it must not keep the life from hearing a wake while the store is
// away, so it is given up soon, and asked for again when the life looks next.
func shortly(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: 5 * time.Second,
		StartToCloseTimeout:    4 * time.Second,
		Summary:                summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: time.Second,
			NonRetryableErrorTypes: finally,
		},
	})
}
