package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// visits keeps who holds agents awake, and their epochs.
type visits struct{ *file }

// Depart ends a client's lease.
func (s visits) Depart(ctx context.Context, agent, client string, now time.Time,
	lock time.Duration,
) (presence.Status, error) {
	return in(ctx, s.writeUrgent, client+" leaves "+agent, func(d *tx) presence.Status {
		d.fail(store.CheckDeparture(agent, client, lock))
		v := d.presenceRow(agent)
		if d.exec("DELETE FROM leases WHERE agent = ? AND client = ? AND until > ?", agent, client, nanos(now)) > 0 {
			v.lock, v.seen = later(v.lock, plain(now).Add(lock)), later(v.seen, plain(now))
			d.setPresenceRow(agent, v)
		}
		return d.status(agent, v, now)
	})
}

// Dismiss ends every lease and the lock.
func (s visits) Dismiss(ctx context.Context, agent string, now time.Time) (presence.Status, error) {
	return in(ctx, s.writeUrgent, "dismiss the clients of "+agent, func(d *tx) (none presence.Status) {
		if agent == "" {
			d.fail(errNoAgent)
		}
		v := d.presenceRow(agent)
		if !v.exists {
			return none
		}
		d.exec("DELETE FROM leases WHERE agent = ?", agent)
		v.lock = time.Time{}
		d.setPresenceRow(agent, v)
		return d.status(agent, v, now)
	})
}

// Status returns who holds the agent awake. Every turn of a talk asks: it is one statement.
func (s visits) Status(ctx context.Context, agent string, now time.Time) (presence.Status, error) {
	return in(ctx, s.readOnce, "status of "+agent, func(d *tx) (st presence.Status) {
		d.each(`SELECT epoch, told, lock, seen, wake, ifnull(client, ''), ifnull(cause, ''), ifnull(since, 0), ifnull(until, 0)
			FROM presences p LEFT JOIN leases l ON l.agent = p.agent AND l.until > ? WHERE p.agent = ? ORDER BY client`,
			[]any{nanos(now), agent}, func(scan scanner) {
				var kept *keptWake
				var l presence.Lease
				scan(&st.Epoch, &st.Recorded, (*sortedTime)(&st.Lock), (*sortedTime)(&st.Seen), jsonText{&kept},
					&l.Client, &l.Cause, (*sortedTime)(&l.Since), (*sortedTime)(&l.Until))
				st.Last, st.Visited = kept.wake()
				if l.Client != "" {
					st.Leases = append(st.Leases, l)
				}
			})
		return st
	})
}

// Epoch returns the agent's current epoch.
func (s visits) Epoch(ctx context.Context, agent string) (int64, error) {
	return in(ctx, s.readOnce, "epoch of "+agent,
		func(d *tx) int64 { return cell[int64](d, "SELECT epoch FROM presences WHERE agent = ?", agent) })
}

// Recorded marks the wake of an epoch as recorded by the agent's workflow.
func (s visits) Recorded(ctx context.Context, agent string, epoch int64) error {
	return store.Wrap(s.writeUrgent(ctx, func(d *tx) {
		if agent == "" {
			d.fail(errNoAgent)
		}
		v := d.presenceRow(agent)
		if epoch <= v.recorded {
			return
		}
		if epoch > v.epoch {
			d.fail(fmt.Errorf("epoch %d cannot have been recorded; the agent's newest is %d", epoch, v.epoch))
		}
		d.exec("UPDATE presences SET told = ? WHERE agent = ?", epoch, agent)
	}), "note the epoch that the workflow of ", agent, " has recorded")
}

// Unrecorded lists the wakes that no workflow has recorded yet.
func (s visits) Unrecorded(ctx context.Context) (map[string]presence.Wake, error) {
	return in(ctx, s.read, "wakes that no workflow has recorded", func(d *tx) map[string]presence.Wake {
		wakes := map[string]presence.Wake{}
		for _, agent := range column[string](d,
			"SELECT agent FROM presences INDEXED BY presences_untold WHERE told < epoch") {
			if v := d.presenceRow(agent); v.last != nil {
				wakes[agent] = *v.last
			}
		}
		return wakes
	})
}
