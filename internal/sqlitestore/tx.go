package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/store"
)

// tx is one transaction on a connection. It keeps its first error and does nothing after it: every statement then
// returns zero values, and at its end the transaction is rolled back.
type tx struct {
	*dbConn
	ctx context.Context
	err error
}

// fail ends the transaction with an error, unless that is nil or it has failed already.
func (d *tx) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// doing adds to an error of do what it was doing.
func (d *tx) doing(what string, do func()) {
	if d.err == nil {
		do()
		d.err = store.Wrap(d.err, what)
	}
}

// statement prepares a query; nil after a failure.
func (d *tx) statement(query string) *sql.Stmt {
	d.fail(d.ctx.Err())
	if d.err != nil {
		return nil
	}
	stmt, err := d.prepare(query)
	d.fail(err)
	return stmt
}

// exec runs a statement and returns how many rows it changed.
func (d *tx) exec(query string, args ...any) (n int64) {
	stmt := d.statement(query)
	if stmt == nil {
		return 0
	}
	res, err := stmt.ExecContext(d.ctx, args...)
	if err == nil {
		n, err = res.RowsAffected()
	}
	d.fail(err)
	return n
}

// one scans the first row of a query into dest; false when there is no row.
func (d *tx) one(query string, args []any, dest ...any) bool {
	stmt := d.statement(query)
	if stmt == nil {
		return false
	}
	err := stmt.QueryRowContext(d.ctx, args...).Scan(dest...)
	if !errors.Is(err, sql.ErrNoRows) {
		d.fail(err)
	}
	return err == nil
}

// scanner reads the columns of a row.
type scanner = func(dest ...any)

// each calls row for every row of a query. scan's results are valid until row returns.
func (d *tx) each(query string, args []any, row func(scan scanner)) {
	stmt := d.statement(query)
	if stmt == nil {
		return
	}
	found, err := stmt.QueryContext(d.ctx, args...)
	if err != nil {
		d.fail(err)
		return
	}
	defer found.Close()
	scan := func(dest ...any) { d.fail(found.Scan(dest...)) }
	for d.err == nil && found.Next() {
		row(scan)
		d.fail(d.ctx.Err())
	}
	d.fail(found.Err())
}

// in returns what do makes of one transaction, which run begins and ends: file.read, readOnce, write, writeUrgent or
// writeLedger. what names it in an error.
func in[T any](
	ctx context.Context, run func(context.Context, func(*tx)) error, what string, do func(*tx) T,
) (T, error) {
	var value T
	err := run(ctx, func(d *tx) { value = do(d) })
	return store.Result(value, err, what)
}

// rows returns what row makes of every row of a query.
func rows[T any](d *tx, query string, args []any, row func(scan scanner) T) []T {
	var all []T
	d.each(query, args, func(scan scanner) { all = append(all, row(scan)) })
	return all
}

// column returns the one column of every row of a query.
func column[T any](d *tx, query string, args ...any) []T {
	return rows(d, query, args, func(scan scanner) (value T) {
		scan(&value)
		return value
	})
}

// decoded returns the one column of every row of a query, which is JSON.
func decoded[T any](d *tx, query string, args ...any) []T {
	all, err := store.Decode[T](column[string](d, query, args...))
	d.fail(err)
	return all
}

// pairs returns the second column of every row of a query by the first.
func pairs[T any](d *tx, query string, args ...any) map[string]T {
	found := map[string]T{}
	d.each(query, args, func(scan scanner) {
		var name string
		var value T
		scan(&name, &value)
		found[name] = value
	})
	return found
}

// cell returns the one column of the first row of a query; zero when there is no row.
func cell[T any](d *tx, query string, args ...any) (value T) {
	d.one(query, args, &value)
	return value
}

// insertInto returns the statement that inserts a row with these columns.
func insertInto(table, columns string) string {
	return "INSERT INTO " + table + " (" + columns + ") VALUES " + valuesOf(columns)
}

// valuesOf returns a list of as many parameters as there are columns.
func valuesOf(columns string) string {
	return "(?" + strings.Repeat(", ?", strings.Count(columns, ",")) + ")"
}

// jsonText is a value in a column of JSON. An empty column and NULL leave it as it is.
type jsonText struct{ value any }

// Scan decodes the column into the value, which is a pointer.
func (j jsonText) Scan(column any) error {
	text, _ := column.(string)
	if body, ok := column.([]byte); ok {
		text = string(body)
	}
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), j.value)
}

// Value encodes the value.
func (j jsonText) Value() (driver.Value, error) {
	body, err := json.Marshal(j.value)
	return string(body), err
}

// sortedTime is a time in a column that is sorted by.
type sortedTime time.Time

// Scan reverses Value.
func (t *sortedTime) Scan(column any) error {
	n, _ := column.(int64)
	*t = sortedTime(fromNanos(n))
	return nil
}

// Value returns the time as nanos does.
func (t sortedTime) Value() (driver.Value, error) { return nanos(time.Time(t)), nil }

// textTime is a time in a column that is never sorted by.
type textTime time.Time

// Scan reverses Value.
func (t *textTime) Scan(column any) error {
	text, _ := column.(string)
	at, err := parseDate(text)
	*t = textTime(at)
	return err
}

// Value returns the time as date does.
func (t textTime) Value() (driver.Value, error) { return date(time.Time(t)), nil }

// optionalTime is a time in a column that is sorted by and NULL for the zero time.
type optionalTime time.Time

// Scan reverses Value.
func (t *optionalTime) Scan(column any) error {
	*t = optionalTime{}
	if n, ok := column.(int64); ok {
		*t = optionalTime(fromNanos(n))
	}
	return nil
}

// Value returns the time as nanos does.
func (t optionalTime) Value() (driver.Value, error) {
	if time.Time(t).IsZero() {
		return nil, nil
	}
	return nanos(time.Time(t)), nil
}
