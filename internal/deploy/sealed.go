package deploy

import (
	"context"
	"fmt"

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
