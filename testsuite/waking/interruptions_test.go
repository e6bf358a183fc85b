package waking_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/waking"
)

// TestRandomInterruptionsLoseNothing wakes dreams at random moments, in every way, with faults of the provider and
// killed workers in between. It audits money, fragments, stretches, journal, slots and events.
func TestRandomInterruptionsLoseNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("plays on a real Temporal server; make test runs it")
	}
	run := waking.Interruptions{AtLeast: 40}
	if full {
		run.AtLeast = 1000
	}
	interrupt(t, run)
}

// The same on Redis.
func TestRandomInterruptionsLoseNothingOverRedis(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("plays on real servers; make test runs it")
	}
	run := waking.Interruptions{AtLeast: 15, Redis: redis.Shared(t).URL, Prefix: redis.Prefix(t)}
	if full {
		run.AtLeast = 300
	}
	interrupt(t, run)
}

func interrupt(t *testing.T, run waking.Interruptions) {
	t.Helper()
	run.Seed = seed
	run.Lanes = 6
	run.Workers = 2
	run.Kill = 80
	run.Share = .05
	within := patience
	if full {
		within = 2 * time.Hour
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	t.Logf("seed %d", seed)
	e, w, tally, err := run.Execute(ctx, t)
	t.Logf("seed %d: %s", seed, tally)
	for _, text := range tally.Again {
		t.Logf("repeated: %s", text)
	}
	require.NoError(t, err)
	require.NoError(t, e.Audit())
	require.NoError(t, e.AuditOnce())
	caught, err := e.AuditPartials()
	require.NoError(t, err)
	require.Zero(t, caught.Twins, "no worker was frozen, yet calls were made twice at once")
	require.NoError(t, w.Audit())
	t.Logf(
		"%d entries in journals of %d wakes; %d fragments caught, %d discarded, %d calls cut; %d attempts, provider %s",
		len(w.Entries),
		w.Total,
		caught.Captured,
		caught.Discarded,
		caught.Cuts,
		len(e.Rows),
		e.Book.Total,
	)
	phases := map[dream.Phase]int{}
	light := 0
	forced := 0
	partials := 0
	for _, d := range w.Dreams {
		for _, wake := range d.Wakes {
			phases[wake.Phase]++
			partials += wake.Partials
			if wake.Light {
				light++
			}
			if wake.Forced {
				forced++
			}
		}
	}
	t.Logf("woken in %v; %d between two calls, %d forced; %d partials judged", phases, light, forced, partials)
	require.GreaterOrEqual(t, w.Total, run.AtLeast)
	require.Positive(t, tally.Kills)
}
