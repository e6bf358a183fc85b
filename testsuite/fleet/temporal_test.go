package fleet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
)

// database copies the files of a server's database, without its folder.
func database(t *testing.T, from, to string) {
	t.Helper()
	files, err := filepath.Glob(from + "*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to+strings.TrimPrefix(file, from), body, 0o600))
	}
}

// Temporal's database is put back to an earlier state, in which a dream runs that has ended since, and the store knows
// later dreams and wakes: that dream ends again as it did, and pays for nothing; the agent dreams and wakes on.
func TestTemporalIsPutBackBehindTheStore(t *testing.T) {
	t.Parallel()
	skipShort(t)
	server := temporal.Start(t)
	r := newRigOn(t, server, nil)
	r.visit()
	running := r.begin()
	r.paying(running, 4)
	server.Kill()
	kept := filepath.Join(t.TempDir(), "temporal.db")
	database(t, server.DB, kept)
	server.Restart()
	_, err := r.Result(r.ctx, running)
	require.NoError(t, err)
	r.visit()
	r.dream()
	before := r.spent(spend.Query{})

	r.close()
	server.Kill()
	files, err := filepath.Glob(server.DB + "*")
	require.NoError(t, err)
	for _, file := range files {
		require.NoError(t, os.Remove(file))
	}
	database(t, kept, server.DB)
	server.Restart()
	r.behind = true
	r.open(r.Config)
	result, err := r.Result(r.ctx, running)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.Equal(t, r.record(running).Spent, result.Spent)
	require.Equal(t, before, r.spent(spend.Query{}))
	r.visit()
	r.dream()
	r.requireTrue()
}
