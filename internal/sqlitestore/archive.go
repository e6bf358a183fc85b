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

// errEnough ends an export that nobody reads on.
var errEnough = errors.New("enough")

// Export tells everything of one snapshot of the file.
func (s *Store) Export(ctx context.Context) memory.Records {
	return func(yield func(memory.Record, error) bool) {
		err := s.read(ctx, func(d tx) error {
			return d.export(func(r memory.Record) error {
				if !yield(r, nil) {
					return errEnough
				}
				return nil
			})
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(memory.Record{}, fmt.Errorf("export %s: %w", s.name, err))
		}
	}
}

// tables are all that hold anything of a deployment. Claims pass: they are answers to requests that come twice within a
// day.
var tables = []string{
	"feeds", "agents", "keys", "access_settings", "lives", "presences", "leases", "slots", "affects", "items",
	"revisions", "vectors", "moves", "events", "notes",
	"attempts", "accounts", "answers", "allowances",
}

// roomToFill is the cache of pages while a file is filled, in KiB: most of the indexes of 100,000 memories.
const roomToFill = 256 << 10

// Import fills the file in one transaction, reads it again inside of it, and commits only what says the same. Other
// writers of the file wait meanwhile, as long as they do.
func (s *Store) Import(ctx context.Context, records memory.Records) (memory.Tally, error) {
	var given memory.Tally
	err := s.writing(ctx, false, func(l *dbConn) error {
		set := func(kib int) error {
			_, err := l.conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA cache_size = -"+strconv.Itoa(kib))
			return err
		}
		if err := set(roomToFill); err != nil {
			return err
		}
		err := l.within(ctx, "BEGIN IMMEDIATE", func() error {
			var err error
			given, err = tx{l, context.WithoutCancel(ctx)}.fill(ctx, records)
			return err
		})
		return errors.Join(err, set(usualRoom))
	})
	// The log holds as much as the archive, whether it was kept or not. Where somebody reads, it goes when they are
	// done.
	if emptied := s.emptyLog(context.WithoutCancel(ctx), false); !errors.Is(emptied, errHeld) {
		err = errors.Join(err, emptied)
	}
	if err != nil {
		return memory.Tally{}, fmt.Errorf("import into %s: %w", s.name, s.explain(err))
	}
	return given, nil
}

// usualRoom is the cache of the writing connection in KiB, as addresses sets it.
const usualRoom = 16384

func (d tx) fill(ctx context.Context, records memory.Records) (given memory.Tally, err error) {
	if err := d.vacant(); err != nil {
		return given, err
	}
	f := filling{tx: d}
	for r, err := range archive.Through(records, &given) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = f.keep(r)
		}
		if err != nil {
			return given, err
		}
	}
	kept, err := archive.Count(func(yield func(memory.Record, error) bool) {
		err := d.export(func(r memory.Record) error {
			if !yield(r, ctx.Err()) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(memory.Record{}, err)
		}
	})
	if err == nil && kept != given {
		err = fmt.Errorf("%w: given %+v, kept %+v", memory.ErrAltered, given, kept)
	}
	return given, err
}

// vacant refuses a file that keeps anything.
func (d tx) vacant() error {
	for _, table := range tables {
		var some bool
		if _, err := d.one("SELECT EXISTS (SELECT 1 FROM "+table+")", nil, &some); err != nil {
			return err
		}
		if some {
			return fmt.Errorf("the file keeps something already (%s), and only an empty one is filled: %w", table,
				memory.ErrOccupied)
		}
	}
	return nil
}

// Listeners counts the sockets beside the file that another process answers on.
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
			continue // what a dead process left
		}
		n++
		_ = line.Close()
	}
	return n, wrap(err, "who listens beside "+s.name)
}
