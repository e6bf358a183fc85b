package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// slots lets one dream of an agent write at a time.
type slots struct{ *file }

// TakeSlot takes, confirms or steals the agent's dreaming slot.
func (s slots) TakeSlot(ctx context.Context, agent string, want memory.Slot, steal memory.Fence) (memory.Slot, error) {
	got := want
	got.Since = plain(want.Since)
	err := s.write(ctx, func(d *tx) {
		if agent == "" || want.Same(memory.Fence{}) {
			d.fail(errors.New("agent and fence must not be empty"))
		}
		d.writable(agent)
		held := d.slot(agent)
		switch {
		case d.err != nil:
		case held.Same(want.Fence):
			got = held
		case held.Same(memory.Fence{}), held.Same(steal):
			got.Epoch = d.begin(agent, want)
		default:
			got = held
			d.fail(fmt.Errorf("dream %q run %q holds it: %w", held.Dream, held.Run, memory.ErrTaken))
		}
	})
	if err != nil && !errors.Is(err, memory.ErrTaken) {
		got = memory.Slot{}
	}
	return got, store.Wrap(err, "take the dreaming slot of ", agent)
}

// begin gives the slot to a stretch, unless a client holds the agent awake, and returns the agent's epoch.
func (d *tx) begin(agent string, want memory.Slot) int64 {
	v := d.presenceRow(agent)
	if until := d.until(agent, v); until.After(want.Since) {
		d.fail(fmt.Errorf("the agent is kept awake until %s: %w", date(until), memory.ErrAwake))
	}
	d.exec(`INSERT INTO slots (agent, dream, run, workflow, cluster, since, epoch) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent) DO UPDATE SET dream = excluded.dream, run = excluded.run, workflow = excluded.workflow,
		cluster = excluded.cluster, since = excluded.since, epoch = excluded.epoch, mood = NULL`,
		agent, want.Dream, want.Run, want.Workflow, want.Cluster, date(want.Since), v.epoch)
	return v.epoch
}

// FreeSlot frees the slot if the fence holds it.
func (s slots) FreeSlot(ctx context.Context, agent string, f memory.Fence) error {
	return store.Wrap(s.write(ctx, func(d *tx) {
		d.exec("DELETE FROM slots WHERE agent = ? AND dream = ? AND run = ? AND (? = 0 OR epoch <= ?)",
			agent, f.Dream, f.Run, f.Epoch, f.Epoch)
	}), "free the dreaming slot of ", agent)
}

// Slots lists every taken slot.
func (s slots) Slots(ctx context.Context) (map[string]memory.Slot, error) {
	return in(ctx, s.read, "list dreaming slots", func(d *tx) map[string]memory.Slot {
		taken := map[string]memory.Slot{}
		d.each("SELECT agent, "+slotColumns+" FROM slots", nil, func(scan scanner) {
			var agent string
			var slot memory.Slot
			scan(append([]any{&agent}, slotFields(&slot)...)...)
			taken[agent] = slot
		})
		return taken
	})
}

const slotColumns = "dream, run, workflow, cluster, since, epoch"

func slotFields(s *memory.Slot) []any {
	return []any{&s.Dream, &s.Run, &s.Workflow, &s.Cluster, (*textTime)(&s.Since), &s.Epoch}
}

// slot returns the agent's slot; zero when it is free.
func (d *tx) slot(agent string) (slot memory.Slot) {
	d.one("SELECT "+slotColumns+" FROM slots WHERE agent = ?", []any{agent}, slotFields(&slot)...)
	return slot
}
