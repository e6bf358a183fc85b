package sqlitestore

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory/index"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// catchUp reads what an agent's index is missing, and returns the version it then has.
func (s vectors) catchUp(ctx context.Context, x *index.Index, agent string) (index.Version, error) {
	what := "read what has changed"
	v, err := in(ctx, s.readOnce, what, func(d *tx) index.Version { return unindexed{d, agent}.version() })
	if err != nil || x.Current(v) {
		return v, err
	}
	return in(ctx, s.read, what, func(d *tx) index.Version {
		u := unindexed{d, agent}
		v := u.version()
		if d.err == nil {
			d.fail(x.CatchUp(v, func(since int64, put func(index.Entry)) (int64, error) {
				u.entries(v, since, put)
				return v.VectorRevision, d.err
			}))
		}
		return v
	})
}

// unindexed is what an agent's index is missing.
type unindexed struct {
	*tx
	agent string
}

// version is the version of an agent's index that has everything.
func (d unindexed) version() index.Version {
	l := d.counters(d.agent)
	return index.Version{
		Erasures: l.scrubs, Space: l.space, Numbers: int(l.dim), VectorRevision: l.vectorRevision,
	}
}

// entries reads the items that changed after a vector revision, or all live items when the index is empty.
func (d unindexed) entries(of index.Version, since int64, put func(index.Entry)) {
	query := `SELECT i.id, i.kind, i.state, i.owner, i.dreamt, i.at, i.text, v.v, v.numbers FROM items AS i INDEXED BY items_tide
		LEFT JOIN vectors AS v ON v.agent = i.agent AND v.id = i.id AND v.space = ? WHERE i.agent = ? AND i.tide > ?`
	if since < 0 {
		query += " AND i.state = 'live'"
	}
	numbers := make([]float32, of.Numbers)
	d.each(query, []any{of.Space, d.agent, since}, func(scan scanner) {
		var e index.Entry
		var state string
		var kept storedVector
		var at int64
		scan(&e.ID, &e.Kind, &state, &e.Owner, &e.Dreamt, &at, &e.Text, &kept.v, &kept.numbers)
		e.Live, e.At = state == string(dream.Live), time.Unix(0, at)
		if kept.v != nil {
			d.fail(store.Wrap(kept.read(numbers), "vector of ", e.ID, " in ", of.Space))
			e.Vector = numbers
		}
		if d.err == nil {
			put(e)
		}
	})
}
