package console_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/retention"
)

// sweeper removes what is older than a month by the fixture's clock.
func (d *fixture) sweeper() *retention.Sweeper {
	const month = 30 * 24 * time.Hour
	return &retention.Sweeper{
		Store:  d.store,
		Ledger: d.store.Ledger(),
		Ages:   retention.Ages{Ledger: month, Events: month, Undo: month, Dreams: 2 * month},
		Now:    func() time.Time { return now.AddDate(0, 3, 0) },
		By:     "the console",
	}
}

func TestWhatHasBecomeOldIsCountedAndRemoved(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, exit.OK, d.run(80, "spend", "--by", "agent,day,dream", "--json"), d.err.String())
	spent := d.out.String()
	before, err := d.store.Events(t.Context(), "echo", 0, 0)
	require.NoError(t, err)
	require.Equal(t, exit.OK, d.run(80, "store", "sweep", "--dry-run"), d.err.String())
	d.golden("store-sweep-dry")
	left, err := d.store.Events(t.Context(), "echo", 0, 0)
	require.NoError(t, err)
	require.Equal(t, before, left, "a dry run removes nothing")

	require.Equal(t, exit.OK, d.run(80, "store", "sweep"), d.err.String())
	d.golden("store-sweep")
	left, err = d.store.Events(t.Context(), "echo", 0, 0)
	require.NoError(t, err)
	require.Less(t, len(left), len(before))
	require.Equal(t, exit.OK, d.run(80, "spend", "--by", "agent,day,dream", "--json"), d.err.String())
	require.Equal(t, spent, d.out.String(), "the account answers as before")
	require.Equal(t, exit.OK, d.run(0, "store", "sweep", "--json"), d.err.String())
	require.JSONEq(t, `{"dry_run":false,"attempts":0,"events":0,"revisions":0,"items":0,"ages":{"ledger_ms":2592000000,
		"events_ms":2592000000,"undo_ms":2592000000,"dreams_ms":5184000000}}`, d.out.String())

	_, err = d.store.ChangeSwept(t.Context(), func(state memory.SweepState) (memory.SweepState, error) {
		state.Holder, state.Until = "a worker", now.AddDate(1, 0, 0)
		return state, nil
	})
	require.NoError(t, err)
	require.Equal(t, exit.Refused, d.run(80, "store", "sweep"))
	require.Contains(t, d.err.String(), "another process sweeps: a worker")
}
