package payload_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"

	"github.com/seed-56a03226/oneiros/internal/payload"
	"github.com/seed-56a03226/oneiros/testsuite/histories"
	"github.com/seed-56a03226/oneiros/workflows"
)

// replay replays a history as a worker with these keys would.
func replay(k payload.Keys, history *historypb.History) error {
	data, failures := payload.New(k)
	replayer, err := worker.NewWorkflowReplayerWithOptions(
		worker.WorkflowReplayerOptions{DataConverter: data, FailureConverter: failures})
	if err != nil {
		return err
	}
	workflows.Register(replayer)
	return replayer.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), history)
}

// sealAll seals every payload of a history, as if the deployment had had the key from the first event.
func sealAll(t *testing.T, k payload.Keys, history *historypb.History) int {
	t.Helper()
	sealed := 0
	require.NoError(t, proxy.VisitPayloads(context.Background(), history, proxy.VisitPayloadsOptions{
		SkipSearchAttributes: true,
		Visitor: func(_ *proxy.VisitPayloadsContext, list []*commonpb.Payload) ([]*commonpb.Payload, error) {
			sealed += len(list)
			return payload.Codec(k).Encode(list)
		},
	}))
	return sealed
}

func TestRecordedHistoriesReplayPlainAndSealed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testsuite/histories/testdata/*.json.gz")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			history, err := histories.Load(file)
			require.NoError(t, err)
			if replay(payload.Keys{}, history) != nil {
				t.Skip("it does not replay without sealing either, which is the affair of its own suite")
			}
			require.NoError(t, replay(keys(t, "new", "old"), history), "a history recorded without sealing")
			plain := proto.Size(history)
			n := sealAll(t, keys(t, "old"), history)
			require.Positive(t, n)
			require.LessOrEqual(t, proto.Size(history), plain+n*payload.Overhead)
			t.Logf("%d bytes plain, %d bytes with %d payloads sealed: %d bytes a payload", plain, proto.Size(history),
				n, (proto.Size(history)-plain)/n)
			require.NoError(t, replay(keys(t, "new", "old"), history), "a history sealed with an older key")
			require.ErrorContains(t, replay(keys(t, "new"), history), `sealed with key "old": that key is missing`)
			require.ErrorContains(t, replay(payload.Keys{}, history),
				`sealed with key "old": that key is missing: no sealing keys are configured`)
		})
	}
}
