package testdeploy_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// A phase whose share of the budget is 0 is left out, and the others run.
func TestAPhaseWithoutAShareIsLeftOut(t *testing.T) {
	t.Parallel()
	needsServer(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := billedProvider(t, provider.Options{Seed: 1})
	deployment := open(t, func(config *testdeploy.Config) {
		config.Provider, config.Model = p.URL, "script"
		config.Knobs.Shares = budget.Shares{
			Onset:       10,
			NREM:        70,
			REM:         0,
			Integration: 15,
			Return:      5,
		}
	})
	agent, err := deployment.AddAgent(ctx, 1, "restless")
	require.NoError(t, err)
	begun, err := deployment.Starter.Begin(ctx, starter.DreamRequest{Agent: agent.Handle, AsOf: testdeploy.Night})
	require.NoError(t, err)
	result, err := deployment.Result(ctx, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	for _, tally := range result.Tallies {
		require.Equal(t, tally.Phase == dream.REM, tally.State == "skipped", tally.Phase)
		if tally.Phase == dream.REM {
			require.Equal(t, "dream.shares.rem is 0", tally.Reason)
			require.Zero(t, tally.Calls)
		} else {
			require.Positive(t, tally.Calls, tally.Phase)
		}
	}
	made, err := deployment.Store.Find(ctx,
		memory.Query{Agent: agent.ID, Dream: begun.Dream, Kinds: []dream.Kind{dream.KindScenario}})
	require.NoError(t, err)
	require.Empty(t, made)
}
