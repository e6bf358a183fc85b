package sqlitestore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// PutAgent creates or replaces an agent's record.
func (s *Store) PutAgent(ctx context.Context, a dream.Agent) error {
	if a.ID == "" || a.Handle == "" {
		return fmt.Errorf("put agent %q: id and handle must not be empty", a.Handle)
	}
	body, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("put agent %s: %w", a.Handle, err)
	}
	err = s.write(ctx, func(d tx) error {
		var holder string
		taken, err := d.one("SELECT id FROM agents WHERE handle = ?", []any{a.Handle}, &holder)
		if err != nil {
			return err
		}
		if taken && holder != a.ID {
			return fmt.Errorf("handle %q belongs to agent %s: %w", a.Handle, holder, memory.ErrTaken)
		}
		if err := d.keepsHandle(a); err != nil {
			return err
		}
		if _, err := d.exec("UPDATE lives SET removed = 0 WHERE agent = ? AND removed = 1", a.ID); err != nil {
			return err
		}
		_, err = d.exec(`INSERT INTO agents (id, handle, body) VALUES (?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET handle = excluded.handle, body = excluded.body`, a.ID, a.Handle,
			string(body))
		return err
	})
	if err != nil {
		return fmt.Errorf("put agent %s: %w", a.ID, err)
	}
	return nil
}

// keepsHandle refuses a new handle for an agent that has dreamt or was woken under its old one.
func (d tx) keepsHandle(a dream.Agent) error {
	var old string
	if found, err := d.one("SELECT handle FROM agents WHERE id = ?", []any{a.ID}, &old); err != nil || !found ||
		old == a.Handle {
		return err
	}
	l, err := d.counters(a.ID)
	if err != nil {
		return err
	}
	v, err := d.presenceRow(a.ID)
	if err != nil || l.dreams == 0 && v.epoch == 0 {
		return err
	}
	return fmt.Errorf("it cannot be renamed to %q, as its counters, dreams and ledger entries are stored under %q: %w",
		a.Handle,
		old, memory.ErrDreamt)
}

// Agent finds an agent by id, then by handle.
func (s *Store) Agent(ctx context.Context, idOrHandle string) (dream.Agent, error) {
	var a dream.Agent
	err := s.read(ctx, func(d tx) error {
		for _, query := range []string{
			"SELECT body FROM agents WHERE id = ?",
			"SELECT body FROM agents WHERE handle = ?",
		} {
			var body []byte
			found, err := d.one(query, []any{idOrHandle}, &body)
			if err != nil {
				return err
			}
			if found {
				return json.Unmarshal(body, &a)
			}
		}
		l, err := d.counters(idOrHandle)
		if err == nil && l.removed {
			err = memory.ErrRemoved
		}
		return cmp.Or(err, memory.ErrNotFound)
	})
	if err != nil {
		return dream.Agent{}, fmt.Errorf("agent %q: %w", idOrHandle, err)
	}
	return a, nil
}

// Agents lists all agents by handle.
func (s *Store) Agents(ctx context.Context) ([]dream.Agent, error) {
	var agents []dream.Agent
	err := s.read(ctx, func(d tx) error {
		return d.each("SELECT body FROM agents ORDER BY handle", nil, func(scan func(...any) error) error {
			var body []byte
			var a dream.Agent
			if err := scan(&body); err != nil {
				return err
			}
			if err := json.Unmarshal(body, &a); err != nil {
				return err
			}
			agents = append(agents, a)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return agents, nil
}

// agentCounters are the counters that the store keeps for an agent.
type agentCounters struct {
	seq, dreams, dim, vectorRevision, scrubs int64
	space                                    string
	removed                                  bool
}

func (d tx) counters(agent string) (agentCounters, error) {
	var l agentCounters
	_, err := d.one("SELECT seq, dreams, dim, tide, scrubs, space, removed FROM lives WHERE agent = ?", []any{agent},
		&l.seq, &l.dreams, &l.dim, &l.vectorRevision, &l.scrubs, &l.space, &l.removed)
	return l, err
}

// writable returns the counters of an agent that may be written for; memory.ErrRemoved when it was removed.
func (d tx) writable(agent string) (agentCounters, error) {
	l, err := d.counters(agent)
	if err == nil && l.removed {
		err = fmt.Errorf("agent %s was %w", agent, memory.ErrRemoved)
	}
	return l, err
}

func (d tx) setCounters(agent string, l agentCounters) error {
	if agent == "" {
		return errors.New("the agent's id is empty")
	}
	_, err := d.exec(
		`INSERT INTO lives (agent, seq, dreams, dim, tide, scrubs, space, removed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent) DO UPDATE SET seq = excluded.seq, dreams = excluded.dreams, dim = excluded.dim, tide = excluded.tide,
		scrubs = excluded.scrubs, space = excluded.space, removed = excluded.removed`,
		agent, l.seq, l.dreams, l.dim, l.vectorRevision, l.scrubs, l.space, l.removed)
	return err
}
