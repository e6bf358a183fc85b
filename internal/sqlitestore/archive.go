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

	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/memory/archive"
)

var _ memory.Movable = (*Store)(nil)

// errStopped ends an export whose reader has stopped.
var errStopped = errors.New("enough")

// Export returns everything in one snapshot of the file.
func (s *Store) Export(ctx context.Context) memory.Records {
	return func(yield func(memory.Record, error) bool) {
		err := s.read(ctx, func(d tx) error {
			return d.export(func(r memory.Record) error {
				if !yield(r, nil) {
					return errStopped
				}
				return nil
			})
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(memory.Record{}, fmt.Errorf("export %s: %w", s.name, err))
		}
	}
}

// tables lists all tables with data of a deployment. Claims are left out: they hold the responses to repeated requests
// for a day only.
var tables = []string{
	"feeds", "agents", "keys", "access_settings", "lives", "presences", "leases", "slots", "affects", "items",
	"revisions", "vectors", "moves", "events", "notes",
	"attempts", "accounts", "answers", "allowances",
}

// importCache is the page cache during an import, in KiB: it holds most of the indexes of 100,000 memories.
const importCache = 256 << 10

// Import fills the file in one transaction, exports it again inside of the transaction, and commits only if the result
// is the same. Other writers of the file wait meanwhile, up to their timeout.
func (s *Store) Import(ctx context.Context, records memory.Records) (memory.Tally, error) {
	var given memory.Tally
	err := s.writing(ctx, false, func(l *dbConn) error {
		set := func(kib int) error {
			_, err := l.conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA cache_size = -"+strconv.Itoa(kib))
			return err
		}
		if err := set(importCache); err != nil {
			return err
		}
		err := l.inTransaction(ctx, "BEGIN IMMEDIATE", func() error {
			var err error
			given, err = tx{l, context.WithoutCancel(ctx)}.fill(ctx, records)
			return err
		})
		return errors.Join(err, set(usualCache))
	})
	// The log is as long as the archive, whether the import was committed or not. While somebody reads, it cannot be
	// truncated; that happens later.
	if emptied := s.emptyLog(context.WithoutCancel(ctx), false); !errors.Is(emptied, errLogInUse) {
		err = errors.Join(err, emptied)
	}
	if err != nil {
		return memory.Tally{}, fmt.Errorf("import into %s: %w", s.name, s.explain(err))
	}
	return given, nil
}

// usualCache is the page cache of the writing connection in KiB, as addresses sets it.
const usualCache = 16384

func (d tx) fill(ctx context.Context, records memory.Records) (given memory.Tally, err error) {
	if err := d.checkEmpty(); err != nil {
		return given, err
	}
	f := importer{tx: d}
	for r, err := range archive.Through(records, &given) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = f.importRecord(r)
		}
		if err != nil {
			return given, err
		}
	}
	kept, err := archive.Count(func(yield func(memory.Record, error) bool) {
		err := d.export(func(r memory.Record) error {
			if !yield(r, ctx.Err()) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(memory.Record{}, err)
		}
	})
	if err == nil && kept != given {
		err = fmt.Errorf("%w: given %+v, kept %+v", memory.ErrAltered, given, kept)
	}
	return given, err
}

// checkEmpty refuses a file that contains anything.
func (d tx) checkEmpty() error {
	for _, table := range tables {
		var some bool
		if _, err := d.one("SELECT EXISTS (SELECT 1 FROM "+table+")", nil, &some); err != nil {
			return err
		}
		if some {
			return fmt.Errorf("the file is not empty (table %s); only an empty store imports: %w", table,
				memory.ErrOccupied)
		}
	}
	return nil
}

// Listeners counts the sockets beside the file that another process reads.
func (s *Store) Listeners(context.Context) (int, error) {
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
	return n, wrap(err, "who listens beside "+s.name)
}
