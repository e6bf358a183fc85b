package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const (
	bareQueue  = "bare"
	bareUpdate = "wake"
)

// bareWake is the least that a recorded wake can be: a workflow that lives long, one activity that runs in it until
// it is cancelled, and an update that cancels it and answers when it has ended. The workflow ends after n updates.
func bareWake(ctx workflow.Context, n int) error {
	done := 0
	var running workflow.Future
	var stop workflow.CancelFunc
	begin := func() {
		var c workflow.Context
		c, stop = workflow.WithCancel(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Hour,
			WaitForCancellation: true,
		}))
		running = workflow.ExecuteActivity(c, "UntilCancelled")
	}
	begin()
	if err := workflow.SetUpdateHandler(ctx, bareUpdate, func(ctx workflow.Context) (int, error) {
		stop()
		_ = running.Get(ctx, nil)
		done++
		if done < n {
			begin()
		}
		return done, nil
	}); err != nil {
		return err
	}
	return workflow.Await(ctx, func() bool { return done >= n && workflow.AllHandlersFinished(ctx) })
}

// bareWakes measures bare wakes on the server of a fleet, in the process that measures the fleet's.
type bareWakes struct {
	client   client.Client
	workflow string
	running  chan struct{} // an activity runs
}

// startBareWakes starts the workflow, which takes at most n wakes.
func startBareWakes(b *testing.B, c client.Client, n int) *bareWakes {
	b.Helper()
	bare := &bareWakes{client: c, workflow: "bare-wake", running: make(chan struct{}, 1)}
	w := worker.New(c, bareQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(bareWake, workflow.RegisterOptions{Name: "BareWake"})
	w.RegisterActivityWithOptions(func(ctx context.Context) error {
		bare.running <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}, activity.RegisterOptions{Name: "UntilCancelled"})
	require.NoError(b, w.Start())
	b.Cleanup(w.Stop)
	options := client.StartWorkflowOptions{ID: bare.workflow, TaskQueue: bareQueue}
	_, err := c.ExecuteWorkflow(b.Context(), options, "BareWake", n)
	require.NoError(b, err)
	b.Cleanup(func() { _ = c.TerminateWorkflow(context.Background(), bare.workflow, "", "the benchmark has ended") })
	return bare
}

// wake makes one bare wake and returns how long it took, in milliseconds; negative when the row ended before.
func (w *bareWakes) wake(ctx context.Context) (float64, error) {
	select {
	case <-w.running:
	case <-ctx.Done():
		return -1, nil
	}
	began := time.Now()
	handle, err := w.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: w.workflow, UpdateName: bareUpdate, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		var n int
		err = handle.Get(ctx, &n)
	}
	if ctx.Err() != nil {
		return -1, nil
	}
	if err != nil {
		return -1, fmt.Errorf("the bare wake: %w", err)
	}
	return since(began), nil
}
