package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// aging removes what has become old.
type aging struct{ *file }

// Aged returns since when the agent's history is whole.
func (s aging) Aged(ctx context.Context, agent string) (memory.Aged, error) {
	return in(ctx, s.readOnce, "the age of the history of "+agent, func(d *tx) memory.Aged { return d.counters(agent).aged })
}

// TrimEvents removes the agent's oldest events.
func (s aging) TrimEvents(ctx context.Context, agent string, through int64, limit int) (int, error) {
	return in(ctx, s.write, "trim the events of "+agent, func(d *tx) int {
		return int(d.exec(`DELETE FROM events WHERE agent = ? AND seq IN
			(SELECT seq FROM events WHERE agent = ? AND seq <= ? ORDER BY seq LIMIT ?)`, agent, agent, through, limit))
	})
}

// TrimRevisions removes revisions of live items and affects that were replaced before a time.
func (s aging) TrimRevisions(ctx context.Context, agent string, before time.Time, limit int) (int, error) {
	return in(ctx, s.write, "trim the revisions of "+agent, func(d *tx) int {
		raiseAged(d, agent, memory.Aged{Undo: before})
		n := d.exec(`DELETE FROM revisions WHERE rowid IN (
			SELECT r.rowid FROM revisions AS r JOIN items AS i ON i.agent = r.agent AND i.id = r.id
			WHERE r.agent = ? AND i.state = 'live' AND coalesce((SELECT n.at FROM revisions AS n
				WHERE n.agent = r.agent AND n.id = r.id AND n.number > r.number ORDER BY n.number LIMIT 1), i.changed) < ?
			LIMIT ?)`, agent, nanos(before), limit)
		return int(n) + trimAffects(d, agent, before, limit)
	})
}

// trimAffects removes the oldest affects, as long as the next one was set before the time.
func trimAffects(d *tx, agent string, before time.Time, limit int) int {
	type affect struct {
		number int64
		store.Affect
	}
	oldest := rows(d, "SELECT number, body FROM affects WHERE agent = ? ORDER BY number LIMIT ?", []any{agent, limit + 1},
		func(scan scanner) (a affect) {
			scan(&a.number, jsonText{&a.Affect.Affect})
			return a
		})
	n := 0
	for n+1 < len(oldest) && oldest[n+1].Affect.Affect.Since.Before(before) {
		n++
	}
	if n > 0 {
		d.exec("DELETE FROM affects WHERE agent = ? AND number < ?", agent, oldest[n].number)
	}
	return n
}

// raiseAged raises what the agent says of its history.
func raiseAged(d *tx, agent string, to memory.Aged) {
	l := d.writable(agent)
	if aged := l.aged.After(to); aged != l.aged {
		l.aged = aged
		d.setCounters(agent, l)
	}
}

// Discard deletes items that dreams made.
func (s aging) Discard(ctx context.Context, agent string, ids []string, details time.Time) (int, error) {
	return in(ctx, s.write, "discard memories of dreams of "+agent, func(d *tx) (n int) {
		if held := d.slot(agent); !held.Same(memory.Fence{}) {
			d.fail(fmt.Errorf("dream %q holds its slot: %w", held.Dream, memory.ErrTaken))
		}
		raiseAged(d, agent, memory.Aged{Details: details})
		for _, id := range ids {
			if d.exec("DELETE FROM items WHERE agent = ? AND id = ? AND dream <> ''", agent, id) == 0 {
				continue
			}
			n++
			d.exec("DELETE FROM revisions WHERE agent = ? AND id = ?", agent, id)
			d.exec("DELETE FROM vectors WHERE agent = ? AND id = ?", agent, id)
		}
		if n > 0 { // caches start over, as after an erasure
			l := d.counters(agent)
			l.scrubs++
			l.vectorRevision++
			d.setCounters(agent, l)
		}
		return n
	})
}

// Swept returns what sweeps have done.
func (s aging) Swept(ctx context.Context) (memory.SweepState, error) {
	return in(ctx, s.readOnce, "marks and sweeps", readSwept)
}

func readSwept(d *tx) (state memory.SweepState) {
	d.one("SELECT body FROM sweeps", nil, jsonText{&state})
	return state
}

// ChangeSwept replaces what sweeps have done.
func (s aging) ChangeSwept(
	ctx context.Context, change func(memory.SweepState) (memory.SweepState, error),
) (memory.SweepState, error) {
	return in(ctx, s.write, "marks and sweeps", func(d *tx) memory.SweepState {
		state, err := change(readSwept(d))
		d.fail(err)
		d.exec("INSERT INTO sweeps (one, body) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET body = excluded.body",
			jsonText{state})
		return state
	})
}
