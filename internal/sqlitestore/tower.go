package sqlitestore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed-56a03226/oneiros/internal/presence"
)

// noticesWaiting bounds the rings that wait to be sent to other processes; more are lost. A thousand dreams woken at
// once fit, four times over.
const noticesWaiting = 4096

// dispatcher hangs the bell: it calls the listeners of this process, and those of others through sockets.
type dispatcher struct {
	path string // of the deployment's file; empty for a private store

	mu        sync.Mutex
	listeners map[int]func(presence.WakeNotice)
	next      int
	unixBus   *unixBus // nil until the first ring or listener
	shut      bool

	lost    atomic.Int64
	garbled atomic.Int64
}

// Publish calls the listeners of this process, then leaves word for those of others.
func (s *Store) Publish(_ context.Context, r presence.WakeNotice) error {
	if err := r.Validate(); err != nil {
		return err
	}
	r.Local = true
	for _, hear := range s.dispatcher.hearers() {
		hear(r)
	}
	p, err := s.dispatcher.posted()
	if err != nil || p == nil {
		return wrap(err, "ring for "+r.Agent)
	}
	select {
	case p.notices <- r:
	default:
		s.dispatcher.lost.Add(1)
	}
	return nil
}

// Listen calls hear for every ring of this process, in the goroutine that rings, and for those of others.
func (s *Store) Listen(hear func(presence.WakeNotice)) (stop func(), err error) {
	p, err := s.dispatcher.posted()
	if err == nil && p != nil {
		err = p.listen()
	}
	if err != nil {
		return nil, fmt.Errorf("listen for rings: %w", err)
	}
	t := &s.dispatcher
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shut {
		return nil, fmt.Errorf("listen for rings: %w", ErrClosed)
	}
	if t.listeners == nil {
		t.listeners = map[int]func(presence.WakeNotice){}
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
func (s *Store) Misrung() (lost, garbled int64) {
	return s.dispatcher.lost.Load(), s.dispatcher.garbled.Load()
}

// hearers are the listeners of this moment. They are called without the lock: a listener may stop itself.
func (t *dispatcher) hearers() []func(presence.WakeNotice) {
	t.mu.Lock()
	defer t.mu.Unlock()
	hearers := make([]func(presence.WakeNotice), 0, len(t.listeners))
	for _, hear := range t.listeners {
		hearers = append(hearers, hear)
	}
	return hearers
}

// posted gives the way to other processes, which begins with the first ring or listener; nil when there are none.
func (t *dispatcher) posted() (*unixBus, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shut {
		return nil, ErrClosed
	}
	if t.path == "" || t.unixBus != nil {
		return t.unixBus, nil
	}
	p, err := newUnixBus(t)
	t.unixBus = p
	return p, err
}

// heard takes in a datagram.
func (t *dispatcher) heard(datagram []byte) {
	notices, err := decodeNotices(datagram)
	if err != nil {
		t.garbled.Add(1)
		return
	}
	hearers := t.hearers()
	for _, r := range notices {
		for _, hear := range hearers {
			hear(r)
		}
	}
}

// close sends what still waits, and takes the bell down.
func (t *dispatcher) close() error {
	t.mu.Lock()
	p := t.unixBus
	t.shut = true
	t.listeners = nil
	t.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.close()
}
