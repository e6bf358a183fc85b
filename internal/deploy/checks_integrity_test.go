package deploy

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
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
		require.NoError(t, h.Keys.PutKey(t.Context(), k))
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
			require.Equal(t, Well, f.State, f.Found)
			require.Contains(t, f.Found, "all 1 records and the sums of the ledger")
			require.Contains(t, f.Found, "schema ")
			continue
		}
		require.Equal(t, Ill, f.State, f.Found)
		require.Contains(t, f.Advice, "restore the last good one")
	}
}
