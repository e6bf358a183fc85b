package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// Arrive grants or renews a lease, and raises the epoch when the agent was asleep or is dreaming.
func (s *Store) Arrive(ctx context.Context, v presence.Visit) (presence.Arrival, error) {
	var arrival presence.Arrival
	if err := v.Validate(); err != nil {
		return arrival, err
	}
	if v.Handle != "" {
		if record, err := s.Agent(ctx, v.Agent); err != nil || record.Handle != v.Handle {
			return arrival, fmt.Errorf("no agent %s has the handle %q: %w", v.Agent, v.Handle, memory.ErrNotFound)
		}
	}
	v.Now = v.Now.UTC().Round(0)
	err := s.write(v.Agent, func(a *agent) error {
		arrival = a.arrive(v)
		return nil
	})
	return arrival, err
}

func (a *agent) arrive(v presence.Visit) presence.Arrival {
	st := &a.awake
	raised := presence.Raises(a.slot, st.Epoch, st.Until(), v.Now)
	st.Leases = renewed(live(st.Leases, v.Now), v)
	st.Lock, st.Seen = later(st.Lock, v.Now.Add(v.Lock)), later(st.Seen, v.Now)
	if raised {
		st.Epoch++
		w, affect := v.Rise(st.Epoch, presence.Before{
			Dream: a.slot.Dream, Affect: a.affect(), Mood: a.mood, Digest: a.digest,
		})
		if affect != nil {
			a.moods = append(slices.Clip(a.moods), feeling{w.Dream, *affect})
		}
		a.mood, a.digest = nil, nil
		st.Last, st.Visited = &w, false
	} else if v.Cause == presence.Connect && st.Last.LeftAsleep() {
		st.Visited = true
	}
	return presence.Arrival{Wake: copied(*st.Last), Raised: raised}
}

// renewed returns the leases with the visit's, which is never shortened.
func renewed(leases []presence.Lease, v presence.Visit) []presence.Lease {
	lease := presence.Lease{Client: v.Client, Cause: v.Cause, Since: v.Now, Until: v.Now.Add(v.For)}
	i, held := slices.BinarySearchFunc(leases, v.Client, func(l presence.Lease, client string) int {
		return strings.Compare(l.Client, client)
	})
	if !held {
		return slices.Insert(leases, i, lease)
	}
	lease.Since, lease.Until = leases[i].Since, later(leases[i].Until, lease.Until)
	leases[i] = lease
	return leases
}

// live returns a copy of the leases that have not ended.
func live(leases []presence.Lease, now time.Time) []presence.Lease {
	return slices.DeleteFunc(slices.Clone(leases), func(l presence.Lease) bool { return !l.Until.After(now) })
}

func copied(w presence.Wake) presence.Wake {
	w.Digest = append([]string{}, w.Digest...)
	return w
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// status returns a copy of who holds the agent awake now.
func (a agent) status(now time.Time) presence.Status {
	st := a.awake
	st.Leases = live(st.Leases, now)
	if st.Last != nil {
		last := copied(*st.Last)
		st.Last = &last
	}
	return st
}

// Depart ends a client's lease.
func (s *Store) Depart(_ context.Context, agentID, client string, now time.Time,
	lock time.Duration,
) (presence.Status, error) {
	var st presence.Status
	if client == "" || lock < 0 {
		return st, fmt.Errorf("client %q leaves with a lock of %v: it has a name, and a lock is not negative", client, lock)
	}
	err := s.write(agentID, func(a *agent) error {
		now = now.UTC().Round(0)
		rest := slices.DeleteFunc(live(a.awake.Leases, now), func(l presence.Lease) bool { return l.Client == client })
		if len(rest) < len(live(a.awake.Leases, now)) {
			a.awake.Leases = rest
			a.awake.Lock, a.awake.Seen = later(a.awake.Lock, now.Add(lock)), later(a.awake.Seen, now)
		}
		st = a.status(now)
		return nil
	})
	return st, err
}

// Dismiss ends every lease and the lock.
func (s *Store) Dismiss(_ context.Context, agentID string, now time.Time) (presence.Status, error) {
	var st presence.Status
	err := s.write(agentID, func(a *agent) error {
		a.awake.Leases, a.awake.Lock = nil, time.Time{}
		st = a.status(now)
		return nil
	})
	return st, err
}

// Status returns who holds the agent awake.
func (s *Store) Status(_ context.Context, agentID string, now time.Time) (presence.Status, error) {
	return s.read(agentID).status(now), nil
}

// Epoch returns the agent's epoch.
func (s *Store) Epoch(_ context.Context, agentID string) (int64, error) {
	return s.read(agentID).awake.Epoch, nil
}

// Recorded marks a wake as recorded by the agent's workflow.
func (s *Store) Recorded(_ context.Context, agentID string, epoch int64) error {
	return s.write(agentID, func(a *agent) error {
		if epoch > a.awake.Epoch {
			return fmt.Errorf("epoch %d cannot have been recorded; the newest is %d", epoch, a.awake.Epoch)
		}
		a.awake.Recorded = max(a.awake.Recorded, epoch)
		return nil
	})
}

// Unrecorded lists the newest wakes that no workflow has recorded.
func (s *Store) Unrecorded(context.Context) (map[string]presence.Wake, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wakes := map[string]presence.Wake{}
	for id, a := range s.agents {
		if a.awake.Recorded < a.awake.Epoch {
			wakes[id] = copied(*a.awake.Last)
		}
	}
	return wakes, nil
}
