package workers

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// clockQueue is a task queue that no worker polls.
const clockQueue = "oneiros-clock"

// Skew returns how far the clock of the Temporal server is ahead of this machine's, which now reads; negative: behind.
// No request tells the server's time, so that a workflow is begun, which says when it was, and deleted. No worker takes
// it. Of two times between which the server looked at its clock, the nearer one counts.
func Skew(ctx context.Context, c client.Client, namespace string, now func() time.Time) (time.Duration, error) {
	id := "oneiros-clock/" + rand.Text()
	before := now()
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       id,
		TaskQueue:                clockQueue,
		WorkflowExecutionTimeout: time.Minute, // should it not be deleted
	}, "clock")
	if err != nil {
		return 0, fmt.Errorf("begin a workflow to read the server's clock: %w", err)
	}
	after := now()
	described, err := c.DescribeWorkflowExecution(ctx, id, run.GetRunID())
	_, deleted := c.WorkflowService().DeleteWorkflowExecution(context.WithoutCancel(ctx),
		&workflowservice.DeleteWorkflowExecutionRequest{
			Namespace:         namespace,
			WorkflowExecution: described.GetWorkflowExecutionInfo().GetExecution(),
		})
	if err == nil {
		err = deleted
	}
	if err != nil {
		return 0, fmt.Errorf("read the server's clock: %w", err)
	}
	at := described.GetWorkflowExecutionInfo().GetStartTime().AsTime()
	return max(0, at.Sub(after)) + min(0, at.Sub(before)), nil
}
