package sealing_test

import (
	"context"
	"encoding/base64"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/internal/payload"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
)

var winter = "winter " + base64.StdEncoding.EncodeToString([]byte("winter's key: 32 bytes of a test"))

// repeat returns its argument after a signal.
func repeat(ctx workflow.Context, text string) (string, error) {
	var more string
	err := workflow.SetUpdateHandler(ctx, "say",
		func(_ workflow.Context, word string) (string, error) { return word, nil })
	workflow.GetSignalChannel(ctx, "more").Receive(ctx, &more)
	return text + more, err
}

func serve(t *testing.T, s *temporal.Server, k payload.Keys) worker.Worker {
	t.Helper()
	w := worker.New(s.Dial(t, with(k)), s.TaskQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(repeat, workflow.RegisterOptions{Name: "repeat"})
	require.NoError(t, w.Start())
	return w
}

func TestAWorkerWithoutAKeyEndsNoWorkflowAndNamesTheKey(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server := temporal.Shared(t)
	owner := server.Dial(t, with(keys(t, spring, winter)))
	for name, poor := range map[string]payload.Keys{"an older key only": keys(t, winter), "no key at all": {}} {
		w := serve(t, server, poor)
		run, err := owner.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: "held-" + server.TaskQueue, TaskQueue: server.TaskQueue, WorkflowTaskTimeout: time.Second,
		}, "repeat", "once ")
		require.NoError(t, err, name)
		var why string
		require.Eventually(t, func() bool {
			for _, event := range history(t, ctx, owner, run.GetID(), run.GetRunID()).GetEvents() {
				if failed := event.GetWorkflowTaskFailedEventAttributes(); failed != nil {
					_, failures := payload.New(keys(t, spring, winter))
					why = failures.FailureToError(failed.GetFailure()).Error()
				}
			}
			return why != ""
		}, patience, 20*time.Millisecond, name)
		require.Contains(t, why, `sealed with key "spring"`, name)
		w.Stop()

		result, err := owner.DescribeWorkflowExecution(ctx, run.GetID(), run.GetRunID())
		require.NoError(t, err)
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, result.GetWorkflowExecutionInfo().GetStatus(), name)
		w = serve(t, server, keys(t, spring, winter))
		require.NoError(t, owner.SignalWorkflow(ctx, run.GetID(), "", "more", "more"))
		var text string
		require.NoError(t, run.Get(ctx, &text), name)
		require.Equal(t, "once more", text, name)
		w.Stop()
	}
}

func TestUnsealedDreamsContinueAfterSealingIsSwitchedOnAndTheKeyChanged(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server := temporal.Shared(t)
	plain := server.Dial(t, with(payload.Keys{}))
	w := serve(t, server, payload.Keys{})
	say := func(c client.Client, word string) {
		handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: "open-" + server.TaskQueue, UpdateName: "say", Args: []any{word},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		require.NoError(t, err)
		var text string
		require.NoError(t, handle.Get(ctx, &text))
		require.Equal(t, word, text)
	}
	run, err := plain.ExecuteWorkflow(ctx,
		client.StartWorkflowOptions{ID: "open-" + server.TaskQueue, TaskQueue: server.TaskQueue}, "repeat", "once ")
	require.NoError(t, err)
	say(plain, "plain")
	w.Stop()
	for _, k := range []payload.Keys{keys(t, winter), keys(t, winter, spring), keys(t, spring, winter)} {
		w = serve(t, server, k)
		say(server.Dial(t, with(k)), k.Newest())
		w.Stop()
	}
	w = serve(t, server, keys(t, spring, winter))
	defer w.Stop()
	last := server.Dial(t, with(keys(t, spring, winter)))
	require.NoError(t, last.SignalWorkflow(ctx, run.GetID(), "", "more", "more"))
	var text string
	require.NoError(t, last.GetWorkflow(ctx, run.GetID(), "").Get(ctx, &text))
	require.Equal(t, "once more", text)
}

func TestAnUpdateUnderAMissingKeyIsRefusedAndBlocksNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server := temporal.Shared(t)
	mine := server.Dial(t, with(keys(t, winter)))
	w := serve(t, server, keys(t, winter))
	defer w.Stop()
	run, err := mine.ExecuteWorkflow(ctx,
		client.StartWorkflowOptions{ID: "mine-" + server.TaskQueue, TaskQueue: server.TaskQueue}, "repeat", "once ")
	require.NoError(t, err)
	stranger := server.Dial(t, with(keys(t, spring, winter)))
	handle, err := stranger.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: run.GetID(), UpdateName: "say", Args: []any{"x"}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	require.ErrorContains(t, err, `sealed with key "spring": that key is missing; there are winter`)
	require.NoError(t, mine.SignalWorkflow(ctx, run.GetID(), "", "more", "more"))
	require.NoError(t, run.Get(ctx, nil))
}
