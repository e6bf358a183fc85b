package sqlitestore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed-56a03226/oneiros/internal/presence"
)

// ringsWaiting bounds the rings that wait to be sent to other processes; more are lost. A thousand dreams woken at once
// fit, four times over.
const ringsWaiting = 4096

// tower hangs the bell: it calls the listeners of this process, and those of others through sockets.
type tower struct {
	path string // of the deployment's file; empty for a private store

	mu        sync.Mutex
	listeners map[int]func(presence.Ring)
	next      int
	post      *post // nil until the first ring or listener
	shut      bool

	lost    atomic.Int64
	garbled atomic.Int64
}

// Ring calls the listeners of this process, then leaves word for those of others.
func (s *Store) Ring(_ context.Context, r presence.Ring) error {
	if err := r.Validate(); err != nil {
		return err
	}
	r.Local = true
	for _, hear := range s.tower.hearers() {
		hear(r)
	}
	p, err := s.tower.posted()
	if err != nil || p == nil {
		return wrap(err, "ring for "+r.Agent)
	}
	select {
	case p.rings <- r:
	default:
		s.tower.lost.Add(1)
	}
	return nil
}

// Listen calls hear for every ring of this process, in the goroutine that rings, and for those of others.
func (s *Store) Listen(hear func(presence.Ring)) (stop func(), err error) {
	p, err := s.tower.posted()
	if err == nil && p != nil {
		err = p.listen()
	}
	if err != nil {
		return nil, fmt.Errorf("listen for rings: %w", err)
	}
	t := &s.tower
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shut {
		return nil, fmt.Errorf("listen for rings: %w", ErrClosed)
	}
	if t.listeners == nil {
		t.listeners = map[int]func(presence.Ring){}
	}
	id := t.next
	t.next++
	t.listeners[id] = hear
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.listeners, id)
	}, nil
}

// Misrung counts what the bell of this process could not use: rings that were not sent on because too many waited or
// nobody took them in time, and datagrams that were no rings.
func (s *Store) Misrung() (lost, garbled int64) { return s.tower.lost.Load(), s.tower.garbled.Load() }

// hearers are the listeners of this moment. They are called without the lock: a listener may stop itself.
func (t *tower) hearers() []func(presence.Ring) {
	t.mu.Lock()
	defer t.mu.Unlock()
	hearers := make([]func(presence.Ring), 0, len(t.listeners))
	for _, hear := range t.listeners {
		hearers = append(hearers, hear)
	}
	return hearers
}

// posted gives the way to other processes, which begins with the first ring or listener; nil when there are none.
func (t *tower) posted() (*post, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shut {
		return nil, ErrClosed
	}
	if t.path == "" || t.post != nil {
		return t.post, nil
	}
	p, err := newPost(t)
	t.post = p
	return p, err
}

// heard takes in a datagram.
func (t *tower) heard(datagram []byte) {
	rings, err := decodeRings(datagram)
	if err != nil {
		t.garbled.Add(1)
		return
	}
	hearers := t.hearers()
	for _, r := range rings {
		for _, hear := range hearers {
			hear(r)
		}
	}
}

// close sends what still waits, and takes the bell down.
func (t *tower) close() error {
	t.mu.Lock()
	p := t.post
	t.shut = true
	t.listeners = nil
	t.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.close()
}
