package temporal_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/testsuite/temporal"
)

var agent = sdk.NewSearchAttributeKeyKeyword("OneirosAgent")

// listen waits for two words, one before and one after whatever happens to the server in between.
func listen(ctx workflow.Context) (string, error) {
	var first, second string
	if err := workflow.UpsertTypedSearchAttributes(ctx, agent.ValueSet("echo")); err != nil {
		return "", err
	}
	words := workflow.GetSignalChannel(ctx, "word")
	words.Receive(ctx, &first)
	words.Receive(ctx, &second)
	return first + " " + second, nil
}

func serve(t *testing.T, s *temporal.Server, c client.Client) {
	t.Helper()
	w := worker.New(c, s.TaskQueue, worker.Options{})
	w.RegisterWorkflow(listen)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
}

func TestKilledServerGoesOnWithItsWorkflowsUnderTheSameClientAndWorker(t *testing.T) {
	t.Parallel()
	s := temporal.Start(t)
	require.FileExists(t, s.DB)
	c := s.Dial(t)
	serve(t, s, c)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "agent/echo", TaskQueue: s.TaskQueue,
		WorkflowTaskTimeout: time.Second, // A workflow task the kill cut off is handed out again after this.
	}, listen)
	require.NoError(t, err)
	require.NoError(t, c.SignalWorkflow(t.Context(), run.GetID(), "", "word", "still"))

	address, pid := s.Address, s.PID()
	s.Kill()
	s.Restart()
	require.Equal(t, address, s.Address)
	require.NotEqual(t, pid, s.PID())

	require.NoError(t, c.SignalWorkflow(t.Context(), run.GetID(), "", "word", "here"))
	var text string
	require.NoError(t, run.Get(t.Context(), &text))
	require.Equal(t, "still here", text, "a signal acknowledged before the kill is there after it")

	again := s.Dial(t)
	require.Eventually(t, func() bool {
		found, err := again.ListWorkflow(t.Context(),
			&workflowservice.ListWorkflowExecutionsRequest{Query: `OneirosAgent = "echo"`})
		return err == nil && len(found.GetExecutions()) == 1
	}, time.Minute, 20*time.Millisecond, "the search attributes are there after a restart")
}

func TestSharedServerGivesEachTestItsOwnNamespaceAndQueue(t *testing.T) {
	t.Parallel()
	one, two := temporal.Shared(t), temporal.Shared(t)
	require.Equal(t, one.Address, two.Address)
	require.NotEqual(t, one.Namespace, two.Namespace)
	require.NotEqual(t, one.TaskQueue, two.TaskQueue)
	for _, s := range []*temporal.Server{one, two} {
		c := s.Dial(t)
		serve(t, s, c)
		run, err := c.ExecuteWorkflow(t.Context(),
			client.StartWorkflowOptions{ID: "agent/echo", TaskQueue: s.TaskQueue}, listen)
		require.NoError(t, err)
		require.NoError(t, c.SignalWorkflow(t.Context(), run.GetID(), "", "word", "same"))
		require.NoError(t, c.SignalWorkflow(t.Context(), run.GetID(), "", "word", s.Namespace))
		var text string
		require.NoError(t, run.Get(t.Context(), &text))
		require.Equal(t, "same "+s.Namespace, text)
	}
}

func TestStoppedServerCanBeStartedAgain(t *testing.T) {
	t.Parallel()
	s := temporal.Start(t, temporal.WithNamespaces("night"), temporal.WithUI(), temporal.WithTimeSkipping())
	require.NotEmpty(t, s.UI)
	s.Stop()
	s.Restart()
	c := s.Dial(t, func(o *client.Options) { o.Namespace = "night" })
	_, err := c.CheckHealth(t.Context(), &client.CheckHealthRequest{})
	require.NoError(t, err)
}
