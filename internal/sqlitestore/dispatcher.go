package sqlitestore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed-56a03226/oneiros/internal/presence"
)

// maxWaitingNotices is how many wake notices may wait to be sent to other processes; more are dropped. That is four
// times what a thousand simultaneous wakes need.
const maxWaitingNotices = 4096

// dispatcher is the wake bus: it calls the listeners of this process, and those of others through Unix sockets.
type dispatcher struct {
	path string // of the deployment's file; empty for a private store

	mu        sync.Mutex
	listeners map[int]func(presence.WakeNotice)
	next      int
	unixBus   *unixBus // nil until the first notice or listener
	closed    bool

	lost    atomic.Int64
	garbled atomic.Int64
}

// Publish calls the listeners of this process, then queues the notice for other processes.
func (s *Store) Publish(_ context.Context, r presence.WakeNotice) error {
	if err := r.Validate(); err != nil {
		return err
	}
	r.Local = true
	for _, hear := range s.dispatcher.current() {
		hear(r)
	}
	p, err := s.dispatcher.bus()
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

// Listen calls hear for every notice of this process, in the publishing goroutine, and for those of others.
func (s *Store) Listen(hear func(presence.WakeNotice)) (stop func(), err error) {
	p, err := s.dispatcher.bus()
	if err == nil && p != nil {
		err = p.listen()
	}
	if err != nil {
		return nil, fmt.Errorf("listen for wake notices: %w", err)
	}
	t := &s.dispatcher
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, fmt.Errorf("listen for wake notices: %w", ErrClosed)
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

// DroppedNotices counts the notices that this process dropped because too many waited or a receiver was too slow
// (lost), and the datagrams that were no notices (garbled).
func (s *Store) DroppedNotices() (lost, garbled int64) {
	return s.dispatcher.lost.Load(), s.dispatcher.garbled.Load()
}

// current returns the current listeners. They are called without the lock, because a listener may stop itself.
func (t *dispatcher) current() []func(presence.WakeNotice) {
	t.mu.Lock()
	defer t.mu.Unlock()
	hearers := make([]func(presence.WakeNotice), 0, len(t.listeners))
	for _, hear := range t.listeners {
		hearers = append(hearers, hear)
	}
	return hearers
}

// bus returns the bus to other processes, and creates it on first use; nil on systems without one.
func (t *dispatcher) bus() (*unixBus, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, ErrClosed
	}
	if t.path == "" || t.unixBus != nil {
		return t.unixBus, nil
	}
	p, err := newUnixBus(t)
	t.unixBus = p
	return p, err
}

// receive handles a datagram.
func (t *dispatcher) receive(datagram []byte) {
	notices, err := decodeNotices(datagram)
	if err != nil {
		t.garbled.Add(1)
		return
	}
	hearers := t.current()
	for _, r := range notices {
		for _, hear := range hearers {
			hear(r)
		}
	}
}

// close sends the queued notices and closes the sockets.
func (t *dispatcher) close() error {
	t.mu.Lock()
	p := t.unixBus
	t.closed = true
	t.listeners = nil
	t.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.close()
}
