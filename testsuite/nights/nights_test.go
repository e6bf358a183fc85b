package nights_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/footprint"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

func TestMain(m *testing.M) {
	testdeploy.RunIfWorkerProcess()
	os.Exit(m.Run())
}

// What many dreams may leave behind.
var mostBytes = map[string]int64{
	"SQLite": 120_000,
	"Redis":  210_000,
} // a night after the first; pages weigh more in few nights than in thirty

const mostDuplicates = .02 // of live items, those that say what another live one says

// nights is how many are run: a month with PROVE=full.
func nights() int {
	if os.Getenv("PROVE") == "full" {
		return 30
	}
	return 4
}

func TestNightsLeaveLittleAndRepeatNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, model, store string }{
		{"built-in", "built-in", "SQLite"},
		{"script", "script", "SQLite"},
		{"redis", "built-in", "Redis"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			measureNights(t, c.model, c.store)
		})
	}
}

func measureNights(t *testing.T, model, kind string) {
	t.Helper()
	if testing.Short() {
		t.Skip("dreams on a real Temporal server; make test runs it")
	}
	limit := 9 * time.Minute
	if nights() > 4 {
		limit = 2 * time.Hour
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	server := temporal.Shared(t)
	config := testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue: server.TaskQueue,
		Knobs: dream.DefaultKnobs(), Model: "script", DropAnswers: true, // as a deployment does
	}
	measure := func() footprint.Footprint {
		f, err := footprint.File(ctx, config.Store)
		require.NoError(t, err)
		return f
	}
	if kind == "Redis" {
		shared := redis.Shared(t)
		config.Redis, config.Prefix = shared.URL, redis.Prefix(t)
		client := shared.Dial(t)
		measure = func() footprint.Footprint {
			f, err := footprint.Server(ctx, client, config.Prefix)
			require.NoError(t, err)
			return f
		}
	}
	if model == "script" {
		p, err := provider.Start(provider.Options{Seed: 1})
		require.NoError(t, err)
		t.Cleanup(p.Close)
		config.Provider = p.URL
	}
	deployment, err := testdeploy.Open(ctx, config, server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, deployment.Close()) })
	worker, err := deployment.StartWorker()
	require.NoError(t, err)
	t.Cleanup(worker.Stop)
	agent, err := deployment.AddAgent(ctx, 0, "nights-"+strings.ToLower(model+kind))
	require.NoError(t, err)
	var before footprint.Footprint
	seed := uint64(7)
	for n := range nights() {
		if n == 1 { // the first dream leaves the working space that each one uses, and the markers
			before = measure()
		}
		begun, err := deployment.Starter.Begin(ctx,
			starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night.AddDate(0, 0, n)})
		require.NoError(t, err)
		result, err := deployment.Result(ctx, begun.Dream)
		require.NoError(t, err)
		require.NotEqual(t, dream.Aborted, result.Outcome, result.Reason)
		require.NotEqual(t, dream.Undone, result.Outcome, result.Reason)
		seed++
	}
	grown := measure().Growth(before, nights()-1)
	live, near := duplicates(t, ctx, deployment.Store, agent.ID)
	t.Logf("%s on %s: %d nights; %d of %d live items repeat another", model, kind, nights(), near, live)
	t.Logf("a night after the first adds %s", grown)
	require.LessOrEqual(t, grown.Total, mostBytes[kind])
	require.LessOrEqual(t, float64(near), mostDuplicates*float64(live))
}

// duplicates counts live items, and those of them that repeat an earlier one.
func duplicates(t *testing.T, ctx context.Context, s memory.Store, agent string) (live, near int) {
	t.Helper()
	items, err := s.Find(ctx, memory.Query{Agent: agent, Sort: memory.Oldest})
	require.NoError(t, err)
	texts := map[string]string{}
	for _, item := range items {
		h := item.Header()
		if h.Kind == dream.KindRecord || h.Kind == dream.KindMarker {
			continue
		}
		if p, ok := item.(*dream.Prediction); ok && p.Claim == "" { // its text is in the fragment that it names
			continue
		}
		live++
		text := strings.Join(strings.Fields(strings.ToLower(item.Text())), " ")
		if of, found := texts[text]; found {
			near++
			if near < 10 {
				t.Logf("  %s repeats %s: %q", h.ID, of, text)
			}
		}
		texts[text] = h.ID
	}
	return live, near
}
