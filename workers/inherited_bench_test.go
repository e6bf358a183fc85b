package workers_test

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// BenchmarkOpenAgentsOfAnEarlierBuild is how long a worker looks at the workflows of ONEIROS_OPEN_AGENTS agents (1000)
// before it listens, when each was begun under another contract and has been used ten times.
func BenchmarkOpenAgentsOfAnEarlierBuild(b *testing.B) {
	agents := 1000
	if n, err := strconv.Atoi(os.Getenv("ONEIROS_OPEN_AGENTS")); err == nil {
		agents = n
	}
	server := temporal.Shared(b)
	c := server.Dial(b)
	w := worker.New(c, server.TaskQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(workflows.Agent, workflow.RegisterOptions{Name: workflows.AgentType})
	require.NoError(b, w.Start())
	ids := make(chan string)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for id := range ids {
				_, err := c.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{
					ID: id, TaskQueue: server.TaskQueue, Memo: map[string]any{workflows.MemoContract: 1},
				}, workflows.AgentType, workflows.AgentRequest{
					Agent: id, Handle: id,
					Settings: workflows.Settings{Auto: true, IdleTimeout: time.Hour, MinGap: time.Hour},
				})
				for range 10 {
					if err == nil {
						err = c.SignalWorkflow(b.Context(), id, "", workflows.SignalActive, nil)
					}
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range agents {
		ids <- fmt.Sprintf("agent/%05d", i)
	}
	close(ids)
	all.Wait()
	for i := range agents {
		require.Eventually(b, func() bool {
			d, err := c.DescribeWorkflowExecution(b.Context(), fmt.Sprintf("agent/%05d", i), "")
			return err == nil && d.GetPendingWorkflowTask() == nil
		}, 5*time.Minute, 100*time.Millisecond)
	}
	w.Stop()
	require.Eventually(b, func() bool {
		n, err := c.CountWorkflow(b.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: server.Namespace, Query: "ExecutionStatus = 'Running'",
		})
		return err == nil && n.GetCount() == int64(agents)
	}, time.Minute, 100*time.Millisecond)
	check := workers.UpgradeCheck{Client: c, Namespace: server.Namespace, TaskQueue: server.TaskQueue, Oldest: 1}
	for b.Loop() {
		found, err := check.Find(b.Context())
		require.NoError(b, err)
		require.Len(b, found, agents)
		for _, one := range found {
			require.NoError(b, one.Fault)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*agents), "ms/agent")
}
