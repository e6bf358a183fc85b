package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

// TakeSlot takes, confirms or steals the agent's dreaming slot.
func (s *Store) TakeSlot(ctx context.Context, agent string, want memory.Slot, steal memory.Fence) (memory.Slot, error) {
	got := want
	got.Since = plain(want.Since)
	err := s.write(ctx, func(d tx) error {
		if agent == "" || want.Same(memory.Fence{}) {
			return errors.New("agent and fence must not be empty")
		}
		if _, err := d.writable(agent); err != nil {
			return err
		}
		held, err := d.slot(agent)
		if err != nil {
			return err
		}
		switch {
		case held.Same(want.Fence):
			got = held
			return nil
		case held.Same(memory.Fence{}), held.Same(steal):
			got.Epoch, err = d.begin(agent, want)
			return err
		default:
			got = held
			return fmt.Errorf("dream %q run %q holds it: %w", held.Dream, held.Run, memory.ErrTaken)
		}
	})
	if err != nil && !errors.Is(err, memory.ErrTaken) {
		got = memory.Slot{}
	}
	if err != nil {
		return got, fmt.Errorf("take the dreaming slot of %s: %w", agent, err)
	}
	return got, nil
}

// begin gives the slot to a stretch, unless a client holds the agent awake, and returns the agent's epoch.
func (d tx) begin(agent string, want memory.Slot) (int64, error) {
	v, err := d.presenceRow(agent)
	if err != nil {
		return 0, err
	}
	until, err := d.until(agent, v)
	if err != nil {
		return 0, err
	}
	if until.After(want.Since) {
		return 0, fmt.Errorf("the agent is kept awake until %s: %w", date(until), memory.ErrAwake)
	}
	_, err = d.exec(`INSERT INTO slots (agent, dream, run, workflow, cluster, since, epoch) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent) DO UPDATE SET dream = excluded.dream, run = excluded.run, workflow = excluded.workflow,
		cluster = excluded.cluster, since = excluded.since, epoch = excluded.epoch, mood = NULL`,
		agent, want.Dream, want.Run, want.Workflow, want.Cluster, date(want.Since), v.epoch)
	return v.epoch, err
}

// FreeSlot frees the slot if the fence holds it.
func (s *Store) FreeSlot(ctx context.Context, agent string, f memory.Fence) error {
	err := s.write(ctx, func(d tx) error {
		_, err := d.exec("DELETE FROM slots WHERE agent = ? AND dream = ? AND run = ? AND (? = 0 OR epoch <= ?)",
			agent, f.Dream, f.Run, f.Epoch, f.Epoch)
		return err
	})
	if err != nil {
		return fmt.Errorf("free the dreaming slot of %s: %w", agent, err)
	}
	return nil
}

// Slots lists every taken slot.
func (s *Store) Slots(ctx context.Context) (map[string]memory.Slot, error) {
	slots := map[string]memory.Slot{}
	err := s.read(ctx, func(d tx) error {
		return d.each("SELECT agent, dream, run, workflow, cluster, since, epoch FROM slots", nil,
			func(scan func(...any) error) error {
				var agent, since string
				var slot memory.Slot
				if err := scan(&agent, &slot.Dream, &slot.Run, &slot.Workflow, &slot.Cluster, &since,
					&slot.Epoch); err != nil {
					return err
				}
				var err error
				slot.Since, err = parseDate(since)
				slots[agent] = slot
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("list dreaming slots: %w", err)
	}
	return slots, nil
}

// slot returns the agent's slot; zero when it is free.
func (d tx) slot(agent string) (memory.Slot, error) {
	var slot memory.Slot
	var since string
	found, err := d.one("SELECT dream, run, workflow, cluster, since, epoch FROM slots WHERE agent = ?", []any{agent},
		&slot.Dream, &slot.Run, &slot.Workflow, &slot.Cluster, &since, &slot.Epoch)
	if err != nil || !found {
		return memory.Slot{}, err
	}
	slot.Since, err = parseDate(since)
	return slot, err
}
