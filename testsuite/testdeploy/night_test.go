package testdeploy_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// patience bounds one test; nothing is measured by it.
const patience = 3 * time.Minute

// needsServer skips a test that needs the real server where only quick tests are wanted.
func needsServer(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs on a real Temporal server; make test runs it")
	}
}

// open opens a deployment with a running worker.
func open(t *testing.T, edit func(*testdeploy.Config)) *testdeploy.Deployment {
	t.Helper()
	deployment, w := openWithoutWorker(t, edit)
	t.Cleanup(w.Stop)
	return deployment
}

// openWithoutWorker opens a deployment on the shared server with a store of its own; the caller starts and stops the
// worker.
func openWithoutWorker(t *testing.T, edit func(*testdeploy.Config)) (*testdeploy.Deployment, worker.Worker) {
	t.Helper()
	needsServer(t)
	server := temporal.Shared(t)
	config := testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue: server.TaskQueue,
		Knobs: dream.DefaultKnobs(), Model: "script",
	}
	if edit != nil {
		edit(&config)
	}
	deployment, err := testdeploy.Open(context.Background(), config, server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, deployment.Close()) })
	t.Cleanup(func() { requireValidEvents(t, deployment) })
	w, err := deployment.StartWorker()
	require.NoError(t, err)
	return deployment, w
}

func billedProvider(t *testing.T, o provider.Options) *provider.Server {
	t.Helper()
	p, err := provider.Start(o)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

func TestAWholeNightWithTheBuiltInModel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	deployment := open(t, nil)
	agent, err := deployment.AddAgent(ctx, 0, "")
	require.NoError(t, err)
	seed := uint64(7)
	begun, err := deployment.Starter.Begin(
		ctx,
		starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night},
	)
	require.NoError(t, err)
	require.Equal(t, "dream/echo/0001", begun.Dream)
	result, err := deployment.Result(ctx, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.Zero(t, result.Spent)
}

func TestAWholeNightWithAPaidModel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := billedProvider(t, provider.Options{Seed: 1})
	deployment := open(t, func(config *testdeploy.Config) { config.Provider, config.DropAnswers = p.URL, true })
	agent, err := deployment.AddAgent(ctx, 1, "")
	require.NoError(t, err)
	seed := uint64(7)
	begun, err := deployment.Starter.Begin(
		ctx,
		starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night},
	)
	require.NoError(t, err)
	result, err := deployment.Result(ctx, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.Equal(t, p.Billing.Book().Total, result.Spent, "a night without faults costs what the provider billed")
	for _, row := range rowsOf(t, ctx, deployment, begun.Dream) {
		_, kept, err := deployment.Store.Ledger().Answer(ctx, row.Step)
		require.NoError(t, err)
		require.False(t, kept, "the answer of %s is kept after the night", row.Step)
	}
}
