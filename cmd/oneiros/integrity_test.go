package main

import (
	"database/sql"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/exit"
)

func TestTheDoctorFindsAFileWithDamagedPages(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.must("agents", "add", "echo", "--persona", "A companion.")
	h.must("memory", "import", sampleFile(t))
	out := h.must("doctor", "--json")
	require.Contains(t, out, "every page (quick_check)")
	require.Contains(t, out, "and the sums of the ledger")
	db, err := sql.Open("sqlite", h.data("oneiros.db"))
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)")
	require.NoError(t, err)
	var page, size int64
	require.NoError(t,
		db.QueryRowContext(t.Context(), "SELECT rootpage FROM sqlite_schema WHERE name = 'items'").Scan(&page))
	require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA page_size").Scan(&size))
	require.NoError(t, db.Close())
	f, err := os.OpenFile(h.data("oneiros.db"), os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("a disk that lost a sector wrote this"), (page-1)*size)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	out, _, code := h.run("doctor")
	require.Equal(t, exit.Failure, code)
	require.Contains(t, flat(out), "restore the last good one", out)
}
