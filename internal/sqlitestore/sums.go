package sqlitestore

import (
	"context"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var _ spend.Folder = Ledger{}

// Attempts lists single attempts by their key, which is the order of reservation.
func (s ledger) Attempts(ctx context.Context, after int64, limit int) ([]spend.Row, int64, error) {
	next := int64(0)
	all, err := in(ctx, s.readOnce, "attempts of the ledger", func(d *tx) []spend.Row {
		found := rows(d, "SELECT key, "+attemptColumns+" FROM attempts WHERE key > ? ORDER BY key LIMIT ?",
			[]any{after, limit}, func(scan scanner) spend.Row {
				return store.Row(book{d}.readAttempt(func(dest ...any) { scan(append([]any{&next}, dest...)...) }))
			})
		if len(found) < limit {
			next = 0
		}
		return found
	})
	return all, next, err
}

// Fold replaces attempts by sums.
func (s ledger) Fold(ctx context.Context, rows []spend.Row) (int, error) {
	return in(ctx, s.write, "fold attempts of the ledger", func(d *tx) int { return book{d}.foldRows(rows) })
}

func (d book) foldRows(rows []spend.Row) int {
	folds := store.WholeSteps(rows, func(step string) int {
		return cell[int](d.tx, "SELECT count(*) FROM attempts WHERE step = ?", step)
	})
	groups := map[store.SumGroup][]store.Sum{}
	n := 0
	for _, r := range folds {
		if d.exec("DELETE FROM attempts WHERE step = ? AND attempt = ? AND state = ? AND counted = ?",
			r.Step, r.Attempt, string(r.State), int64(r.Counted)) == 0 {
			continue // it has changed since it was read
		}
		n++
		d.exec("DELETE FROM answers WHERE step = ?", r.Step)
		g := store.Group(r.Ask)
		if _, read := groups[g]; !read {
			groups[g] = d.sums(" WHERE agent = ? AND day = ? AND dream = ?", g.Agent, g.Day, g.Dream)
		}
		groups[g] = store.AddSum(groups[g], store.SumOf(r))
	}
	for g, sums := range groups {
		d.putSums(g, sums)
	}
	return n
}

// sums returns the sums of the groups that match a WHERE clause.
func (d book) sums(where string, args ...any) (all []store.Sum) {
	d.each("SELECT body FROM sums"+where, args, func(scan scanner) {
		var body []byte
		scan(&body)
		sums, err := store.UnpackSums(body)
		d.fail(store.Wrap(err, "read sums"))
		all = append(all, sums...)
	})
	return all
}

func (d book) putSums(g store.SumGroup, sums []store.Sum) {
	body, err := store.PackSums(sums)
	d.fail(err)
	d.exec(`INSERT INTO sums (agent, day, dream, body) VALUES (?, ?, ?, ?)
		ON CONFLICT (agent, day, dream) DO UPDATE SET body = excluded.body`, g.Agent, g.Day, g.Dream, body)
}

// sumRows returns the sums that a query selects, as rows in their order.
func (d book) sumRows(q spend.Query) []spend.Row {
	w := where{terms: []string{"1"}}
	for _, f := range []struct{ column, value string }{{"agent", q.Agent}, {"day", q.Day}, {"dream", q.Dream}} {
		if f.value != "" {
			w.add(f.column+" = ?", f.value)
		}
	}
	if q.Dream != "" {
		w.add("dream <> ''") // the condition of the index
	}
	return store.SumRows(d.sums(w.String(), w.args...), q)
}

// sortedSums returns all sums in the order of an archive.
func (d book) sortedSums() []store.Sum {
	all := d.sums("")
	slices.SortFunc(all, store.Sum.Compare)
	return all
}

// sum imports a sum.
func (f *importer) sum(s memory.KeptSum) {
	g := store.SumGroup{Agent: s.Agent, Day: s.Day, Dream: s.Dream}
	f.putSums(g, store.AddSum(f.sums(" WHERE agent = ? AND day = ? AND dream = ?", g.Agent, g.Day, g.Dream), s))
	f.addSpent(s)
	for _, scope := range s.Scopes {
		f.count(scope, "spent", s.Counted)
	}
}
