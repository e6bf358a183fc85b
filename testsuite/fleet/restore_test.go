package fleet_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
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
			kept := r.export()
			_, err := r.Result(r.ctx, running)
			require.NoError(t, err)
			r.dream()
			r.visit()
			r.visit()
			r.restore(kept)

			restored := time.Now()
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
