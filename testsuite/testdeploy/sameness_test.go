package testdeploy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// runs is how many nights are compared: 20 in the full proof, 4 otherwise.
func runs() int {
	if os.Getenv("PROVE") == "full" {
		return 20
	}
	return 4
}

// TestTheSameNightTwiceIsTheSame proves decision 3: the same seed, memory and model give the same dream, whatever the
// order in which answers arrive, and also when its worker stops in the middle and another takes over. The nights
// differ only in their delays. Everything that was written and spent is compared, except times.
func TestTheSameNightTwiceIsTheSame(t *testing.T) {
	t.Parallel()
	needsServer(t)
	var first string
	for run := range runs() {
		got := describeDream(t, run, run == runs()-1)
		if run == 0 {
			first = got
		}
		require.Equal(t, first, got, "run %d", run)
	}
}

// TestAnotherSeedIsAnotherNight is the negative control: the comparison does find a difference.
func TestAnotherSeedIsAnotherNight(t *testing.T) {
	t.Parallel()
	needsServer(t)
	require.NotEqual(t, describeDream(t, 0, false), describeDreamOfSeed(t, 0, false, 12))
}

func describeDream(t *testing.T, run int, interrupted bool) string {
	return describeDreamOfSeed(t, run, interrupted, 11)
}

// describeDreamOfSeed dreams one night on a deployment of its own and describes all of it except times.
func describeDreamOfSeed(t *testing.T, run int, interrupted bool, seed uint64) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := billedProvider(t, provider.Options{Seed: 5, Jitter: 3 * time.Millisecond, JitterSeed: uint64(run)})
	deployment, w := openWithoutWorker(t, func(config *testdeploy.Config) { config.Provider = p.URL })
	agent, err := deployment.AddAgent(ctx, 0, fmt.Sprintf("same-%d-%d", seed, os.Getpid()))
	require.NoError(t, err)
	begun, err := deployment.Starter.Begin(
		ctx,
		starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night},
	)
	require.NoError(t, err)
	if interrupted {
		settled := func() bool { return len(p.Billing.Calls()) > 20 }
		require.Eventually(t, settled, patience, time.Millisecond)
		w.Stop()
		again, err := deployment.StartWorker()
		require.NoError(t, err)
		t.Cleanup(again.Stop)
	} else {
		t.Cleanup(w.Stop)
	}
	result, err := deployment.Result(ctx, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	return describe(t, ctx, deployment, agent, begun.Dream, interrupted)
}

// describe writes out everything that a dream left behind, without what depends on the clock.
func describe(t *testing.T, ctx context.Context, deployment *testdeploy.Deployment, agent dream.Agent, dreamID string,
	_ bool,
) string {
	t.Helper()
	items, err := deployment.Store.Find(ctx, memory.Query{Agent: agent.ID, Dream: dreamID, Sort: memory.HighestScore})
	require.NoError(t, err)
	for _, item := range items {
		if record, ok := item.(*dream.Record); ok {
			record.Run = ""
			record.At = time.Time{}
			record.Ended = time.Time{}
			record.Spent = 0
			for i := range record.Phases {
				tally := &record.Phases[i]
				tally.Started, tally.Ended = time.Time{}, time.Time{}
				// A worker that stops leaves attempts of unknown result; they count in full, on top of what the night
				// cost.
				tally.Spent = 0
				tally.Calls = 0
				tally.In = 0
				tally.Out = 0
				tally.Cached = 0
			}
		}
	}
	body, err := json.MarshalIndent(items, "", " ")
	require.NoError(t, err)
	affect, err := deployment.Store.Affect(ctx, agent.ID)
	require.NoError(t, err)
	return fmt.Sprintf("%s\n%+v\n%s", body, affect, settled(t, ctx, deployment, dreamID))
}
