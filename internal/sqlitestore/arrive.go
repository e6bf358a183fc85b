package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// Arrive grants or renews a lease, and raises the epoch when the agent was not awake or is still dreaming.
func (s *Store) Arrive(ctx context.Context, v presence.Visit) (presence.Arrival, error) {
	var a presence.Arrival
	err := v.Validate()
	if err == nil {
		v.Now = plain(v.Now)
		err = s.writeUrgent(ctx, func(d tx) error {
			var err error
			a, err = d.arrive(v)
			return err
		})
	}
	if err != nil {
		return presence.Arrival{}, fmt.Errorf("visit of %q to %s: %w", v.Client, v.Agent, err)
	}
	return a, nil
}

func (d tx) arrive(visit presence.Visit) (presence.Arrival, error) {
	var a presence.Arrival
	if err := d.checkHandle(visit); err != nil {
		return a, err
	}
	v, err := d.presenceRow(visit.Agent)
	if err != nil {
		return a, err
	}
	until, err := d.until(visit.Agent, v)
	if err != nil {
		return a, err
	}
	slot, err := d.slot(visit.Agent)
	if err != nil {
		return a, err
	}
	dreams := !slot.Same(memory.Fence{}) && slot.Epoch >= v.epoch
	a.Raised = dreams || !until.After(visit.Now)
	if err := d.lease(visit); err != nil {
		return a, err
	}
	v.lock, v.seen = later(v.lock, visit.Now.Add(visit.Lock)), later(v.seen, visit.Now)
	if a.Raised {
		if err := d.raise(&v, visit, slot.Dream); err != nil {
			return a, err
		}
	} else if visit.Cause == presence.Connect && v.last != nil && v.last.LeftAsleep() {
		v.visited = true
	}
	a.Wake = *v.last
	return a, d.setPresenceRow(visit.Agent, v)
}

// checkHandle refuses a visit to an agent whose handle is not the visit's.
func (d tx) checkHandle(v presence.Visit) error {
	if v.Handle == "" {
		_, err := d.writable(v.Agent)
		return err
	}
	var one int
	found, err := d.one("SELECT 1 FROM agents WHERE id = ? AND handle = ?", []any{v.Agent, v.Handle}, &one)
	if err == nil && !found {
		err = fmt.Errorf("no agent %s has the handle %q: %w", v.Agent, v.Handle, memory.ErrNotFound)
	}
	return err
}

// lease grants or renews a lease, and deletes expired ones.
func (d tx) lease(v presence.Visit) error {
	if _, err := d.exec("DELETE FROM leases WHERE agent = ? AND until <= ?", v.Agent, nanos(v.Now)); err != nil {
		return err
	}
	_, err := d.exec(`INSERT INTO leases (agent, client, cause, since, until) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (agent, client) DO UPDATE SET cause = excluded.cause, until = max(until, excluded.until)`,
		v.Agent, v.Client, string(v.Cause), nanos(v.Now), nanos(v.Now.Add(v.For)))
	return err
}

// raise makes a wake from the stored mood and digest, and clears them.
func (d tx) raise(v *presenceRow, visit presence.Visit, dreamID string) error {
	now, err := d.affect(visit.Agent)
	if err != nil {
		return err
	}
	v.epoch++
	w := presence.Wake{
		Agent:  visit.Agent,
		Epoch:  v.epoch,
		Cause:  visit.Cause,
		Client: visit.Client,
		At:     visit.Now,
		Dream:  dreamID,
		Affect: now.At(visit.Now),
		Digest: append([]string{}, v.digest...),
	}
	if dreamID != "" {
		left, err := d.takeMood(visit.Agent)
		if err != nil {
			return err
		}
		if left != nil && visit.Cause != presence.Alarm {
			after := left.Affect(dreamID, visit.Now)
			before := w.Affect
			w.Affect = after.At(visit.Now)
			w.Delta = before.Distance(w.Affect)
			if err := d.putAffect(visit.Agent, dreamID, after); err != nil {
				return err
			}
		}
	}
	v.last, v.digest, v.visited = &w, nil, false
	return nil
}

// takeMood removes from the slot the affect that the dream would leave, and returns it; nil when there is none.
func (d tx) takeMood(agent string) (*memory.Foreseen, error) {
	var body []byte
	if _, err := d.one("SELECT mood FROM slots WHERE agent = ?", []any{agent}, &body); err != nil || body == nil {
		return nil, err
	}
	if _, err := d.exec("UPDATE slots SET mood = NULL WHERE agent = ?", agent); err != nil {
		return nil, err
	}
	var left memory.Foreseen
	return &left, json.Unmarshal(body, &left)
}
