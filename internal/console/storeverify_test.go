package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func TestAStoreIsVerifiedAndSaysWhatWasChecked(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.depot()
	require.Equal(t, exit.OK, d.run(80, "store", "verify"), d.err.String())
	d.golden("store_verify")
}

// broken is a store that finds itself damaged.
type broken struct{ lent }

func (broken) Verify(context.Context) (memory.Integrity, error) {
	return memory.Integrity{Checked: []string{"every page"}, Faults: []string{"2 revisions without their memory"}}, nil
}

func TestADamagedStoreIsSaidToBeSoAndFails(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.depot()
	here := d.stores.Here
	d.stores.Here = func(ctx context.Context) (deploy.Deposit, error) {
		dep, err := here(ctx)
		dep.Store = broken{lent{d.store}}
		return dep, err
	}
	require.Equal(t, exit.Unwell, d.run(80, "store", "verify"))
	require.Contains(t, d.err.String(), "here.db is damaged: 2 revisions without their memory")
	require.Contains(t, d.err.String(), "docs/backup.md")
	d.run(0, "store", "verify", "--json")
	var answer struct{ Checked, Skipped, Faults []string }
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &answer))
	require.Equal(t, []string{"2 revisions without their memory"}, answer.Faults)
}

func TestAnArchiveIsVerified(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.depot()
	path := filepath.Join(t.TempDir(), "a.oneiros")
	require.Equal(t, exit.OK, d.run(80, "store", "export", path), d.err.String())
	require.Equal(t, exit.OK, d.run(80, "store", "verify", path), d.err.String())
	require.Contains(t, d.out.String(), "counts and checksum")
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, damaged := range map[string][]byte{
		"cut off": body[:len(body)/2],
		"altered": bytes.Replace(body, []byte("echo"), []byte("ecko"), 1),
	} {
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		require.Equal(t, exit.Unwell, d.run(80, "store", "verify", path), name)
		require.Contains(t, d.err.String(), "is damaged", name)
	}
	require.Equal(t, exit.NotFound, d.run(80, "store", "verify", filepath.Join(t.TempDir(), "absent")))
}
