package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

// maxStatements is the maximum number of prepared statements of a connection. Queries have a few dozen shapes.
const maxStatements = 200

// dbConn is one connection with its prepared statements. One goroutine at a time uses it.
type dbConn struct {
	conn       *sql.Conn
	statements map[string]*sql.Stmt
	used       []string
}

func newConn(ctx context.Context, db *sql.DB) (*dbConn, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &dbConn{conn: conn, statements: map[string]*sql.Stmt{}}, nil
}

func (l *dbConn) close() error {
	var faults []error
	for _, stmt := range l.statements {
		faults = append(faults, stmt.Close())
	}
	return errors.Join(append(faults, l.conn.Close())...)
}

func (l *dbConn) prepare(query string) (*sql.Stmt, error) {
	if stmt, ok := l.statements[query]; ok {
		return stmt, nil
	}
	if len(l.used) >= maxStatements {
		oldest := l.used[0]
		l.used = l.used[1:]
		if err := l.statements[oldest].Close(); err != nil {
			return nil, err
		}
		delete(l.statements, oldest)
	}
	stmt, err := l.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", query, err)
	}
	l.statements[query] = stmt
	l.used = append(l.used, query)
	return stmt, nil
}

// tx is one transaction on a connection.
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

// one scans the first row of a query into dest; false when there is no row.
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

// each calls row for every row of a query. scan's results are valid until row returns.
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

// writing lends the writing connection, to urgent callers first.
func (s *Store) writing(ctx context.Context, urgent bool, do func(*dbConn) error) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	l, err := s.writer.take(ctx, s.closed, urgent)
	if err != nil {
		return err
	}
	defer func() { s.writer.release(l) }()
	defer s.fold.note()
	if s.private {
		s.gate.Lock()
		defer s.gate.Unlock()
	}
	return do(l)
}

// write runs do as one durable transaction, which holds the file's write lock from its first statement. ctx bounds the
// wait for the lock only: a transaction that has begun runs to its end, because it is short.
func (s *Store) write(ctx context.Context, do func(tx) error) error {
	err := s.writing(ctx, false, func(l *dbConn) error {
		return l.inTransaction(ctx, "BEGIN IMMEDIATE", func() error { return do(tx{l, context.WithoutCancel(ctx)}) })
	})
	return s.explain(err)
}

// explain turns SQLite's "busy" into an error that says who holds the file.
func (s *Store) explain(err error) error {
	if busy(err) {
		return awayError{
			fmt.Errorf("another writer has held the file %s for more than %s: %w", s.name, s.set.busy, err),
		}
	}
	return err
}

// awayError is a file that could not be locked in time. It is memory.ErrAway.
type awayError struct{ error }

func (awayError) Is(target error) bool { return target == memory.ErrAway }
func (a awayError) Unwrap() error      { return a.error }

// uninterrupted is a context that is checked between statements and rows only. A reader waits for no lock, and the
// driver would start two goroutines for every statement whose context can end.
type uninterrupted struct{ context.Context }

// Done returns nil: the context never ends during a statement.
func (uninterrupted) Done() <-chan struct{} { return nil }

// read runs do on one snapshot of the file.
func (s *Store) read(ctx context.Context, do func(tx) error) error {
	return s.reading(ctx, func(l *dbConn) error {
		return l.inTransaction(uninterrupted{ctx}, "BEGIN", func() error { return do(tx{l, uninterrupted{ctx}}) })
	})
}

// readOnce runs do, which makes a single statement. A single statement has a snapshot of its own.
func (s *Store) readOnce(ctx context.Context, do func(tx) error) error {
	return s.reading(ctx, func(l *dbConn) error { return do(tx{l, uninterrupted{ctx}}) })
}

// reading lends a reading connection.
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

// inTransaction runs do between the statement begin and COMMIT, and always leaves the connection without a transaction.
// The driver may report that ctx has ended although it carried out the statement, so every failure is rolled back,
// including one of begin and a panic.
func (l *dbConn) inTransaction(ctx context.Context, begin string, do func() error) (err error) {
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

// rollback ends a transaction. SQLite may have ended it already, as it does on a full disk.
func (d tx) rollback() error {
	if _, err := d.exec("ROLLBACK"); err != nil && !noTransaction(err) {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}

// checkOpen returns the error of a context that has ended or of a closed store.
func (s *Store) checkOpen(ctx context.Context) error {
	select {
	case <-s.closed:
		return ErrClosed
	default:
		return ctx.Err()
	}
}

func (s *Store) reader(ctx context.Context) (*dbConn, error) {
	if err := s.checkOpen(ctx); err != nil {
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
