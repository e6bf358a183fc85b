package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Revisions returns every revision of an item, oldest first.
func (s items) Revisions(ctx context.Context, agent, id string) ([]memory.Revision, error) {
	return in(ctx, s.readOnce, "revisions of "+id+" of "+agent, func(d *tx) []memory.Revision {
		found := d.revisions(agent, id)
		if len(found) == 0 {
			d.fail(memory.ErrNotFound)
		}
		return found
	})
}

func (d *tx) revisions(agent, id string) []memory.Revision {
	return rows(d, `SELECT number, kind, cause, at, body, packed, '' FROM revisions WHERE agent = ? AND id = ?
		UNION ALL SELECT revision, kind, cause, changed, body, packed, text FROM items WHERE agent = ? AND id = ? ORDER BY 1`,
		[]any{agent, id, agent, id}, func(scan scanner) (r memory.Revision) {
			var kind, text string
			var at int64
			var body, short []byte
			scan(&r.Number, &kind, &r.Cause, &at, &body, &short, &text)
			r.At = time.Unix(0, at).UTC()
			r.Item = d.decode(kind, d.unpacked(fmt.Sprint("revision ", r.Number), body, short, text, id), r.Number)
			return r
		})
}
