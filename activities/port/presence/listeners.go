package presence

import (
	"context"
	"sync"
)

// LocalBus is a WakeBus within one process, and that part of a bus between processes. The zero value is ready.
type LocalBus struct {
	mu        sync.Mutex
	listeners map[int]func(WakeNotice)
	next      int
}

// Publish calls every listener with the notice, marked as local.
func (b *LocalBus) Publish(_ context.Context, r WakeNotice) error {
	if err := r.Validate(); err != nil {
		return err
	}
	r.Local = true
	b.Deliver(r)
	return nil
}

// Deliver calls every listener with a notice as it is, such as one from another process. It calls them without its
// lock, because a listener may stop itself.
func (b *LocalBus) Deliver(r WakeNotice) {
	b.mu.Lock()
	listeners := make([]func(WakeNotice), 0, len(b.listeners))
	for _, hear := range b.listeners {
		listeners = append(listeners, hear)
	}
	b.mu.Unlock()
	for _, hear := range listeners {
		hear(r)
	}
}

// Listen calls hear for every notice until stop is called.
func (b *LocalBus) Listen(hear func(WakeNotice)) (stop func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners == nil {
		b.listeners = map[int]func(WakeNotice){}
	}
	id := b.next
	b.next++
	b.listeners[id] = hear
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, id)
	}, nil
}

// Clear stops every listener.
func (b *LocalBus) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners = nil
}
