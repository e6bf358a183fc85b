package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
		d := &tx{dbConn: l, ctx: ctx}
		version := cell[int](d, "PRAGMA user_version")
		if d.err != nil {
			return d.err
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

// verify makes every check, each in a snapshot of its own, until ctx ends.
func (l *dbConn) verify(ctx context.Context, found *memory.Integrity) error {
	check := func(what string, faults func(d *tx) []string) error {
		err := l.inTransaction(ctx, ctx, "BEGIN", func(d *tx) { found.Faults = append(found.Faults, faults(d)...) })
		switch {
		case ctx.Err() != nil:
			found.Skipped = append(found.Skipped, what+": the time was over")
			return nil
		case err == nil:
			found.Checked = append(found.Checked, what)
		}
		return err
	}
	err := check("every page (quick_check)", func(d *tx) []string {
		faults := column[string](d, fmt.Sprintf("PRAGMA quick_check(%d)", maxFaults))
		return slices.DeleteFunc(faults, func(text string) bool { return text == "ok" })
	})
	for _, r := range references {
		if err != nil {
			return err
		}
		err = check(r.what, func(d *tx) (faults []string) {
			if n := cell[int](d, r.count); n > 0 {
				faults = append(faults, fmt.Sprintf("%d %s", n, r.what))
			}
			return faults
		})
	}
	if err != nil {
		return err
	}
	err = check(store.DayChecked, func(d *tx) []string { return book{d}.verifySpent() })
	if err != nil {
		return err
	}
	return check(rooms.Checked, func(d *tx) []string {
		faults, err := rooms.Verify(roomView{d})
		d.fail(err)
		return faults
	})
}

// Damaged reports whether SQLite found the file corrupt.
func Damaged(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == lib.SQLITE_CORRUPT || e.Code()&0xff == lib.SQLITE_NOTADB)
}
