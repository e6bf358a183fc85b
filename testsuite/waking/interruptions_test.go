package waking_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/waking"
)

// TestRandomInterruptionsLoseNothing wakes dreams at random moments, in every way, with faults of the provider and killed
// workers in between, and audits all that is left: money, fragments, sittings, journal, slots, events.
func TestRandomInterruptionsLoseNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("plays on a real Temporal server; make test runs it")
	}
	run, within := waking.Interruptions{Seed: seed, AtLeast: 40, Lanes: 6, Workers: 2, Kill: 150, Share: .05}, patience
	if full {
		run.AtLeast, within = 1000, 2*time.Hour
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	t.Logf("seed %d", seed)
	e, w, tally, err := run.Perform(ctx, t)
	t.Logf("seed %d: %s", seed, tally)
	require.NoError(t, err)
	require.NoError(t, e.Audit())
	require.NoError(t, e.Once())
	caught, err := e.Partials()
	require.NoError(t, err)
	require.NoError(t, w.Audit())
	t.Logf("%d entries in journals of %d wakes; %d fragments caught, %d let go, %d calls cut; %d attempts, till %s",
		len(w.Entries), w.Total, caught.Captured, caught.Discarded, caught.Cuts, len(e.Rows), e.Book.Total)
	require.GreaterOrEqual(t, w.Total, run.AtLeast)
	require.Positive(t, tally.Kills)
}
