package main

import (
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/console"
)

func TestTheDoctorFindsAStoreThatIsBroken(t *testing.T) {
	t.Parallel()
	for statement, says := range map[string]string{
		"": "",
		"INSERT INTO vectors (agent, id, space, kind, live, v) VALUES ('a', 'gone', 's', 'episode', 1, x'00000000')":                            "1 vectors without their memory",
		"INSERT INTO revisions (agent, id, number, kind, cause, at, body) VALUES ('a', 'gone', 1, 'episode', 'c', 1, '{}')":                     "1 revisions without their memory",
		"INSERT INTO events (agent, seq, id, schema, subsystem, dream, type, at) VALUES ('a', 9, 'e', 1, 's', '', 't', '2026-01-01T00:00:00Z')": "1 events beyond the newest number",
		"INSERT INTO answers (step, answer) VALUES ('s', x'00')":                                                                                "1 answers without an attempt",
		"INSERT INTO accounts (scope, reserved, spent) VALUES ('fleet/2026-01-01', 0, 5)":                                                       "fleet/2026-01-01",
		"UPDATE keys SET body = '{}'": "the body of key",
	} {
		d := appOf(t, "")
		h, err := build(t.Context(), d.cfg, d.cfg.StorePath())
		require.NoError(t, err)
		k, _ := access.New("laptop", access.Client, nil, time.Now())
		require.NoError(t, h.keys.PutKey(t.Context(), k))
		require.NoError(t, h.store.Close())
		if statement != "" {
			db, err := sql.Open("sqlite", d.cfg.StorePath())
			require.NoError(t, err)
			_, err = db.ExecContext(t.Context(), statement)
			require.NoError(t, err, statement)
			require.NoError(t, db.Close())
		}
		f := d.checkIntegrity(t.Context())
		require.Contains(t, f.Found, says)
		require.Contains(t, f.Found, "every page (quick_check)")
		if statement == "" {
			require.Equal(t, console.Well, f.State, f.Found)
			require.Contains(t, f.Found, "all 1 records and the sums of the ledger")
			require.Contains(t, f.Found, "schema ")
			continue
		}
		require.Equal(t, console.Ill, f.State, f.Found)
		require.Contains(t, f.Advice, "restore the last good one")
	}
}

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
	require.Equal(t, console.Failure, code)
	require.Contains(t, flat(out), "restore the last good one", out)
}
