package deploy

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/internal/payload"
)

// mostSealed bounds how many open workflows sealingKeysInUse looks at: one page of a list.
const mostSealed = 1000

// sealingKeysInUse counts the open workflows of a task queue by the id of the key that they are sealed with, of the first
// thousand. It opens nothing.
func sealingKeysInUse(ctx context.Context, c client.Client, namespace, queue string) (map[string]int, error) {
	page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: namespace,
		PageSize:  mostSealed,
		Query:     "ExecutionStatus = 'Running'",
	})
	if err != nil {
		return nil, fmt.Errorf("list the open workflows: %w", err)
	}
	keys := map[string]int{}
	for _, info := range page.GetExecutions() {
		if info.GetTaskQueue() != queue {
			continue
		}
		for _, p := range info.GetMemo().GetFields() {
			if id := payload.SealedWith(p); id != "" {
				keys[id]++
				break
			}
		}
	}
	return keys, nil
}

// failureWithin bounds the look for a reason, after a worker did not answer in time.
const failureWithin = time.Second

// lastFailure is why the newest task of a workflow failed, in plain text after a semicolon; empty when it did not, or
// when that is sealed.
func lastFailure(ctx context.Context, c client.Client, workflow string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failureWithin)
	defer cancel()
	why := ""
	events := c.GetWorkflowHistory(ctx, workflow, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return ""
		}
		failed := event.GetWorkflowTaskFailedEventAttributes().GetFailure()
		switch {
		case failed != nil && failed.GetEncodedAttributes() == nil:
			why = "; its worker says: " + failed.GetMessage()
		case event.GetWorkflowTaskCompletedEventAttributes() != nil:
			why = ""
		}
	}
	return why
}
