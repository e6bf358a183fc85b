package sealing_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"

	commonpb "go.temporal.io/api/common/v1"

	"github.com/seed-56a03226/oneiros/internal/payload"
	"github.com/seed-56a03226/oneiros/testsuite/sealing"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
)

const patience = 2 * time.Minute

var spring = "spring " + base64.StdEncoding.EncodeToString([]byte("spring's key: 32 bytes of a test"))

func keys(t *testing.T, lines ...string) payload.Keys {
	t.Helper()
	k, err := payload.Parse(strings.Join(lines, "\n"))
	require.NoError(t, err)
	return k
}

func with(k payload.Keys) func(*client.Options) {
	return func(o *client.Options) { o.DataConverter, o.FailureConverter = payload.New(k) }
}

// labels are what is never sealed: they are readable whatever the keys.
var labels = []string{"labelled-id", "labelled-attribute", "labelled-type", "labelled-reason", "labelled-identity"}

func words() []string {
	list := []string{sealing.Stack}
	for _, place := range sealing.Stored {
		list = append(list, sealing.Prefix+place+".")
	}
	return list
}

// grown is what is left after the garden's workflow has run, continued as new and ended.
type grown struct {
	found   map[string]bool // words found in the database at any time
	prefix  bool            // any word at all
	answers string          // what a query and a description answer, as they cross the wire
	history *historypb.History
	client  client.Client
}

func grow(t *testing.T, k payload.Keys) grown {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	server := temporal.Start(t)
	c := server.Dial(t, with(k), func(o *client.Options) { o.Identity = "labelled-identity" })
	garden := &sealing.Garden{Beaten: make(chan struct{})}
	w := worker.New(c, server.TaskQueue, worker.Options{})
	garden.Register(w)
	require.NoError(t, w.Start())
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			w.Stop()
		}
	}
	t.Cleanup(stop)

	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "labelled-id", TaskQueue: server.TaskQueue, Memo: map[string]any{sealing.MemoKey: sealing.Word("memo")},
		StaticSummary: sealing.Word("static-summary"), StaticDetails: sealing.Word("static-details"),
		TypedSearchAttributes: sdk.NewSearchAttributes(
			sdk.NewSearchAttributeKeyKeyword("OneirosAgent").ValueSet("labelled-attribute")),
	}, "Grow", sealing.Word("input"))
	require.NoError(t, err)
	id, first := run.GetID(), run.GetRunID()
	handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: sealing.Update, Args: []any{sealing.Word("update-argument")},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	require.NoError(t, err)
	var answered string
	require.NoError(t, handle.Get(ctx, &answered))
	require.Equal(t, sealing.Word("update-result"), answered)
	require.NoError(t, c.SignalWorkflow(ctx, id, first, sealing.Signal, sealing.Word("signal")))

	select {
	case <-garden.Beaten:
	case <-ctx.Done():
		require.FailNow(t, "the activity never beat")
	}
	require.Eventually(t, func() bool {
		result, err := c.DescribeWorkflowExecution(ctx, id, first)
		require.NoError(t, err)
		pending := 0
		for _, a := range result.GetPendingActivities() {
			if a.GetLastFailure() != nil || a.GetHeartbeatDetails() != nil {
				pending++
			}
		}
		return pending == 2
	}, patience, 20*time.Millisecond)

	g := grown{found: map[string]bool{}, client: c, answers: answers(t, ctx, c, server.Namespace, id)}
	look := func() {
		found, err := sealing.Search(server.DB, append(words(), append(labels, sealing.Prefix)...))
		require.NoError(t, err)
		for word, is := range found {
			g.found[word] = g.found[word] || is
		}
	}
	look()
	require.NoError(t, c.SignalWorkflow(ctx, id, first, sealing.GoOn, nil))
	var result string
	require.NoError(t, run.Get(ctx, &result))
	require.Equal(t, sealing.Word("result"), result, "with its key everything is read as it was written")
	require.NoError(t, terminated(ctx, c, server.TaskQueue))
	g.history = history(t, ctx, c, id, first)
	look()
	stop()
	server.Stop()
	look()
	g.prefix = g.found[sealing.Prefix]
	return g
}

// terminated leaves a workflow that was terminated with a reason.
func terminated(ctx context.Context, c client.Client, queue string) error {
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "labelled-other", TaskQueue: queue}, "Grow", "")
	if err != nil {
		return err
	}
	return c.TerminateWorkflow(ctx, run.GetID(), "", "labelled-reason", sealing.Word("result"))
}

// answers are what the server passes on without storing it, byte for byte.
func answers(t *testing.T, ctx context.Context, c client.Client, namespace, id string) string {
	t.Helper()
	var wire []byte
	for _, name := range []string{sealing.Query, "__temporal_workflow_metadata"} {
		answer, err := c.WorkflowService().QueryWorkflow(ctx, &workflowservice.QueryWorkflowRequest{
			Namespace: namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: id},
			Query: &querypb.WorkflowQuery{QueryType: name},
		})
		require.NoError(t, err)
		body, err := proto.Marshal(answer)
		require.NoError(t, err)
		wire = append(wire, body...)
	}
	return string(wire)
}

func history(t *testing.T, ctx context.Context, c client.Client, id, run string) *historypb.History {
	t.Helper()
	h := &historypb.History{}
	for events := c.GetWorkflowHistory(ctx, id, run, false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		require.NoError(t, err)
		h.Events = append(h.Events, event)
	}
	return h
}

func TestWithoutAKeyEveryWordIsInTheDatabase(t *testing.T) {
	t.Parallel()
	g := grow(t, payload.Keys{})
	for _, word := range append(words(), labels...) {
		require.True(t, g.found[word],
			"%s was planted and not found: the search would miss it as well if it were there", word)
	}
	for _, place := range sealing.Answered {
		require.Contains(t, g.answers, sealing.Prefix+place)
	}
	t.Logf("without a key: %d of %d words in the database, %d in answers", len(words()), len(words()),
		len(sealing.Answered))
}

func TestWithAKeyNoWordIsInTheDatabaseAndAllAreReadWithIt(t *testing.T) {
	t.Parallel()
	k := keys(t, spring)
	g := grow(t, k)
	for _, word := range words() {
		require.False(t, g.found[word], "%s is readable in the database", word)
	}
	require.False(t, g.prefix, "some word is readable in the database")
	require.NotContains(t, g.answers, sealing.Prefix, "some word is readable in an answer")
	for _, label := range labels {
		require.True(t, g.found[label], "%s is documented as never sealed and was not found", label)
	}

	printed, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(g.history)
	require.NoError(t, err)
	require.NotContains(t, string(printed), sealing.Prefix)
	var opened bytes.Buffer
	n, err := payload.OpenJSON(k, bytes.NewReader(printed), &opened)
	require.NoError(t, err)
	for _, place := range []string{
		"input", "failure-message", "failure-details", "panic-message", "side-effect",
		"timer-summary", "memo", "continued-input",
	} {
		require.Contains(t, opened.String(), sealing.Prefix+place+".")
	}
	require.Contains(t, opened.String(), sealing.Stack)
	t.Logf("with a key: 0 of %d words in the database, 0 in answers; %d payloads of one history opened with it",
		len(words()), n)
}
