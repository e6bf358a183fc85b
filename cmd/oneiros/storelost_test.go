package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // to make a file without tables

	"github.com/seed-56a03226/oneiros/internal/exit"
)

// loseStore removes the store's file with those beside it.
func (h *home) loseStore() {
	h.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		require.NoError(h, os.RemoveAll(h.data("oneiros.db"+suffix)))
	}
}

func TestAStoreThatWasLostIsNotBegunAnewUnasked(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(h *home){
		"missing": func(*home) {},
		"zero bytes": func(h *home) {
			require.NoError(h, os.WriteFile(h.data("oneiros.db"), nil, 0o600))
		},
		"without tables": func(h *home) {
			db, err := sql.Open("sqlite", h.data("oneiros.db"))
			require.NoError(h, err)
			for _, statement := range []string{"CREATE TABLE t (a)", "DROP TABLE t", "VACUUM"} {
				_, err = db.ExecContext(h.Context(), statement)
				require.NoError(h, err)
			}
			require.NoError(h, db.Close())
		},
		"only Temporal's database is left": func(h *home) {
			require.NoError(h, os.Remove(h.data("store-made")))
			require.NoError(h, os.WriteFile(h.data("temporal.db"), []byte("histories"), 0o600))
		},
		"only the mark of keys is left": func(h *home) {
			require.NoError(h, os.Remove(h.data("store-made")))
			h.must("keys", "list", "--data-dir", filepath.Join(h.dir, "other")) // another folder is another deployment
			require.NoError(h, os.WriteFile(h.data("keys-required"), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			backup := filepath.Join(h.dir, "backup.oneiros")
			h.must("agents", "add", "echo", "--persona", "A companion.")
			h.must("store", "export", backup)
			h.loseStore()
			lose(h)
			for _, command := range [][]string{
				{"agents", "list"},
				{"up"},
				{"serve"},
				{"keys", "add", "laptop"},
				{"store", "info"},
				{"store", "export", "x"},
			} {
				out, beside, code := h.run(command...)
				require.NotEqual(t, exit.OK, code, "%v: %s", command, out)
				for _, says := range []string{"missing or empty", "restore the file from a copy", "oneiros store new"} {
					require.Contains(t, flat(beside), says, command)
				}
			}
			out, _, code := h.run("doctor")
			require.Equal(t, exit.Failure, code)
			require.Contains(t, flat(out), "missing or empty")
			_, beside, code := h.run("store", "new")
			require.Equal(t, exit.Refused, code)
			require.Contains(t, beside, "add --yes")

			if name == "zero bytes" { // an archive fills it without more ado
				h.must("store", "import", backup)
				require.Contains(t, h.must("agents", "list"), "echo")
				require.Contains(t, h.must("store", "new"), "is there already; nothing was changed")
				return
			}
			require.Contains(t, flat(h.must("store", "new", "--yes")), "is made, and empty")
			require.NotContains(t, h.must("agents", "list"), "echo")
		})
	}
}
