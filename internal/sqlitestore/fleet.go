package sqlitestore

import (
	"context"
	"database/sql"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// fleet describes many agents at once.
type fleet struct{ *file }

// Overview describes agents by their ids, on one snapshot of the file.
func (s fleet) Overview(ctx context.Context, agents []string, q memory.OverviewQuery) ([]memory.Overview, error) {
	if len(agents) == 0 {
		return nil, nil
	}
	return in(ctx, s.read, "overview of agents", func(d *tx) []memory.Overview {
		all := make([]memory.Overview, len(agents))
		for i, agent := range agents {
			all[i].Agent = agent
		}
		ids := jsonText{agents}
		countAll(d, all, ids, q)
		for _, state := range statesOf(q.States) {
			newestDreams(d, all, ids, state, q.Dreams)
		}
		if len(q.States) > 1 {
			for i := range all {
				all[i].Dreams = store.NewestMarks(all[i].Dreams, q.Dreams)
			}
		}
		return all
	})
}

// countAll reads what an overview counts.
func countAll(d *tx, all []memory.Overview, ids jsonText, q memory.OverviewQuery) {
	episodes, waits, overdue := "0", "0", "0"
	var args []any
	if q.Episodes {
		episodes = "coalesce((SELECT n FROM item_counts WHERE agent = asked.value AND kind = 'episode' AND state = 'live'), 0)"
	}
	if q.Waits {
		waits = "EXISTS (SELECT 1 FROM item_counts WHERE agent = asked.value AND state = 'proposed' AND n > 0)"
	}
	if !q.DueBefore.IsZero() {
		overdue = `(SELECT count(*) FROM (SELECT status FROM items INDEXED BY items_due
			WHERE agent = asked.value AND kind = ? AND state = 'live' AND due IS NOT NULL AND due < ?
			ORDER BY due DESC, text DESC, id DESC LIMIT ?) WHERE status = ?)`
		args = append(args, string(dream.KindPrediction), nanos(q.DueBefore), memory.LastDue, dream.PredictionOpen)
	}
	d.each("SELECT asked.key, "+episodes+", EXISTS (SELECT 1 FROM slots WHERE agent = asked.value), "+overdue+", "+waits+
		" FROM json_each(?) AS asked",
		append(args, ids), func(scan scanner) {
			var i int
			var o memory.Overview
			scan(&i, &o.Episodes, &o.Dreaming, &o.Overdue, &o.Waits)
			o.Agent = all[i].Agent
			all[i] = o
		})
}

// newestDreams adds the marks of each agent's newest dreams in a state.
func newestDreams(d *tx, all []memory.Overview, ids jsonText, state dream.State, n int) {
	if n < 1 {
		return
	}
	// the index holds all that is read
	d.each(`SELECT asked.key, items.id, items.at, items.status FROM json_each(?) AS asked
		CROSS JOIN items INDEXED BY items_nights ON items.kind = 'night' AND items.agent = asked.value AND items.state = ?
		WHERE items.at >= coalesce((SELECT at FROM items INDEXED BY items_nights WHERE kind = 'night'
			AND agent = asked.value AND state = ? ORDER BY at DESC LIMIT 1 OFFSET ?), -9223372036854775808)`,
		[]any{ids, string(state), string(state), n - 1}, func(scan scanner) {
			var i int
			var at int64
			m := memory.DreamMark{State: state}
			scan(&i, &m.ID, &at, &m.Status)
			m.At = time.Unix(0, at).UTC()
			all[i].Dreams = append(all[i].Dreams, m)
		})
	for i := range all {
		all[i].Dreams = store.NewestMarks(all[i].Dreams, len(all[i].Dreams))
	}
}

// statesOf are the states of a query, live by default.
func statesOf(states []dream.State) []dream.State {
	if len(states) == 0 {
		return []dream.State{dream.Live}
	}
	return store.Distinct(states)
}

// Dreams lists the records of the dreams of several agents.
func (s fleet) Dreams(ctx context.Context, q memory.DreamsQuery) ([]*dream.Record, error) {
	w := where{}
	w.add("kind = 'night'") // the condition of the index
	addIn(&w, "state", statesOf(q.States))
	if len(q.Statuses) > 0 {
		addIn(&w, "status", store.Distinct(q.Statuses))
	}
	w.addTime("at >= ?", q.Since)
	w.addTime("at < ?", q.Until)
	if p := q.After; !p.IsZero() {
		at := nanos(p.At)
		w.add("at <= ? AND (at < ? OR agent > ? OR agent = ? AND id > ?)", at, at, p.Agent, p.Agent, p.ID)
	}
	w.add("agent IN (SELECT value FROM json_each(?))", jsonText{q.Agents})
	items, err := in(ctx, s.readOnce, "list dreams of agents", func(d *tx) []dream.Item {
		return d.items("SELECT "+itemColumns+" FROM items INDEXED BY items_dreams"+w.String()+
			" ORDER BY at DESC, agent, id LIMIT ?", append(w.args, q.Limit))
	})
	return memory.As[*dream.Record](items), err
}

// Balances returns the balances of several accounts, in this order.
func (s ledger) Balances(ctx context.Context, scopes []string) ([]spend.Balance, error) {
	if len(scopes) == 0 {
		return nil, nil
	}
	return in(ctx, s.readOnce, "balances of accounts", func(d *tx) []spend.Balance {
		return rows(d, `SELECT reserved, spent FROM json_each(?) AS asked LEFT JOIN accounts ON scope = asked.value
			ORDER BY asked.key`, []any{jsonText{scopes}}, func(scan scanner) spend.Balance {
			var reserved, spent sql.NullInt64
			scan(&reserved, &spent)
			return spend.Balance{Reserved: budget.Micros(reserved.Int64), Spent: budget.Micros(spent.Int64)}
		})
	})
}
