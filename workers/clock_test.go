package workers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

func TestTheServersClockIsComparedAndNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	c, namespace := dial(t)
	skew, err := Skew(t.Context(), c, namespace, time.Now)
	require.NoError(t, err)
	require.Zero(t, skew, "they run on one machine")
	for _, off := range []time.Duration{-time.Hour, time.Hour} { // of this machine's clock
		skew, err := Skew(t.Context(), c, namespace, func() time.Time { return time.Now().Add(off) })
		require.NoError(t, err)
		require.InDelta(t, -off.Seconds(), skew.Seconds(), 60)
	}
	_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		TaskQueue: clockQueue, WorkflowExecutionTimeout: time.Minute,
	}, "later")
	require.NoError(t, err)
	require.Eventually(t, func() bool { // a list that has the later workflow would have the earlier ones
		page, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: namespace, Query: "TaskQueue = '" + clockQueue + "'",
		})
		return err == nil && len(page.GetExecutions()) == 1 && page.GetExecutions()[0].GetType().GetName() == "later"
	}, 30*time.Second, 50*time.Millisecond)
}
