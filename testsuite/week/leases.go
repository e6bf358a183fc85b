package week

import (
	"context"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// leaseRecorder is a store that records which leases of one agent it granted and ended, with the times it was given.
// The judge uses nothing else, so that a slow machine is not mistaken for an agent that dreams too early.
type leaseRecorder struct {
	presence.Store

	mu      sync.Mutex
	held    []Held
	actives []time.Time
	wakes   int
}

// Arrive records a lease.
func (s *leaseRecorder) Arrive(ctx context.Context, v presence.Visit) (presence.Arrival, error) {
	a, err := s.Store.Arrive(ctx, v)
	if err != nil {
		return a, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	joins := !a.Raised && v.Cause == presence.Connect && a.Cause != presence.Connect && a.Dream == ""
	// at a sleeping agent an alarm only holds
	rises := a.Raised && (v.Cause != presence.Alarm || a.Dream != "") || joins
	// a renewal does not shorten the lease
	s.held = append(s.held, Held{Who: v.Client, From: v.Now, To: v.Now.Add(v.For), rises: rises})
	s.actives = append(s.actives, v.Now)
	if a.Raised {
		s.wakes++
	}
	return a, nil
}

// Depart records the end of a lease, and the lock that follows.
func (s *leaseRecorder) Depart(ctx context.Context, agent, client string, now time.Time,
	lock time.Duration,
) (presence.Status, error) {
	status, err := s.Store.Depart(ctx, agent, client, now, lock)
	if err != nil {
		return status, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut(client, now) {
		s.held = append(s.held, Held{Who: client, From: now, To: now.Add(lock), locks: true})
		s.actives = append(s.actives, now)
	}
	return status, nil
}

// cut ends what a client holds. The caller has the lock.
func (s *leaseRecorder) cut(client string, now time.Time) (had bool) {
	for i, h := range s.held {
		if h.Who == client && !h.locks && h.To.After(now) {
			s.held[i].To, had = now, true
		}
	}
	return had
}

// behind records how far the workflow's time was ahead of the newest entry while it was made.
func (s *leaseRecorder) behind(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.held); n > 0 && by > 0 {
		s.held[n-1].behind = max(s.held[n-1].behind, by)
	}
}

// report copies the records into the observations.
func (s *leaseRecorder) report(l *Observed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.Held, l.Actives, l.Wakes = s.held, s.actives, s.wakes
}
