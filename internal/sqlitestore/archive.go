package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// archives copies the whole content of the file to an archive and from one.
type archives struct{ *file }

// Export returns everything in one snapshot of the file.
func (s archives) Export(ctx context.Context) memory.Records {
	return store.Export(s.name, func(put store.Put) error {
		return s.read(ctx, func(d *tx) { (&exporter{book{d}, put}).all() })
	})
}

// tables lists all tables with data of a deployment. Claims and responses are left out: they are answers that are kept
// for a while only.
var tables = []string{
	"feeds", "agents", "keys", "access_settings", "lives", "presences", "leases", "slots", "affects", "items",
	"revisions", "vectors", "moves", "events", "notes", "room_records",
	"attempts", "sums", "spent", "accounts", "answers", "allowances",
}

// importCache is the page cache during an import, in KiB: it holds most of the indexes of 100,000 memories.
const importCache = 256 << 10

// Import fills the file in one transaction, exports it again inside of the transaction, and commits only if the result
// is the same. Other writers of the file wait meanwhile, up to their timeout.
func (s archives) Import(ctx context.Context, records memory.Records) (memory.Tally, error) {
	var given memory.Tally
	certain := context.WithoutCancel(ctx)
	err := s.lendWriter(ctx, false, func(l *dbConn) error {
		set := func(kib int) error {
			_, err := l.conn.ExecContext(certain, "PRAGMA cache_size = -"+strconv.Itoa(kib))
			return err
		}
		if err := set(importCache); err != nil {
			return err
		}
		err := l.inTransaction(ctx, certain, "BEGIN IMMEDIATE", func(d *tx) { given = fill(ctx, d, records) })
		return errors.Join(err, set(usualCache))
	})
	// The log is as long as the archive, whether the import was committed or not. While somebody reads, it cannot be
	// truncated; that happens later.
	if emptied := s.emptyLog(certain, false); !errors.Is(emptied, errLogInUse) {
		err = errors.Join(err, emptied)
	}
	return store.Result(given, s.explain(err), "import into ", s.name)
}

// usualCache is the page cache of the writing connection in KiB, as addresses sets it.
const usualCache = 16384

func fill(ctx context.Context, d *tx, records memory.Records) memory.Tally {
	for _, table := range tables {
		if cell[bool](d, "SELECT EXISTS (SELECT 1 FROM "+table+")") {
			d.fail(fmt.Errorf("the file is not empty (table %s); only an empty store imports: %w", table,
				memory.ErrOccupied))
		}
	}
	if d.err != nil {
		return memory.Tally{}
	}
	f := importer{book: book{d}}
	given, err := store.Import(ctx, records, func(r memory.Record) error {
		f.record(r)
		return d.err
	}, func() error { return d.err }, store.Export("the import", func(put store.Put) error {
		(&exporter{book{d}, func(r memory.Record) error { return errors.Join(ctx.Err(), put(r)) }}).all()
		return d.err
	}))
	d.fail(err)
	return given
}

// Listeners counts the sockets beside the file that another process reads.
func (s archives) Listeners(context.Context) (int, error) {
	if s.private {
		return 0, nil
	}
	folder := socketDir(s.name)
	names, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	n := 0
	for _, entry := range names {
		pid, _, _ := strings.Cut(entry.Name(), "-")
		if !socketName.MatchString(entry.Name()) || pid == strconv.Itoa(os.Getpid()) {
			continue
		}
		line, err := net.DialTimeout("unixgram", filepath.Join(folder, entry.Name()), time.Second)
		if err != nil {
			continue // left by a dead process
		}
		n++
		_ = line.Close()
	}
	return n, store.Wrap(err, "who listens beside ", s.name)
}
