package console_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// lent is the fixture's own store, which no command closes.
type lent struct{ *sqlitestore.Store }

func (lent) Close() error { return nil }

// depot gives the fixture a configured store and others, by file.
func (d *fixture) depot() {
	d.Helper()
	here := func(context.Context) (deploy.Deposit, error) {
		return deploy.Deposit{
			Store: lent{d.store}, Name: "here.db", Use: []string{"store.path: here.db"},
			Remove: "the file here.db",
		}, nil
	}
	d.stores = stores{
		Here: here, Fill: here,
		There: func(ctx context.Context, p deploy.StorePlace) (deploy.Deposit, error) {
			s, err := sqlitestore.Open(ctx, p.To)
			return deploy.Deposit{
				Store: s, Name: filepath.Base(p.To),
				Use: []string{"store.path: " + filepath.Base(p.To)}, Remove: "the file there.db",
			}, err
		},
	}
}

func (d *fixture) tally(s memory.Movable) memory.Tally {
	d.Helper()
	t, err := archive.Count(s.Export(d.Context()))
	require.NoError(d, err)
	return t
}

func TestEverythingIsMovedAndWhatToSetIsSaid(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.depot()
	path := filepath.Join(t.TempDir(), "there.db")
	require.Equal(t, exit.OK, d.run(80, "store", "move", "--to", path), d.err.String())
	d.golden("store_move")
	there, err := sqlitestore.Open(t.Context(), path)
	require.NoError(t, err)
	defer there.Close()
	require.Equal(t, d.tally(d.store), d.tally(there))
	require.Equal(t, exit.Refused, d.run(80, "store", "move", "--to", path))
	require.Contains(t, d.err.String(), "only an empty store imports")
	require.Equal(t, d.tally(d.store), d.tally(there), "what it kept, it keeps")
	require.Equal(t, exit.Usage, d.run(80, "store", "move"))
	require.Equal(t, exit.OK, d.run(0, "store", "info"), d.err.String())
	require.Contains(t, d.out.String(), d.tally(there).SHA256)
}

func TestAStoreInUseIsNotMoved(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.depot()
	path := filepath.Join(t.TempDir(), "there.db")
	f := memory.Fence{Dream: "dream/echo/0002", Run: "r"}
	_, err := d.store.TakeSlot(t.Context(), "echo", memory.Slot{Fence: f, Since: now}, memory.Fence{})
	require.NoError(t, err)
	require.Equal(t, exit.Refused, d.run(80, "store", "move", "--to", path))
	require.Contains(t, d.err.String(), "here.db is in use: echo dreams (dream/echo/0002)")
	require.NoError(t, d.store.FreeSlot(t.Context(), "echo", f))
	_, err = d.store.Arrive(t.Context(), presence.Visit{
		Agent:  "tally",
		Client: "web",
		Cause:  presence.Connect,
		Now:    now,
		For:    time.Hour,
	})
	require.NoError(t, err)
	require.Equal(t, exit.Refused, d.run(80, "store", "move", "--to", path))
	require.Contains(t, d.err.String(), "tally is held awake by web")
	require.Equal(t, exit.OK, d.run(80, "store", "move", "--to", path, "--force"), d.err.String())
	require.Equal(
		t,
		exit.OK,
		d.run(0, "store", "export", filepath.Join(t.TempDir(), "a")),
		"a backup does not mind",
	)
}

// A write to the old store during a move is noticed.
func TestAMoveThatMissedAWriteSaysSo(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.depot()
	here := d.stores.Here
	d.stores.Here = func(ctx context.Context) (deploy.Deposit, error) {
		dep, err := here(ctx)
		dep.Store = &restless{lent: lent{d.store}}
		return dep, err
	}
	require.Equal(t, exit.Failure, d.run(0, "store", "move", "--to", filepath.Join(t.TempDir(), "there.db")))
	require.Contains(t, d.err.String(), "somebody has written to it meanwhile")
}

// restless is a store that is written to between two readings.
type restless struct {
	lent
	read int
}

func (r *restless) Export(ctx context.Context) memory.Records {
	r.read++
	if r.read == 2 {
		if _, err := r.Store.NextDream(ctx, "echo"); err != nil {
			return memory.Failed(err)
		}
	}
	return r.Store.Export(ctx)
}

func TestAnArchiveGoesOutAndComesIn(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.depot()
	path := filepath.Join(t.TempDir(), "backup.oneiros")
	require.Equal(t, exit.OK, d.run(80, "store", "export", path), d.err.String())
	require.Contains(t, d.err.String(), "plain text")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, exit.Usage, d.run(80, "store", "export", path), "a backup is never written over")
	require.Equal(t, exit.OK, d.run(0, "store", "export", "-"))
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(body), d.out.String())

	other := newFixture(t)
	other.depot()
	cut := filepath.Join(t.TempDir(), "cut")
	require.NoError(t, os.WriteFile(cut, body[:len(body)/2], 0o600))
	fill, dropped := other.stores.Fill, false
	other.stores.Fill = func(ctx context.Context) (deploy.Deposit, error) {
		d, err := fill(ctx)
		d.Drop = func() { dropped = true }
		return d, err
	}
	require.Equal(t, exit.Failure, other.run(80, "store", "import", cut))
	require.Contains(t, other.err.String(), "cut off")
	require.True(t, dropped, "a store that was made for the archive")
	other.stores.Fill = fill
	require.Zero(t, other.tally(other.store).Records())
	require.Equal(t, exit.OK, other.run(80, "store", "import", path), other.err.String())
	require.Equal(t, d.tally(d.store), other.tally(other.store))
	require.Equal(t, exit.Refused, other.run(80, "store", "import", path))
	require.Equal(t, exit.NotFound, other.run(80, "store", "import", path+"x"))
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing half lies about")

	piped := newFixture(t)
	piped.depot()
	piped.in = string(body)
	require.Equal(t, exit.OK, piped.run(0, "--json", "store", "import", "-"), piped.err.String())
	require.Contains(t, piped.out.String(), d.tally(d.store).SHA256)
}

func TestAnExportThatFailsLeavesNoFile(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.depot()
	d.stores.Here = func(context.Context) (deploy.Deposit, error) {
		return deploy.Deposit{Store: faulty{lent{d.store}}, Name: "here.db"}, nil
	}
	dir := t.TempDir()
	require.Equal(t, exit.Failure, d.run(0, "store", "export", filepath.Join(dir, "a")))
	require.Contains(t, d.err.String(), "the disk is broken")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Equal(t, exit.Usage, d.run(0, "store", "export", filepath.Join(dir, "no", "folder")))
}

type faulty struct{ lent }

func (faulty) Export(context.Context) memory.Records {
	return memory.Failed(errors.New("the disk is broken"))
}

func TestTheHelpSaysThatAnArchiveIsPlainText(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Equal(t, exit.OK, d.run(80, "store", "export", "--help"))
	require.Contains(t, strings.Join(strings.Fields(d.out.String()), " "),
		"everything in plain text: memories, dreams, vectors")
}
