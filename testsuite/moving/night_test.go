package moving

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/sample"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// patience bounds one test; nothing is measured by it.
const patience = 3 * time.Minute

// Two agents dream on a SQLite file, everything moves to Redis, where one of them dreams again with the same workers'
// code and the same Temporal, and moves back to a file; nothing is lost on either way.
func TestADeploymentThatHasDreamtIsMovedToRedisAndBack(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs on a real Temporal server; make test runs it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	server := temporal.Shared(t)
	config := testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue: server.TaskQueue,
		Knobs: dream.DefaultKnobs(),
	}
	onFile, err := testdeploy.Open(ctx, config, server.Dial(t))
	require.NoError(t, err)
	for agentState := range 2 {
		agent, err := onFile.AddAgent(ctx, agentState, "")
		require.NoError(t, err)
		sleepThrough(ctx, t, onFile, agent.Handle, 1)
	}
	renamed, err := onFile.Store.Find(ctx,
		memory.Query{Agent: sample.Diaries()[0].Agent.ID, Kinds: []dream.Kind{dream.KindRecord}})
	require.NoError(t, err)
	// what the dream itself changed has one revision, whatever its number
	renamed[0].(*dream.Record).Theme = "named afterwards"
	_, err = onFile.Store.Commit(ctx,
		memory.Write{Agent: renamed[0].Header().Agent, Cause: "operator", Change: renamed[:1]})
	require.NoError(t, err)
	_, err = onFile.Store.Arrive(ctx, presence.Visit{
		Agent:  "nobody",
		Client: "web",
		Cause:  presence.Connect,
		Now:    testdeploy.Night,
		For:    time.Minute,
	})
	require.NoError(t, err)

	config.Redis, config.Prefix = redis.Shared(t).URL, redis.Prefix(t)
	onRedis, err := testdeploy.Open(ctx, config, server.Dial(t))
	require.NoError(t, err)
	moved := carry(t, movable(t, onFile), movable(t, onRedis))
	require.Equal(t, contents(t, movable(t, onFile)), contents(t, movable(t, onRedis)))
	require.NotZero(t, moved.Slots+moved.Leases)
	for what, n := range map[string]int{
		"agents": moved.Agents - 1, "memories": moved.Items - 200, "vectors": moved.Vectors - 100,
		"events":  moved.Events - 20,
		"revised": moved.Revisions - moved.Items, "affects": moved.Affects, "attempts": moved.Attempts - 10,
		"accounts": moved.Accounts,
	} {
		require.Positive(t, n, "a night leaves %s: %+v", what, moved)
	}
	require.NoError(t, onFile.Close())
	sleepThrough(ctx, t, onRedis, "echo", 2)

	back, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "back.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, back.Close()) }()
	again := carry(t, movable(t, onRedis), back)
	require.Equal(t, contents(t, movable(t, onRedis)), contents(t, back))
	require.Greater(t, again.Events, moved.Events)
	require.NoError(t, onRedis.Close())
	t.Logf("there: %+v; back: %+v", moved, again)
}

func movable(t *testing.T, c *testdeploy.Deployment) memory.Movable {
	t.Helper()
	m, ok := c.Store.(memory.Movable)
	require.True(t, ok)
	return m
}

// sleepThrough runs a dream of an agent to its end.
func sleepThrough(ctx context.Context, t *testing.T, c *testdeploy.Deployment, handle string, seed uint64) {
	t.Helper()
	w, err := c.StartWorker()
	require.NoError(t, err)
	defer w.Stop()
	begun, err := c.Starter.Begin(
		ctx,
		starter.DreamRequest{
			Agent: handle,
			Seed:  &seed,
			AsOf:  testdeploy.Night.Add(time.Duration(seed) * 24 * time.Hour),
		},
	)
	require.NoError(t, err)
	result, err := c.Result(ctx, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
}
