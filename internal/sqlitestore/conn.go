package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
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
	stmt, err := l.conn.PrepareContext(context.Background(), valueBlind(query))
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", query, err)
	}
	l.statements[query] = stmt
	l.used = append(l.used, query)
	return stmt, nil
}

// valueBlind hides the values of parameters from SQLite's planner. It plans a statement anew each time a parameter is
// bound that its plan looked at: the one of LIMIT, one that is compared with a column of a partial index, one that a
// join passes on. That took half the time of short reads. A plus hides a value and changes nothing else, and none of
// our plans needs one: the conditions of partial indexes are written out.
func valueBlind(query string) string { return strings.ReplaceAll(query, "?", "+?") }

// lendWriter lends the writing connection, to urgent callers first.
func (s *file) lendWriter(ctx context.Context, urgent bool, do func(*dbConn) error) error {
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
func (s *file) write(ctx context.Context, do func(*tx)) error {
	return s.explain(s.lendWriter(ctx, false, func(l *dbConn) error {
		return l.inTransaction(ctx, context.WithoutCancel(ctx), "BEGIN IMMEDIATE", do)
	}))
}

// explain turns SQLite's "busy" into an error that says who holds the file, and marks the failures of a full or failing
// disk and of a file that may only be read as memory.ErrUnwritable.
func (s *file) explain(err error) error {
	if busy(err) {
		return store.Away(
			fmt.Errorf("another writer has held the file %s for more than %s: %w", s.name, s.set.busy, err))
	}
	err = unwritable(err)
	if s.asItIs != nil && errors.Is(err, memory.ErrUnwritable) {
		return s.asItIs
	}
	return err
}

// uninterrupted is a context that is checked between statements and rows only. A reader waits for no lock, and the
// driver would start two goroutines for every statement whose context can end.
type uninterrupted struct{ context.Context }

// Done returns nil: the context never ends during a statement.
func (uninterrupted) Done() <-chan struct{} { return nil }

// read runs do on one snapshot of the file.
func (s *file) read(ctx context.Context, do func(*tx)) error {
	return s.lendReader(ctx, func(l *dbConn) error {
		return l.inTransaction(uninterrupted{ctx}, uninterrupted{ctx}, "BEGIN", do)
	})
}

// readOnce runs do, which makes a single statement. A single statement has a snapshot of its own.
func (s *file) readOnce(ctx context.Context, do func(*tx)) error {
	return s.lendReader(ctx, func(l *dbConn) error {
		d := &tx{dbConn: l, ctx: uninterrupted{ctx}}
		do(d)
		return d.err
	})
}

// lendReader lends a reading connection.
func (s *file) lendReader(ctx context.Context, do func(*dbConn) error) error {
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
// begin waits for locks as long as wait lasts; do runs under ctx. The driver may report that a context has ended
// although it carried out the statement, so every failure is rolled back, including one of begin and a panic.
func (l *dbConn) inTransaction(wait, ctx context.Context, begin string, do func(*tx)) (err error) {
	committed := false
	defer func() {
		if !committed {
			err = errors.Join(err, l.rollback())
		}
	}()
	d := &tx{dbConn: l, ctx: wait}
	d.exec(begin)
	if d.err == nil {
		d.ctx = ctx
		do(d)
		d.ctx = context.WithoutCancel(ctx)
		d.exec("COMMIT")
	}
	committed = d.err == nil
	return d.err
}

// rollback ends a transaction. SQLite may have ended it already, as it does on a full disk.
func (l *dbConn) rollback() error {
	d := &tx{dbConn: l, ctx: context.Background()}
	d.exec("ROLLBACK")
	if d.err != nil && noTransaction(d.err) {
		return nil
	}
	return store.Wrap(d.err, "roll back")
}

// checkOpen returns the error of a context that has ended or of a closed store.
func (s *file) checkOpen(ctx context.Context) error {
	select {
	case <-s.closed:
		return ErrClosed
	default:
		return ctx.Err()
	}
}

func (s *file) reader(ctx context.Context) (*dbConn, error) {
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
