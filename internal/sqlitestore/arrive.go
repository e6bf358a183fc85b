package sqlitestore

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// Arrive grants or renews a lease, and raises the epoch when the agent was not awake or is still dreaming.
func (s visits) Arrive(ctx context.Context, v presence.Visit) (presence.Arrival, error) {
	what := fmt.Sprintf("visit of %q to %s", v.Client, v.Agent)
	if err := v.Validate(); err != nil {
		return presence.Arrival{}, store.Wrap(err, what)
	}
	v.Now = plain(v.Now)
	return in(ctx, s.writeUrgent, what, func(d *tx) presence.Arrival { return (&arrival{tx: d, Visit: v}).all() })
}

// arrival is a visit in a transaction.
type arrival struct {
	*tx
	presence.Visit
	row presenceRow
}

func (v *arrival) all() (a presence.Arrival) {
	v.checkHandle()
	slot := v.slot(v.Agent)
	v.row = v.presenceRow(v.Agent)
	a.Raised = presence.Raises(slot, v.row.epoch, v.until(v.Agent, v.row), v.Now)
	v.lease()
	v.row.lock, v.row.seen = later(v.row.lock, v.Now.Add(v.Lock)), later(v.row.seen, v.Now)
	if a.Raised {
		v.raise(slot.Dream)
	} else if v.Cause == presence.Connect && v.row.last != nil && v.row.last.LeftAsleep() {
		v.row.visited = true
	}
	v.setPresenceRow(v.Agent, v.row)
	if v.row.last != nil {
		a.Wake = *v.row.last
	}
	return a
}

// checkHandle refuses a visit to an agent whose handle is not the visit's.
func (v *arrival) checkHandle() {
	if v.Handle == "" {
		v.writable(v.Agent)
		return
	}
	if !cell[bool](v.tx, "SELECT EXISTS (SELECT 1 FROM agents WHERE id = ? AND handle = ?)", v.Agent, v.Handle) {
		v.fail(fmt.Errorf("no agent %s has the handle %q: %w", v.Agent, v.Handle, memory.ErrNotFound))
	}
}

// lease grants or renews a lease, and deletes expired ones.
func (v *arrival) lease() {
	v.exec("DELETE FROM leases WHERE agent = ? AND until <= ?", v.Agent, nanos(v.Now))
	v.exec(`INSERT INTO leases (agent, client, cause, since, until) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (agent, client) DO UPDATE SET cause = excluded.cause, until = max(until, excluded.until)`,
		v.Agent, v.Client, string(v.Cause), nanos(v.Now), nanos(v.Now.Add(v.For)))
}

// raise makes a wake from the stored mood and digest, and clears them.
func (v *arrival) raise(dreamID string) {
	before := presence.Before{Dream: dreamID, Affect: v.affect(v.Agent), Digest: v.row.digest}
	if dreamID != "" {
		v.one("SELECT mood FROM slots WHERE agent = ?", []any{v.Agent}, jsonText{&before.Mood})
		if before.Mood != nil {
			v.exec("UPDATE slots SET mood = NULL WHERE agent = ?", v.Agent)
		}
	}
	v.row.epoch++
	w, after := v.Rise(v.row.epoch, before)
	v.row.last, v.row.digest, v.row.visited = &w, nil, false
	if after != nil {
		v.putAffect(v.Agent, dreamID, *after)
	}
}
