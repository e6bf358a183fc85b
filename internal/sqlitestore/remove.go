package sqlitestore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// agentTables lists the tables whose rows are deleted with an agent: every table with an agent column except those of
// counters (lives, presences) and of money (attempts, allowances).
var agentTables = []string{
	"items", "revisions", "vectors", "moves", "affects", "events", "notes", "backgrounds", "leases", "slots",
	"embed_jobs",
}

// DropAgent removes an agent in one transaction. Then it rewrites the file and empties the log, as Erase does.
func (s *Store) DropAgent(ctx context.Context, agent string, now time.Time) (memory.RemovalResult, error) {
	var dropped memory.RemovalResult
	err := s.write(ctx, func(d tx) error {
		var err error
		dropped, err = d.dropAgent(agent, now)
		return err
	})
	if err != nil {
		return memory.RemovalResult{}, fmt.Errorf("remove agent %s: %w", agent, err)
	}
	s.indexes.Drop(agent)
	if err := s.emptyLog(context.WithoutCancel(ctx), true); err != nil {
		dropped.Traces = err.Error()
	}
	return dropped, nil
}

func (d tx) dropAgent(agent string, now time.Time) (memory.RemovalResult, error) {
	var dropped memory.RemovalResult
	var handle string
	found, err := d.one("SELECT handle FROM agents WHERE id = ?", []any{agent}, &handle)
	if err == nil && !found {
		err = memory.ErrNotFound
	}
	if err == nil {
		err = d.idle(agent, now)
	}
	if err != nil {
		return dropped, err
	}
	dropped, err = d.countAgent(agent)
	if err != nil {
		return dropped, err
	}
	if err := d.eraseResponses(); err != nil {
		return dropped, err
	}
	if err := d.dropAnswers("agent = ?", agent); err != nil {
		return dropped, err
	}
	for _, table := range agentTables {
		if _, err := d.exec("DELETE FROM "+table+" WHERE agent = ?", agent); err != nil {
			return dropped, err
		}
	}
	if _, err := d.exec("DELETE FROM agents WHERE id = ?", agent); err != nil {
		return dropped, err
	}
	return dropped, d.keepCounters(agent, handle)
}

// idle refuses an agent that is dreaming or held awake by a client.
func (d tx) idle(agent string, now time.Time) error {
	held, err := d.slot(agent)
	if err != nil {
		return err
	}
	if !held.Same(memory.Fence{}) {
		return fmt.Errorf("dream %q holds its slot: %w", held.Dream, memory.ErrTaken)
	}
	leases, err := d.leases(agent, plain(now))
	if err != nil || len(leases) == 0 {
		return err
	}
	clients := make([]string, len(leases))
	for i, l := range leases {
		clients[i] = l.Client
	}
	return fmt.Errorf("it is held awake by %s: %w", strings.Join(clients, ", "), memory.ErrAwake)
}

func (d tx) countAgent(agent string) (memory.RemovalResult, error) {
	dropped := memory.RemovalResult{Items: map[dream.Kind]int{}}
	err := d.each("SELECT kind, count(*) FROM items WHERE agent = ? GROUP BY kind", []any{agent},
		func(scan func(...any) error) error {
			var kind string
			var n int
			err := scan(&kind, &n)
			dropped.Items[dream.Kind(kind)] = n
			return err
		})
	if err == nil {
		_, err = d.one("SELECT count(*) FROM events WHERE agent = ?", []any{agent}, &dropped.Events)
	}
	return dropped, err
}

// keepCounters keeps the counters of a removed agent and nothing else. Dreams are named by handle: a later agent whose
// id equals this handle continues their numbers.
func (d tx) keepCounters(agent, handle string) error {
	l, err := d.counters(agent)
	if err != nil {
		return err
	}
	l.space, l.dim, l.removed = "", 0, true
	l.vectorRevision++
	l.scrubs++
	if err := d.setCounters(agent, l); err != nil {
		return err
	}
	if handle != agent {
		other, err := d.counters(handle)
		if err == nil && other.dreams < l.dreams {
			other.dreams = l.dreams
			err = d.setCounters(handle, other)
		}
		if err != nil {
			return err
		}
	}
	v, err := d.presenceRow(agent)
	if err != nil || !v.exists {
		return err
	}
	if v.epoch == 0 {
		_, err = d.exec("DELETE FROM presences WHERE agent = ?", agent)
		return err
	}
	return d.setPresenceRow(agent, presenceRow{epoch: v.epoch, recorded: v.epoch})
}
