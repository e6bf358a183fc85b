package sqlitestore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store/rooms"
)

// agentTables lists the tables whose rows are deleted with an agent: every table with an agent column except those of
// counters (lives, presences) and of money (attempts, sums, spent, allowances).
var agentTables = []string{
	"items", "revisions", "vectors", "moves", "affects", "events", "notes", "backgrounds", "responses", "leases", "slots",
	"embed_jobs", "item_counts",
}

// DropAgent removes an agent in one transaction. Then it rewrites the file and empties the log, as Erase does.
func (s *Store) DropAgent(ctx context.Context, agent string, now time.Time) (memory.RemovalResult, error) {
	var left rooms.Changes
	dropped, err := in(ctx, s.write, "remove agent "+agent, func(d *tx) memory.RemovalResult {
		done := removal{book{d}, agent}.all(now)
		left = updateRooms(d, func(v rooms.View) (rooms.Changes, error) { return rooms.RemoveAgent(v, agent, now) })
		return done
	})
	if err != nil {
		return dropped, err
	}
	roomRecords{s.file, s.eventLog}.announce(left)
	s.Indexes.Drop(agent)
	if err := s.emptyLog(context.WithoutCancel(ctx), true); err != nil {
		dropped.Traces = err.Error()
	}
	return dropped, nil
}

// removal is the removal of an agent in a transaction.
type removal struct {
	book
	agent string
}

func (r removal) all(now time.Time) memory.RemovalResult {
	var handle string
	if !r.one("SELECT handle FROM agents WHERE id = ?", []any{r.agent}, &handle) {
		r.fail(memory.ErrNotFound)
	}
	r.idle(now)
	dropped := memory.RemovalResult{Items: dream.KindCounts{}}
	for kind, n := range pairs[int](r.tx, "SELECT kind, count(*) FROM items WHERE agent = ? GROUP BY kind", r.agent) {
		dropped.Items[dream.Kind(kind)] = n
	}
	dropped.Events = cell[int](r.tx, "SELECT count(*) FROM events WHERE agent = ?", r.agent)
	r.eraseResponses()
	r.dropAnswers("agent = ?", r.agent)
	for _, table := range agentTables {
		r.exec("DELETE FROM "+table+" WHERE agent = ?", r.agent)
	}
	r.exec("DELETE FROM agents WHERE id = ?", r.agent)
	r.keepCounters(handle)
	return dropped
}

// idle refuses an agent that is dreaming or held awake by a client.
func (r removal) idle(now time.Time) {
	if held := r.slot(r.agent); !held.Same(memory.Fence{}) {
		r.fail(fmt.Errorf("dream %q holds its slot: %w", held.Dream, memory.ErrTaken))
	}
	var clients []string
	for _, l := range r.leases(r.agent, nanos(plain(now))) {
		clients = append(clients, l.Client)
	}
	if len(clients) > 0 {
		r.fail(fmt.Errorf("it is held awake by %s: %w", strings.Join(clients, ", "), memory.ErrAwake))
	}
}

// keepCounters keeps the counters of a removed agent and nothing else. Dreams are named by handle: a later agent whose
// id equals this handle continues their numbers.
func (r removal) keepCounters(handle string) {
	l := r.counters(r.agent)
	l.space, l.dim, l.removed = "", 0, true
	l.aged = memory.Aged{}
	l.vectorRevision++
	l.scrubs++
	r.setCounters(r.agent, l)
	if other := r.counters(handle); handle != r.agent && other.dreams < l.dreams {
		other.dreams = l.dreams
		r.setCounters(handle, other)
	}
	v := r.presenceRow(r.agent)
	switch {
	case !v.exists:
	case v.epoch == 0:
		r.exec("DELETE FROM presences WHERE agent = ?", r.agent)
	default:
		r.setPresenceRow(r.agent, presenceRow{epoch: v.epoch, recorded: v.epoch})
	}
}
