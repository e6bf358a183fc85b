package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/spend/spendtest"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/internal/store"
)

func TestTotalsByDayAreWhatRowsAddUpTo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	spendtest.RunDayTotals(t, s.Ledger())
	sound(t, s)

	imported := onFile(t)
	_, err := imported.Import(t.Context(), s.Export(t.Context()))
	require.NoError(t, err)
	require.Equal(t, spendtest.DaysAddUp(t, s.Ledger()), spendtest.DaysAddUp(t, imported.Ledger()))
	sound(t, imported)

	do(t, raw(t, path), "UPDATE spent SET settled = settled + 1 WHERE agent = 'echo'")
	found, err := s.Verify(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, found.Faults)
	require.Contains(t, found.Faults[0], "the total of echo on 2026-03-0")
}

// A file of schema 19 has attempts, and sums of folded ones, without totals.
func TestTotalsByDayOfAnOlderFileAreAddedUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s, err := sqlitestore.Open(t.Context(), path)
	require.NoError(t, err)
	spendtest.RunDayTotals(t, s.Ledger())
	want := spendtest.DaysAddUp(t, s.Ledger())
	require.NoError(t, s.Close())
	do(t, raw(t, path), "DROP TRIGGER attempts_reserved", "DROP TRIGGER attempts_imported",
		"DROP TRIGGER attempts_ended", "DROP TABLE spent", "PRAGMA user_version = 19")
	newer := open(t, path)
	require.Equal(t, want, spendtest.DaysAddUp(t, newer.Ledger()))
	sound(t, newer)
}

// sound verifies a store.
func sound(t *testing.T, s *sqlitestore.Store) {
	t.Helper()
	found, err := s.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, found.Faults)
	require.Contains(t, found.Checked, store.DayChecked)
}
