package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

// statementsKept bounds the prepared statements of one connection. Queries have a few dozen shapes.
const statementsKept = 200

// dbConn is one connection with its prepared statements, used by one goroutine at a time.
type dbConn struct {
	conn  *sql.Conn
	kept  map[string]*sql.Stmt
	order []string
}

func newConn(ctx context.Context, db *sql.DB) (*dbConn, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &dbConn{conn: conn, kept: map[string]*sql.Stmt{}}, nil
}

func (l *dbConn) close() error {
	var faults []error
	for _, stmt := range l.kept {
		faults = append(faults, stmt.Close())
	}
	return errors.Join(append(faults, l.conn.Close())...)
}

func (l *dbConn) prepare(query string) (*sql.Stmt, error) {
	if stmt, ok := l.kept[query]; ok {
		return stmt, nil
	}
	if len(l.order) >= statementsKept {
		oldest := l.order[0]
		l.order = l.order[1:]
		if err := l.kept[oldest].Close(); err != nil {
			return nil, err
		}
		delete(l.kept, oldest)
	}
	stmt, err := l.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", query, err)
	}
	l.kept[query] = stmt
	l.order = append(l.order, query)
	return stmt, nil
}

// tx is one transaction on a line.
type tx struct {
	*dbConn
	ctx context.Context
}

func (d tx) exec(query string, args ...any) (int64, error) {
	if err := d.ctx.Err(); err != nil {
		return 0, err
	}
	stmt, err := d.prepare(query)
	if err != nil {
		return 0, err
	}
	res, err := stmt.ExecContext(d.ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// one scans the first row of a query into dest; false when there is none.
func (d tx) one(query string, args []any, dest ...any) (bool, error) {
	if err := d.ctx.Err(); err != nil {
		return false, err
	}
	stmt, err := d.prepare(query)
	if err != nil {
		return false, err
	}
	err = stmt.QueryRowContext(d.ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each calls row for every row of a query. row must scan what it keeps.
func (d tx) each(query string, args []any, row func(scan func(...any) error) error) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	stmt, err := d.prepare(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(d.ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// writing lends the one connection that writes, to the urgent first.
func (s *Store) writing(ctx context.Context, urgent bool, do func(*dbConn) error) error {
	if err := s.opened(ctx); err != nil {
		return err
	}
	l, err := s.writer.take(ctx, s.closed, urgent)
	if err != nil {
		return err
	}
	defer func() { s.writer.give(l) }()
	defer s.fold.note()
	if s.private {
		s.gate.Lock()
		defer s.gate.Unlock()
	}
	return do(l)
}

// write runs do as one durable transaction that holds the file's write lock from its first statement. The wait for the
// lock ends with ctx. Once the lock is held the transaction runs to its end: it is short, and half of it must never be
// a question of timing.
func (s *Store) write(ctx context.Context, do func(tx) error) error {
	err := s.writing(ctx, false, func(l *dbConn) error {
		return l.within(ctx, "BEGIN IMMEDIATE", func() error { return do(tx{l, context.WithoutCancel(ctx)}) })
	})
	return s.explain(err)
}

// explain says what a busy file means.
func (s *Store) explain(err error) error {
	if busy(err) {
		return away{fmt.Errorf("another writer has held the file %s for more than %s: %w", s.name, s.set.busy, err)}
	}
	return err
}

// away is a file that could not be had in time, in its own words; it is memory.ErrAway.
type away struct{ error }

func (away) Is(target error) bool { return target == memory.ErrAway }
func (a away) Unwrap() error      { return a.error }

// steady is a context that ends between two statements or rows and never in the midst of one: a reader waits for
// nobody, and the driver has two goroutines watch over every statement whose context can end.
type steady struct{ context.Context }

// Done is never.
func (steady) Done() <-chan struct{} { return nil }

// read runs do over one snapshot of the file.
func (s *Store) read(ctx context.Context, do func(tx) error) error {
	return s.reading(ctx, func(l *dbConn) error {
		return l.within(steady{ctx}, "BEGIN", func() error { return do(tx{l, steady{ctx}}) })
	})
}

// glance runs do, which makes a single statement: that is one snapshot by itself.
func (s *Store) glance(ctx context.Context, do func(tx) error) error {
	return s.reading(ctx, func(l *dbConn) error { return do(tx{l, steady{ctx}}) })
}

// reading lends a connection that reads.
func (s *Store) reading(ctx context.Context, do func(*dbConn) error) error {
	l, err := s.reader(ctx)
	if err != nil {
		return err
	}
	defer func() { s.readers <- l }()
	if s.private {
		s.gate.RLock()
		defer s.gate.RUnlock()
	}
	return do(l)
}

// within runs do between the statement begin and COMMIT, and leaves no transaction on the line, whatever happened. The
// driver may answer that ctx has ended after it has carried the statement out, so every failure is rolled back, that of
// begin too, and so is a panic.
func (l *dbConn) within(ctx context.Context, begin string, do func() error) (err error) {
	end := tx{l, context.WithoutCancel(ctx)}
	committed := false
	defer func() {
		if !committed {
			err = errors.Join(err, end.rollback())
		}
	}()
	if _, err := (tx{l, ctx}).exec(begin); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	if _, err := end.exec("COMMIT"); err != nil {
		return err
	}
	committed = true
	return nil
}

// rollback ends a transaction that SQLite may have ended by itself, as it does on a full disk.
func (d tx) rollback() error {
	if _, err := d.exec("ROLLBACK"); err != nil && !noTransaction(err) {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}

// opened refuses a context that has ended and a store that is closed.
func (s *Store) opened(ctx context.Context) error {
	select {
	case <-s.closed:
		return ErrClosed
	default:
		return ctx.Err()
	}
}

func (s *Store) reader(ctx context.Context) (*dbConn, error) {
	if err := s.opened(ctx); err != nil {
		return nil, err
	}
	select {
	case l := <-s.readers:
		return l, nil
	case <-s.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
