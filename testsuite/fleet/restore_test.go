package fleet_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workers"
)

// An archive of the day before is put back while Temporal knows later dreams and later wakes: the agent dreams at once,
// under a number that nobody knows, and what the archive shows as running has the end that its workflow says.
func TestAnArchiveIsPutBackUnderARunningTemporal(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]func(*testing.T) *redis.Server{
		"SQLite": func(*testing.T) *redis.Server { return nil },
		"Redis":  func(t *testing.T) *redis.Server { return redis.Start(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, on(t))
			r.dream()
			r.visit()
			running := r.begin()
			r.paying(running, 3)
			began := time.Now()
			kept := r.export()
			_, err := r.Result(r.ctx, running)
			require.NoError(t, err)
			r.dream()
			r.visit()
			r.visit()
			billed := r.paid.Billing.Book().Total
			r.restore(kept)

			restored := time.Now()
			loss := memory.Loss{Since: began, Last: restored, Noticed: restored}
			require.Less(t, r.counted(), billed, "purchases are lost")
			s := r.Starter.With(func(*starter.Options) {})
			s.Ledger = r.Store.Ledger()
			done, still, err := s.ForLostDreams(nil).Reenter(r.ctx, loss)
			require.NoError(t, err)
			require.Zero(t, still)
			require.Positive(t, done.Amount)
			require.GreaterOrEqual(t, r.counted(), billed, "what Temporal's dreams spent is in the ledger again")
			done, _, err = s.ForLostDreams(nil).Reenter(r.ctx, loss)
			require.NoError(t, err)
			require.Zero(t, done, "once")
			id := r.begin()
			r.paying(id, 1)
			t.Logf("from the import to the first purchase of %s: %s", id, time.Since(restored).Round(time.Millisecond))
			require.Equal(t, "dream/iris/0004", id)
			_, err = r.Result(r.ctx, id)
			require.NoError(t, err)
			require.Equal(t, dream.Completed, r.record(running).Outcome, r.record(running).Reason)
			require.Contains(t, r.record(running).Reason, "its end is not in the store")
			r.visit()
			r.dream()
			r.requireTrue()
		})
	}
}

// An archive is put back that shows a dream as running, which was woken since and waits to go on: that is what its
// record says again, and the dream goes on.
func TestADreamThatWaitsInTemporalWaitsInTheRestoredStore(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.visit()
	id := r.begin()
	r.paying(id, 3)
	kept := r.export()
	r.visit()
	require.True(t, r.record(id).Resumable())
	r.restore(kept)
	require.Equal(t, dream.Dreaming, r.record(id).Outcome)
	_, err := workers.Reconcile(r.ctx, r.Ports, r.Starter.Executions())
	require.NoError(t, err)
	require.True(t, r.record(id).Resumable(), "%s: %s", r.record(id).Outcome, r.record(id).Reason)
	r.visit()
	begun, err := r.Starter.Resume(r.ctx, r.agent.ID)
	require.NoError(t, err)
	require.Equal(t, id, begun.Dream)
	result, err := r.Result(r.ctx, id)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	r.dream()
	r.requireTrue()
}

// A Redis server comes back without its newest writes, under a deployment that runs on, with a dream that the server
// has never heard of and a dream that it takes for running.
func TestARedisServerFailsOverWithLostWrites(t *testing.T) {
	t.Parallel()
	server := redis.Start(t, redis.Fsync("always"))
	r := newRig(t, server)
	r.dream()
	r.visit()
	running := r.begin()
	r.paying(running, 3)
	written, kept := filepath.Join(server.Dir, "appendonlydir"), t.TempDir()
	require.NoError(t, os.CopyFS(kept, os.DirFS(written)))
	_, err := r.Result(r.ctx, running)
	require.NoError(t, err)
	r.dream()
	r.visit()
	unknown := r.begin()
	r.paying(unknown, 3)
	server.Kill()
	require.NoError(t, os.RemoveAll(written))
	require.NoError(t, os.CopyFS(written, os.DirFS(kept)))
	server.Restart()

	lost, err := r.Result(r.ctx, unknown)
	require.NoError(t, err)
	require.Equal(t, dream.Canceled, lost.Outcome, lost.Reason)
	require.Contains(t, lost.Reason, "the store has no record of it")
	restored := time.Now()
	id := r.begin()
	r.paying(id, 1)
	t.Logf("from the end of the lost dream to the first purchase of %s: %s", id, time.Since(restored))
	_, err = r.Result(r.ctx, id)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, r.record(running).Outcome, r.record(running).Reason)
	r.visit()
	r.dream()
	r.requireTrue()
}

// sightless is a Temporal client that is told of no dream: the negative control of the numbers.
type sightless struct{ client.Client }

func (s sightless) DescribeWorkflowExecution(
	ctx context.Context, id, run string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if run == "" && strings.HasPrefix(id, "dream/") {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	return s.Client.DescribeWorkflowExecution(ctx, id, run)
}

// Whoever gives a number again that Temporal knows is refused, and not told that a dream has begun.
func TestANumberThatTemporalKnowsBeginsNoDream(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	kept := r.export()
	r.dream()
	r.restore(kept)
	seeing := r.Starter.Client
	r.Starter.Client = sightless{seeing}
	_, err := r.Starter.Begin(r.ctx, starter.DreamRequest{Agent: r.agent.Handle, AsOf: testdeploy.Night})
	require.ErrorContains(t, err, "already started")
	require.Equal(t, dream.Canceled, r.record("dream/iris/0001").Outcome)
	require.Contains(t, r.record("dream/iris/0001").Reason, "it was never begun")
	r.Starter.Client = seeing
	r.dream()
}
