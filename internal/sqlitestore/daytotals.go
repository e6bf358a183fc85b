package sqlitestore

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var _ spend.DayTotals = Ledger{}

// DayTotals reads what triggers keep of each agent's days.
func (s ledger) DayTotals(ctx context.Context, agent, day string) ([]spend.DayTotal, error) {
	w := where{terms: []string{"1"}}
	if agent != "" {
		w.add("agent = ?", agent)
	}
	if day != "" {
		w.add("day = ?", day)
	}
	return in(ctx, s.readOnce, "totals by day", func(d *tx) []spend.DayTotal { return book{d}.dayTotals(w) })
}

// dayTotals returns the kept totals that match. A total beyond the largest integer is cut there by its cast.
func (d book) dayTotals(w where) []spend.DayTotal {
	return rows(d.tx, `SELECT agent, day, calls, CAST(reserved AS INTEGER), CAST(settled AS INTEGER),
		CAST(unknown AS INTEGER), CAST(tokens AS INTEGER), CAST(cached AS INTEGER), CAST(out AS INTEGER)
		FROM spent`+w.String()+" ORDER BY agent, day", w.args, func(scan scanner) (t spend.DayTotal) {
		var reserved, settled, unknown int64
		scan(&t.Agent, &t.Day, &t.Calls, &reserved, &settled, &unknown, &t.In, &t.Cached, &t.Out)
		t.Reserved, t.Settled, t.Unknown = budget.Micros(reserved), budget.Micros(settled), budget.Micros(unknown)
		return t
	})
}

// addSpent adds a sum of folded attempts to the total of its day, as an import brings it and an older schema has it.
func (d book) addSpent(s store.Sum) {
	t := spend.DayTotal{}
	t.Add(store.SumRow(s))
	d.exec(`INSERT INTO spent VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent, day) DO UPDATE SET calls = calls + excluded.calls, reserved = reserved + excluded.reserved,
			settled = settled + excluded.settled, unknown = unknown + excluded.unknown,
			tokens = tokens + excluded.tokens, cached = cached + excluded.cached, out = out + excluded.out`,
		s.Agent, s.Day, t.Calls, int64(t.Reserved), int64(t.Settled), int64(t.Unknown), t.In, t.Cached, t.Out)
}

// addFolded adds all sums to the totals of their days, once, when schema 20 has added up the attempts.
func (d book) addFolded() {
	for _, s := range d.sums("") {
		d.addSpent(s)
	}
}

// verifySpent compares the kept totals with what attempts and sums add up to.
func (d book) verifySpent() []string {
	var all store.DayCounter
	d.each("SELECT agent, day, state, counted, tokens FROM attempts", nil, func(scan scanner) {
		var r spend.Row
		var state string
		var counted int64
		scan(&r.Agent, &r.Day, &state, &counted, jsonText{&r.Tokens})
		r.State, r.Counted = spend.State(state), budget.Micros(counted)
		all.Add(r)
	})
	d.each("SELECT body FROM sums", nil, func(scan scanner) {
		var body []byte
		scan(&body)
		sums, err := store.UnpackSums(body)
		d.fail(store.Wrap(err, "read sums"))
		for _, s := range sums {
			all.Add(store.SumRow(s))
		}
	})
	return all.Faults(d.dayTotals(where{terms: []string{"1"}}))
}
