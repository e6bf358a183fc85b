package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// agents keeps the records of agents, their affects, and the counters of their dreams and forgettings.
type agents struct{ *file }

// PutAgent creates or replaces an agent's record.
func (s agents) PutAgent(ctx context.Context, a dream.Agent) error {
	if err := store.CheckNames("id and handle", a.ID, a.Handle); err != nil {
		return store.Wrap(err, "put agent ", a.Handle)
	}
	return store.Wrap(s.write(ctx, func(d *tx) {
		var holder string
		if d.one("SELECT id FROM agents WHERE handle = ?", []any{a.Handle}, &holder) && holder != a.ID {
			d.fail(fmt.Errorf("handle %q belongs to agent %s: %w", a.Handle, holder, memory.ErrTaken))
		}
		d.keepsHandle(a)
		d.exec("UPDATE lives SET removed = 0 WHERE agent = ? AND removed = 1", a.ID)
		d.exec(`INSERT INTO agents (id, handle, body) VALUES (?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET handle = excluded.handle, body = excluded.body`, a.ID, a.Handle, jsonText{a})
	}), "put agent ", a.ID)
}

// keepsHandle refuses a new handle for an agent that has dreamt or was woken under its old one.
func (d *tx) keepsHandle(a dream.Agent) {
	var old string
	if d.one("SELECT handle FROM agents WHERE id = ?", []any{a.ID}, &old) && old != a.Handle &&
		(d.counters(a.ID).dreams != 0 || d.presenceRow(a.ID).epoch != 0) {
		d.fail(memory.Renamed(old, a.Handle))
	}
}

// Agent finds an agent by id, then by handle.
func (s agents) Agent(ctx context.Context, idOrHandle string) (dream.Agent, error) {
	return in(ctx, s.read, fmt.Sprintf("agent %q", idOrHandle), func(d *tx) (a dream.Agent) {
		if d.one("SELECT body FROM agents WHERE id = ?", []any{idOrHandle}, jsonText{&a}) ||
			d.one("SELECT body FROM agents WHERE handle = ?", []any{idOrHandle}, jsonText{&a}) {
			return a
		}
		if d.counters(idOrHandle).removed {
			d.fail(memory.ErrRemoved)
		}
		d.fail(memory.ErrNotFound)
		return a
	})
}

// Agents lists all agents by handle.
func (s agents) Agents(ctx context.Context) ([]dream.Agent, error) {
	return in(ctx, s.read, "list agents", func(d *tx) []dream.Agent {
		return decoded[dream.Agent](d, "SELECT body FROM agents ORDER BY handle")
	})
}

// NextDream counts an agent's dreams.
func (s agents) NextDream(ctx context.Context, agent string) (int64, error) {
	return in(ctx, s.write, "number the next dream of "+agent, func(d *tx) int64 {
		l := d.writable(agent)
		l.dreams++
		d.setCounters(agent, l)
		return l.dreams
	})
}

// Affect returns the agent's newest affect.
func (s agents) Affect(ctx context.Context, agent string) (dream.Affect, error) {
	return in(ctx, s.readOnce, "affect of "+agent, func(d *tx) dream.Affect { return d.affect(agent) })
}

func (d *tx) affect(agent string) dream.Affect {
	a := store.NewAffect()
	d.one("SELECT body FROM affects WHERE agent = ? ORDER BY number DESC LIMIT 1", []any{agent}, jsonText{&a})
	return a
}

// putAffect appends to the history of affects, so that a dream's part in it can be undone.
func (d *tx) putAffect(agent, cause string, a dream.Affect) {
	d.exec(`INSERT INTO affects (agent, number, cause, body)
		VALUES (?, 1 + coalesce((SELECT max(number) FROM affects WHERE agent = ?), 0), ?, ?)`, agent, agent, cause,
		jsonText{a})
}

// affects returns an agent's history of affects, oldest first.
func (d *tx) affects(agent string) []store.Affect {
	return rows(d, "SELECT cause, body FROM affects WHERE agent = ? ORDER BY number", []any{agent},
		func(scan scanner) (a store.Affect) {
			scan(&a.Cause, jsonText{&a.Affect})
			return a
		})
}

// Forgettings counts how often something of the agent was forgotten.
func (s agents) Forgettings(ctx context.Context, agent string) (int64, error) {
	return in(ctx, s.readOnce, "forgettings of "+agent, func(d *tx) int64 { return d.counters(agent).scrubs })
}

// agentCounters are the counters that the store keeps for an agent.
type agentCounters struct {
	seq, dreams, dim, vectorRevision, scrubs int64
	space                                    string
	removed                                  bool
	aged                                     memory.Aged
}

func (d *tx) counters(agent string) (l agentCounters) {
	d.one("SELECT seq, dreams, dim, tide, scrubs, space, removed, undo_from, details_from FROM lives WHERE agent = ?",
		[]any{agent}, &l.seq, &l.dreams, &l.dim, &l.vectorRevision, &l.scrubs, &l.space, &l.removed,
		(*optionalTime)(&l.aged.Undo), (*optionalTime)(&l.aged.Details))
	return l
}

// writable returns the counters of an agent that may be written for. It fails with memory.ErrRemoved when the agent was
// removed.
func (d *tx) writable(agent string) agentCounters {
	l := d.counters(agent)
	if l.removed {
		d.fail(fmt.Errorf("agent %s was %w", agent, memory.ErrRemoved))
	}
	return l
}

var errNoAgent = errors.New("the agent's id is empty")

func (d *tx) setCounters(agent string, l agentCounters) {
	if agent == "" {
		d.fail(errNoAgent)
	}
	d.exec(`INSERT INTO lives (agent, seq, dreams, dim, tide, scrubs, space, removed, undo_from, details_from)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent) DO UPDATE SET seq = excluded.seq, dreams = excluded.dreams, dim = excluded.dim, tide = excluded.tide,
		scrubs = excluded.scrubs, space = excluded.space, removed = excluded.removed, undo_from = excluded.undo_from,
		details_from = excluded.details_from`,
		agent, l.seq, l.dreams, l.dim, l.vectorRevision, l.scrubs, l.space, l.removed, optionalTime(l.aged.Undo),
		optionalTime(l.aged.Details))
}

// plain is the stored form of a time: in UTC, without a monotonic clock reading.
func plain(t time.Time) time.Time { return t.UTC().Round(0) }
