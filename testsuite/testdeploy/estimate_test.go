package testdeploy_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// The estimate counts the calls that a dream makes when all its cycles go to the peak, and no more in any phase.
func TestTheEstimateCountsEveryCallThatANightMakes(t *testing.T) {
	t.Parallel()
	paid := func(t *testing.T) func(*testdeploy.Config) {
		p := billedProvider(t, provider.Options{Seed: 1})
		return func(config *testdeploy.Config) { config.Provider, config.DropAnswers = p.URL, true }
	}
	for name, c := range map[string]struct {
		seat   int
		config func(*testing.T) func(*testdeploy.Config)
	}{
		"a paid model":       {1, paid},
		"the built-in model": {0, func(*testing.T) func(*testdeploy.Config) { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			deployment := open(t, c.config(t))
			deployment.Starter.Options.Knobs.Depth = dream.DepthFixed
			agent, err := deployment.AddAgent(ctx, c.seat, "")
			require.NoError(t, err)
			seed := uint64(7)
			request := starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night}
			estimated, err := deployment.Starter.Estimate(ctx, request)
			require.NoError(t, err)
			begun, err := deployment.Starter.Begin(ctx, request)
			require.NoError(t, err)
			result, err := deployment.Result(ctx, begun.Dream)
			require.NoError(t, err)
			require.Equal(t, dream.Completed, result.Outcome, result.Reason)
			require.Equal(t, dream.Onset, result.Tallies[0].Phase)
			require.Equal(t, estimated.Phases[0].Calls, result.Tallies[0].Calls)
			for i, phase := range estimated.Phases {
				require.LessOrEqual(t, result.Tallies[i].Calls, phase.Calls, phase.Phase)
			}
		})
	}
}
