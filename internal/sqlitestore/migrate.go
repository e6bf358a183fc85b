package sqlitestore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/seed-56a03226/oneiros/internal/store"
)

//go:embed schema/*.sql
var schemas embed.FS

// applicationID marks the file as ours in SQLite's header: "onei" in ASCII.
const applicationID = 0x6f6e6569

// migrate brings the file to the newest schema. Each step is one transaction that also sets the version. A process
// killed in between leaves a file of one schema or the next, and two processes may open a new file at the same time.
func (s *file) migrate(ctx context.Context) error {
	steps, err := fs.Glob(schemas, "schema/*.sql") // sorted
	if err != nil {
		return err
	}
	done, err := s.checkFile(ctx, len(steps))
	if err != nil {
		return err
	}
	if s.asItIs != nil {
		if done < len(steps) {
			return fmt.Errorf("the file has schema %d, and must be raised to %d: %w", done, len(steps), s.asItIs)
		}
		return nil
	}
	if !s.private {
		if err := s.startLog(ctx); err != nil {
			return err
		}
	}
	for i, name := range steps[done:] {
		script, err := schemas.ReadFile(name)
		if err != nil {
			return err
		}
		if err := s.step(ctx, done+i+1, string(script)); err != nil {
			return fmt.Errorf("schema %d: %w", done+i+1, err)
		}
	}
	return nil
}

// checkFile checks the file before anything in it is changed, and returns its schema. It reads in one transaction,
// because another process may be creating the tables.
func (s *file) checkFile(ctx context.Context, newest int) (version int, err error) {
	err = s.lendWriter(ctx, false, func(l *dbConn) error {
		return l.inTransaction(ctx, ctx, "BEGIN", func(d *tx) {
			id := cell[int64](d, "PRAGMA application_id")
			tables := cell[int64](d, "SELECT count(*) FROM sqlite_schema")
			version = cell[int](d, "PRAGMA user_version")
			switch {
			case id != applicationID && (id != 0 || tables > 0):
				d.fail(errors.New("this SQLite file belongs to another program; name a new file"))
			case s.set.existing && tables == 0:
				d.fail(ErrAbsent)
			case version > newest:
				d.fail(fmt.Errorf(
					"the file has schema %d and this program knows schemas up to %d; use the newer program that wrote it",
					version, newest))
			}
		})
	})
	return version, err
}

// startLog turns the write-ahead log on. SQLite does not wait for other processes here, so startLog does.
func (s *file) startLog(ctx context.Context) error {
	return s.lendWriter(ctx, false, func(l *dbConn) error {
		wait, cancel := context.WithTimeout(ctx, s.set.busy)
		defer cancel()
		for {
			d := &tx{dbConn: l, ctx: ctx}
			if mode := cell[string](d, "PRAGMA journal_mode=WAL"); mode != "wal" {
				d.fail(fmt.Errorf(
					"the file keeps a journal of mode %q; the write-ahead log cannot be used on this file system", mode))
			}
			if !busy(d.err) || store.Pause(wait, 5*time.Millisecond, nil) != nil {
				return d.err
			}
		}
	})
}

func (s *file) step(ctx context.Context, version int, script string) error {
	return s.write(ctx, func(d *tx) {
		if cell[int](d, "PRAGMA user_version") >= version {
			return
		}
		for _, text := range []string{
			script,
			"PRAGMA application_id = " + strconv.Itoa(applicationID),
			"PRAGMA user_version = " + strconv.Itoa(version),
		} {
			if d.err == nil {
				_, err := d.conn.ExecContext(d.ctx, text)
				d.fail(err)
			}
		}
		if version == schemaOfSpent {
			book{d}.addFolded()
		}
	})
}

// schemaOfSpent is the schema that brings the totals by day.
const schemaOfSpent = 20

// busy reports whether another connection holds the lock.
func busy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == lib.SQLITE_BUSY
}

// noTransaction reports whether SQLite had already rolled back by itself.
func noTransaction(err error) bool {
	return strings.Contains(err.Error(), "no transaction is active")
}
