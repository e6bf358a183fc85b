package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
	"github.com/seed-56a03226/oneiros/internal/store/rooms"
)

// maxFaults is the maximum number of damaged pages that SQLite reports.
const maxFaults = 10

// references lists rows that are meaningless without another row. Each query counts the rows whose other row is
// missing.
var references = []struct{ what, count string }{
	{
		"vectors without their memory",
		`SELECT count(*) FROM vectors AS v WHERE NOT EXISTS (SELECT 1 FROM items AS i WHERE i.agent = v.agent AND i.id = v.id)`,
	},
	{
		"revisions without their memory",
		`SELECT count(*) FROM revisions AS r WHERE NOT EXISTS (SELECT 1 FROM items AS i WHERE i.agent = r.agent AND i.id = r.id)`,
	},
	{"events beyond the newest number of their agent", `SELECT count(*) FROM events AS e
		WHERE e.seq > coalesce((SELECT l.seq FROM lives AS l WHERE l.agent = e.agent), 0)`},
	{
		"answers without an attempt",
		`SELECT count(*) FROM answers AS a WHERE NOT EXISTS (SELECT 1 FROM attempts AS t WHERE t.step = a.step)`,
	},
}

// Verify reads every page of the file, as SQLite's quick_check does, and looks for rows whose owning row is missing.
func (s archives) Verify(ctx context.Context) (memory.Integrity, error) {
	var found memory.Integrity
	err := s.lendReader(ctx, func(l *dbConn) error {
		var version int
		if err := l.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		found.Checked = append(found.Checked, fmt.Sprintf("schema %d", version))
		return l.verify(ctx, &found)
	})
	if Damaged(err) {
		found.Faults = append(found.Faults, err.Error())
		err = nil
	}
	return found, store.Wrap(err, "verify ", s.name)
}

func (l *dbConn) verify(ctx context.Context, found *memory.Integrity) error {
	const pages = "every page (quick_check)"
	faults, err := l.quickCheck(ctx)
	found.Faults = append(found.Faults, faults...)
	switch {
	case ctx.Err() != nil:
		found.Skipped = append(found.Skipped, pages+": the time was over")
		return nil
	case err != nil:
		return err
	}
	found.Checked = append(found.Checked, pages)
	for _, r := range references {
		var count int
		err := l.conn.QueryRowContext(ctx, r.count).Scan(&count)
		switch {
		case ctx.Err() != nil:
			found.Skipped = append(found.Skipped, r.what+": the time was over")
			continue
		case err != nil:
			return err
		case count > 0:
			found.Faults = append(found.Faults, fmt.Sprintf("%d %s", count, r.what))
		}
		found.Checked = append(found.Checked, r.what)
	}
	return l.verifyRooms(ctx, found)
}

// verifyRooms checks the records of rooms in one snapshot.
func (l *dbConn) verifyRooms(ctx context.Context, found *memory.Integrity) error {
	var faults []string
	err := l.inTransaction(ctx, ctx, "BEGIN", func(d *tx) {
		var err error
		faults, err = rooms.Verify(roomView{d})
		d.fail(err)
	})
	if ctx.Err() != nil {
		found.Skipped = append(found.Skipped, rooms.Checked+": the time was over")
		return nil
	}
	if err == nil {
		found.Checked = append(found.Checked, rooms.Checked)
	}
	found.Faults = append(found.Faults, faults...)
	return err
}

// quickCheck lists the faults that SQLite finds in the file. Its context can interrupt it, unlike that of other reads.
func (l *dbConn) quickCheck(ctx context.Context) (faults []string, err error) {
	rows, err := l.conn.QueryContext(ctx, fmt.Sprintf("PRAGMA quick_check(%d)", maxFaults))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return faults, err
		}
		if text != "ok" {
			faults = append(faults, text)
		}
	}
	return faults, rows.Err()
}

// Damaged reports whether SQLite found the file corrupt.
func Damaged(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == lib.SQLITE_CORRUPT || e.Code()&0xff == lib.SQLITE_NOTADB)
}
