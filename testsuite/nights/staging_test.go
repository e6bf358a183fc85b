package nights_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// TestADreamThatStagesNothingSaysWhy dreams a month of nights with the built-in model, one a day and all in one day, in
// which nothing new is lived. Each dream that stages no hypothesis says why, in its record and in its events.
func TestADreamThatStagesNothingSaysWhy(t *testing.T) {
	t.Parallel()
	for name, each := range map[string]time.Duration{"one a day": 24 * time.Hour, "all in one day": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Logf("staged by each night: %v", stagedOf(t, each))
		})
	}
}

// stagedOf dreams so many nights, and returns how many hypotheses each has staged.
func stagedOf(t *testing.T, each time.Duration) []int {
	t.Helper()
	if testing.Short() {
		t.Skip("dreams on a real Temporal server; make test runs it")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 9*time.Minute)
	t.Cleanup(cancel)
	server := temporal.Shared(t)
	deployment, err := testdeploy.Open(ctx, testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue: server.TaskQueue, Knobs: dream.DefaultKnobs(), Model: "script", DropAnswers: true,
	}, server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, deployment.Close()) })
	worker, err := deployment.StartWorker()
	require.NoError(t, err)
	t.Cleanup(worker.Stop)
	agent, err := deployment.AddAgent(ctx, 0, "staging-"+each.String())
	require.NoError(t, err)
	var made []int
	for n := range max(nights(), 14) {
		now, seed := testdeploy.Night.Add(time.Duration(n)*each), uint64(n+1)
		resolver := review.Resolver{Memory: deployment.Store, Now: func() time.Time { return now }}
		_, err := resolver.LookUp(ctx, agent.ID)
		require.NoError(t, err)
		begun, err := deployment.Starter.Begin(ctx, starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: now})
		require.NoError(t, err)
		_, err = deployment.Result(ctx, begun.Dream)
		require.NoError(t, err)
		record, err := memory.One[*dream.Record](ctx, deployment.Store, agent.ID, begun.Dream)
		require.NoError(t, err)
		made = append(made, saysWhy(t, ctx, deployment, record))
	}
	return made
}

// saysWhy returns how many hypotheses a dream has staged. One that has staged none says why, in its record and in the
// event of the phase.
func saysWhy(t *testing.T, ctx context.Context, d *testdeploy.Deployment, record *dream.Record) int {
	t.Helper()
	i := slices.IndexFunc(record.Phases, func(p dream.Tally) bool { return p.Phase == dream.Integration })
	require.GreaterOrEqual(t, i, 0, "%s: %+v", record.ID, record.Phases)
	phase := record.Phases[i]
	if phase.Made > 0 {
		return phase.Made
	}
	require.NotEmpty(t, phase.Reason, record.ID)
	events, err := d.Store.Events(ctx, record.Agent, 0, 0)
	require.NoError(t, err)
	isNamed := false
	for _, e := range events {
		var left event.PhaseCompleted
		if e.Dream == record.ID && e.Type == left.EventType() {
			require.NoError(t, json.Unmarshal(e.Data, &left))
			isNamed = isNamed || left.Phase == dream.Integration && left.Reason == phase.Reason
		}
	}
	require.True(t, isNamed, "no event of %s says why integration staged nothing: %s", record.ID, phase.Reason)
	return 0
}
