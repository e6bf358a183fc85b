package sqlitestore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// maxWaitingNotices is how many wake notices may wait to be sent to other processes; more are dropped. That is four
// times what a thousand simultaneous wakes need.
const maxWaitingNotices = 4096

// dispatcher is the wake bus: it calls the listeners of this process, and those of others through Unix sockets.
type dispatcher struct {
	path string // of the deployment's file; empty for a private store

	local   presence.LocalBus
	mu      sync.Mutex
	unixBus *unixBus // nil until the first notice or listener
	ended   bool

	lost    atomic.Int64
	garbled atomic.Int64
}

// Publish calls the listeners of this process, then queues the notice for other processes.
func (t *dispatcher) Publish(ctx context.Context, r presence.WakeNotice) error {
	if err := t.local.Publish(ctx, r); err != nil {
		return err
	}
	r.Local = true
	p, err := t.bus()
	if err != nil || p == nil {
		return store.Wrap(err, "ring for ", r.Agent)
	}
	select {
	case p.notices <- r:
	default:
		t.lost.Add(1)
	}
	return nil
}

// Listen calls hear for every notice of this process, in the publishing goroutine, and for those of others.
func (t *dispatcher) Listen(hear func(presence.WakeNotice)) (stop func(), err error) {
	p, err := t.bus()
	if err == nil && p != nil {
		err = p.listen()
	}
	if err != nil {
		return nil, fmt.Errorf("listen for wake notices: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil, fmt.Errorf("listen for wake notices: %w", ErrClosed)
	}
	return t.local.Listen(hear)
}

// DroppedNotices counts the notices that this process dropped because too many waited or a receiver was too slow
// (lost), and the datagrams that were no notices (garbled).
func (t *dispatcher) DroppedNotices() (lost, garbled int64) {
	return t.lost.Load(), t.garbled.Load()
}

// bus returns the bus to other processes, and creates it on first use; nil on systems without one.
func (t *dispatcher) bus() (*unixBus, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
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
	for _, r := range notices {
		t.local.Deliver(r)
	}
}

// close sends the queued notices and closes the sockets.
func (t *dispatcher) close() error {
	t.mu.Lock()
	p := t.unixBus
	t.ended = true
	t.mu.Unlock()
	t.local.Clear()
	if p == nil {
		return nil
	}
	return p.close()
}
