package week

import (
	"context"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/presence"
)

// visitors is a store that notes of one agent's visitors what it acknowledged: who came and went, by the times that it
// was given and keeps. The judge goes by nothing else, so that a slow machine is not taken for a rash life.
type visitors struct {
	presence.Store

	mu      sync.Mutex
	held    []Held
	actives []time.Time
	wakes   int
}

// Arrive notes a lease.
func (s *visitors) Arrive(ctx context.Context, v presence.Visit) (presence.Arrival, error) {
	a, err := s.Store.Arrive(ctx, v)
	if err != nil {
		return a, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	joins := !a.Raised && v.Cause == presence.Connect && a.Cause != presence.Connect && a.Dream == ""
	// over a sleeper an alarm only holds
	rises := a.Raised && (v.Cause != presence.Alarm || a.Dream != "") || joins
	// one that renews its lease shortens nothing
	s.held = append(s.held, Held{Who: v.Client, From: v.Now, To: v.Now.Add(v.For), rises: rises})
	s.actives = append(s.actives, v.Now)
	if a.Raised {
		s.wakes++
	}
	return a, nil
}

// Depart notes the end of a lease, and the lock that follows.
func (s *visitors) Depart(ctx context.Context, agent, client string, now time.Time,
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

// cut ends whatever a client holds. The caller has the lock.
func (s *visitors) cut(client string, now time.Time) (had bool) {
	for i, h := range s.held {
		if h.Who == client && !h.locks && h.To.After(now) {
			s.held[i].To, had = now, true
		}
	}
	return had
}

// behind notes by how much the server's time of the life ran ahead of the newest entry while it was made.
func (s *visitors) behind(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.held); n > 0 && by > 0 {
		s.held[n-1].behind = max(s.held[n-1].behind, by)
	}
}

// report copies what was noted into what was lived.
func (s *visitors) report(l *Lived) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.Held, l.Actives, l.Wakes = s.held, s.actives, s.wakes
}
