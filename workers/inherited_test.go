package workers_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/internal/payload"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// sealedBy are the converters of a client that seals with a key of its own.
func sealedBy(t *testing.T, id string) func(*client.Options) {
	t.Helper()
	line, err := payload.NewLine(id, rand.Reader)
	require.NoError(t, err)
	keys, err := payload.Parse(line)
	require.NoError(t, err)
	return func(o *client.Options) { o.DataConverter, o.FailureConverter = payload.New(keys) }
}

// pages notes how many executions each request wants to be listed.
type pages struct {
	client.Client
	sizes []int32
}

func (p *pages) ListWorkflow(
	ctx context.Context, r *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	p.sizes = append(p.sizes, r.GetPageSize())
	return p.Client.ListWorkflow(ctx, r)
}

func TestOpenExecutionsOfAnotherContractAreFoundAndReplayed(t *testing.T) {
	t.Parallel()
	server := temporal.Shared(t)
	c := server.Dial(t)
	sealed := sealedBy(t, "lost")
	stranger := server.Dial(t, sealed)

	w := worker.New(c, server.TaskQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ any) error { return workflow.Sleep(ctx, time.Hour) },
		workflow.RegisterOptions{Name: workflows.FeedType})
	w.RegisterWorkflowWithOptions(workflows.Agent, workflow.RegisterOptions{Name: workflows.AgentType})
	feed := workflows.FeedRequest{Feed: "harbour"}
	agent := workflows.AgentRequest{Agent: "echo", Handle: "echo"}
	auto := agent
	auto.Settings = workflows.Settings{Auto: true, IdleTimeout: time.Hour, MinGap: time.Hour}
	stamped := func(contract int) map[string]any { return map[string]any{workflows.MemoContract: contract} }
	begin := func(by client.Client, id, queue, kind string, memo map[string]any, input any) {
		options := client.StartWorkflowOptions{ID: id, TaskQueue: queue, Memo: memo}
		_, err := by.ExecuteWorkflow(t.Context(), options, kind, input)
		require.NoError(t, err)
	}
	begin(c, "replays", server.TaskQueue, workflows.AgentType, stamped(1), auto)
	begin(c, "parts", server.TaskQueue, workflows.FeedType, stamped(1), feed)
	begin(c, "unstamped", server.TaskQueue, workflows.AgentType, nil, auto)
	begin(c, "ours", server.TaskQueue, workflows.FeedType, stamped(workflows.Contract), feed)
	begin(c, "newer", server.TaskQueue, workflows.FeedType, stamped(workflows.Contract+1), feed)
	begin(c, "elsewhere", server.TaskQueue+"-other", workflows.FeedType, nil, feed)
	begin(stranger, "unread", server.TaskQueue+"-sealed", workflows.FeedType, stamped(0), feed)
	require.NoError(t, w.Start())
	for _, id := range []string{"replays", "parts", "unstamped", "ours", "newer"} {
		require.Eventually(t, func() bool {
			described, err := c.DescribeWorkflowExecution(t.Context(), id, "")
			require.NoError(t, err)
			return described.GetWorkflowExecutionInfo().GetHistoryLength() > 4 // its first task is completed
		}, time.Minute, 10*time.Millisecond, id)
	}
	w.Stop()
	require.Eventually(t, func() bool { // what can be listed follows by some milliseconds
		list, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: server.Namespace, Query: "ExecutionStatus = 'Running'",
		})
		require.NoError(t, err)
		return len(list.GetExecutions()) >= 7
	}, time.Minute, 10*time.Millisecond)

	listed := &pages{Client: c}
	inheritance := workers.UpgradeCheck{Client: listed, Namespace: server.Namespace, TaskQueue: server.TaskQueue}
	find := func(oldest int) map[string]string {
		inheritance.Oldest = oldest
		found, err := inheritance.Find(t.Context())
		require.NoError(t, err)
		faults := map[string]string{}
		for _, one := range found {
			faults[one.Workflow] = ""
			if one.Fault != nil {
				faults[one.Workflow] = one.Fault.Error()
			}
		}
		require.Len(t, faults, 4)
		require.Contains(t, faults["unstamped"], "it is of contract 0, and this build continues contracts from")
		require.Contains(t, faults["newer"], "this build knows contracts up to")
		return faults
	}
	faults := find(1)
	require.Empty(t, faults["replays"])
	require.Contains(t, faults["parts"], "TMPRL1100")
	faults = find(2)
	require.Contains(t, faults["replays"], "it is of contract 1, and this build continues contracts from 2 on",
		"what it carries would be read under other names")

	require.Equal(t, []int32{workflows.ListedAtOnce, workflows.ListedAtOnce}, listed.sizes)
	inheritance.TaskQueue = server.TaskQueue + "-sealed"
	other := client.Options{}
	sealedBy(t, "other")(&other)
	inheritance.DataConverter, inheritance.FailureConverter = other.DataConverter, other.FailureConverter
	found, err := inheritance.Find(t.Context())
	require.ErrorContains(t, err, "read what unread was begun with")
	require.Empty(t, found, "nothing is known of what cannot be read")
}
