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
)

//go:embed schema/*.sql
var schemas embed.FS

// applicationID marks the file as ours in SQLite's header: "onei" in ASCII.
const applicationID = 0x6f6e6569

// migrate brings the file to the newest schema. Each step is one transaction that also sets the version. A process
// killed in between leaves a file of one schema or the next, and two processes may open a new file at the same time.
func (s *Store) migrate(ctx context.Context) error {
	steps, err := fs.Glob(schemas, "schema/*.sql") // sorted
	if err != nil {
		return err
	}
	if err := s.checkFile(ctx, len(steps)); err != nil {
		return err
	}
	if !s.private {
		if err := s.startLog(ctx); err != nil {
			return err
		}
	}
	for i, name := range steps {
		script, err := schemas.ReadFile(name)
		if err != nil {
			return err
		}
		if err := s.step(ctx, i+1, string(script)); err != nil {
			return fmt.Errorf("schema %d: %w", i+1, err)
		}
	}
	return nil
}

// checkFile checks the file before anything in it is changed. It reads in one transaction, because another process may
// be creating the tables.
func (s *Store) checkFile(ctx context.Context, newest int) error {
	look := func(d tx) error {
		var id, tables, version int64
		if _, err := d.one("PRAGMA application_id", nil, &id); err != nil {
			return err
		}
		if _, err := d.one("SELECT count(*) FROM sqlite_schema", nil, &tables); err != nil {
			return err
		}
		if id != applicationID && (id != 0 || tables > 0) {
			return errors.New("this SQLite file belongs to another program; name a new file")
		}
		if s.set.existing && tables == 0 {
			return ErrAbsent
		}
		if _, err := d.one("PRAGMA user_version", nil, &version); err != nil {
			return err
		}
		if version > int64(newest) {
			return fmt.Errorf(
				"the file has schema %d and this program knows schemas up to %d; use the newer program that wrote it",
				version, newest)
		}
		return nil
	}
	return s.onWriter(ctx, func(d tx) error { return d.inTransaction(ctx, "BEGIN", func() error { return look(d) }) })
}

// startLog turns the write-ahead log on. SQLite does not wait for other processes here, so startLog does.
func (s *Store) startLog(ctx context.Context) error {
	return s.onWriter(ctx, func(d tx) error {
		deadline := time.NewTimer(s.set.busy)
		defer deadline.Stop()
		for {
			var mode string
			_, err := d.one("PRAGMA journal_mode=WAL", nil, &mode)
			if err == nil && mode != "wal" {
				return fmt.Errorf(
					"the file keeps a journal of mode %q; the write-ahead log cannot be used on this file system", mode)
			}
			if err == nil || !busy(err) {
				return err
			}
			pause := time.NewTimer(5 * time.Millisecond)
			select {
			case <-pause.C:
			case <-deadline.C:
				pause.Stop()
				return err
			case <-ctx.Done():
				pause.Stop()
				return ctx.Err()
			}
		}
	})
}

// onWriter runs do on the writing connection, outside any transaction.
func (s *Store) onWriter(ctx context.Context, do func(tx) error) error {
	return s.writing(ctx, false, func(l *dbConn) error { return do(tx{l, ctx}) })
}

func (s *Store) step(ctx context.Context, version int, script string) error {
	return s.write(ctx, func(d tx) error {
		var have int
		if _, err := d.one("PRAGMA user_version", nil, &have); err != nil {
			return err
		}
		if have >= version {
			return nil
		}
		if _, err := d.conn.ExecContext(d.ctx, script); err != nil {
			return err
		}
		for _, pragma := range []string{
			"application_id = " + strconv.Itoa(applicationID),
			"user_version = " + strconv.Itoa(version),
		} {
			if _, err := d.conn.ExecContext(d.ctx, "PRAGMA "+pragma); err != nil {
				return err
			}
		}
		return nil
	})
}

// busy reports whether another connection holds the lock.
func busy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == lib.SQLITE_BUSY
}

// noTransaction reports whether SQLite had already rolled back by itself.
func noTransaction(err error) bool {
	return strings.Contains(err.Error(), "no transaction is active")
}
