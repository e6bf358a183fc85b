package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/presence"
)

// Depart ends a client's lease.
func (s *Store) Depart(ctx context.Context, agent, client string, now time.Time,
	lock time.Duration,
) (presence.Status, error) {
	var st presence.Status
	err := s.writeUrgent(ctx, func(d tx) error {
		if agent == "" || client == "" {
			return errors.New("agent and client must not be empty")
		}
		if lock < 0 {
			return fmt.Errorf("lock is %v; it must not be negative", lock)
		}
		v, err := d.presenceRow(agent)
		if err != nil {
			return err
		}
		removed, err := d.exec("DELETE FROM leases WHERE agent = ? AND client = ? AND until > ?", agent, client,
			nanos(now))
		if err != nil {
			return err
		}
		if removed > 0 {
			v.lock, v.seen = later(v.lock, plain(now).Add(lock)), later(v.seen, plain(now))
			if err := d.setPresenceRow(agent, v); err != nil {
				return err
			}
		}
		st, err = d.status(agent, v, now)
		return err
	})
	if err != nil {
		return presence.Status{}, fmt.Errorf("departure of %q from %s: %w", client, agent, err)
	}
	return st, nil
}

// Dismiss ends every lease and the lock.
func (s *Store) Dismiss(ctx context.Context, agent string, now time.Time) (presence.Status, error) {
	var st presence.Status
	err := s.writeUrgent(ctx, func(d tx) error {
		if agent == "" {
			return errors.New("agent must not be empty")
		}
		v, err := d.presenceRow(agent)
		if err != nil || !v.exists {
			return err
		}
		if _, err := d.exec("DELETE FROM leases WHERE agent = ?", agent); err != nil {
			return err
		}
		v.lock = time.Time{}
		if err := d.setPresenceRow(agent, v); err != nil {
			return err
		}
		st, err = d.status(agent, v, now)
		return err
	})
	if err != nil {
		return presence.Status{}, fmt.Errorf("dismiss the clients of %s: %w", agent, err)
	}
	return st, nil
}

// Status returns who holds the agent awake.
func (s *Store) Status(ctx context.Context, agent string, now time.Time) (presence.Status, error) {
	var st presence.Status
	err := s.read(ctx, func(d tx) error {
		v, err := d.presenceRow(agent)
		if err != nil {
			return err
		}
		st, err = d.status(agent, v, now)
		return err
	})
	if err != nil {
		return presence.Status{}, fmt.Errorf("status of %s: %w", agent, err)
	}
	return st, nil
}

// Epoch returns the agent's current epoch.
func (s *Store) Epoch(ctx context.Context, agent string) (int64, error) {
	var epoch int64
	err := s.readOnce(ctx, func(d tx) error {
		_, err := d.one("SELECT epoch FROM presences WHERE agent = ?", []any{agent}, &epoch)
		return err
	})
	return epoch, wrap(err, "epoch of "+agent)
}

// Recorded marks the wake of an epoch as recorded by the agent's workflow.
func (s *Store) Recorded(ctx context.Context, agent string, epoch int64) error {
	err := s.writeUrgent(ctx, func(d tx) error {
		if agent == "" {
			return errors.New("agent must not be empty")
		}
		v, err := d.presenceRow(agent)
		if err != nil || epoch <= v.recorded {
			return err
		}
		if epoch > v.epoch {
			return fmt.Errorf("epoch %d cannot have been recorded; the agent's newest is %d", epoch, v.epoch)
		}
		_, err = d.exec("UPDATE presences SET told = ? WHERE agent = ?", epoch, agent)
		return err
	})
	return wrap(err, "note what the workflow of "+agent+" was told")
}

// Unrecorded lists the wakes that no workflow has recorded yet.
func (s *Store) Unrecorded(ctx context.Context) (map[string]presence.Wake, error) {
	untold := map[string]presence.Wake{}
	err := s.read(ctx, func(d tx) error {
		var agents []string
		err := d.each("SELECT agent FROM presences INDEXED BY presences_untold WHERE told < epoch", nil,
			func(scan func(...any) error) error {
				var agent string
				err := scan(&agent)
				agents = append(agents, agent)
				return err
			})
		if err != nil {
			return err
		}
		for _, agent := range agents {
			v, err := d.presenceRow(agent)
			if err != nil {
				return err
			}
			if v.last != nil {
				untold[agent] = *v.last
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("wakes that no workflow has recorded: %w", err)
	}
	return untold, nil
}

// plain is the stored form of a time: in UTC, without a monotonic clock reading.
func plain(t time.Time) time.Time { return t.UTC().Round(0) }
