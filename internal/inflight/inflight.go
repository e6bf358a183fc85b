// Package inflight knows the paid activities that run in this process, and stops those of an agent that is woken.
package inflight

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// Registry holds the paid activities that run in this process and stops those of an agent that is woken. The order
// matters: an activity registers before it reads the epoch, and a wake raises the epoch before it publishes a notice,
// so that every activity notices a wake in one way or the other.
//
// A running call has a context of its own, which the end of its activity does not cancel (core.withHeartbeat), because
// what is paid for shall arrive. CancelOnWake therefore gives the registry a second function to call: a notice ends
// both contexts, and with the call's the reading of the provider's answer.
type Registry struct {
	epochs presence.Store

	mu         sync.Mutex
	activities map[string]map[*running]struct{} // by agent

	doubts       chan presence.WakeNotice // notices of other processes, to be verified
	done         chan struct{}
	checkersDone sync.WaitGroup
}

// running is an activity in progress.
type running struct {
	epoch int64
	mu    sync.Mutex
	stops []context.CancelCauseFunc // cancels the activity, and the call that it makes
}

type runningKey struct{}

func (d *running) stop(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, stop := range d.stops {
		stop(why)
	}
}

// CancelOnWake lets a wake notice cancel the call directly. If the activity was stopped already, the call is cancelled
// at once.
func CancelOnWake(ctx context.Context, stop context.CancelCauseFunc) {
	d, ok := ctx.Value(runningKey{}).(*running)
	if !ok {
		return
	}
	d.mu.Lock()
	d.stops = append(d.stops, stop)
	d.mu.Unlock()
	if w, woken := WokenBy(ctx); woken {
		stop(w)
	}
}

// Notices of other processes are verified by this many goroutines and wait in a queue of this length; more are lost,
// which notices may be.
const (
	checkers = 4
	queued   = 4096
	checking = 2 * time.Second
)

// NewRegistry makes a registry over the store of epochs. It must be closed.
func NewRegistry(epochs presence.Store) *Registry {
	r := &Registry{
		epochs: epochs, activities: map[string]map[*running]struct{}{},
		doubts: make(chan presence.WakeNotice, queued), done: make(chan struct{}),
	}
	for range checkers {
		r.checkersDone.Go(r.check)
	}
	return r
}

// Close ends the verification of notices and waits for it.
func (r *Registry) Close() {
	close(r.done)
	r.checkersDone.Wait()
}

// OnNotice handles a wake notice. A local notice is trusted. Others may be forged, late or repeated, so the epoch is
// read from the store first, but only if an activity runs that the notice would stop.
func (r *Registry) OnNotice(notice presence.WakeNotice) {
	switch {
	case notice.Local:
		r.stop(notice)
	case r.concerns(notice):
		select {
		case r.doubts <- notice:
		default:
		}
	}
}

func (r *Registry) concerns(notice presence.WakeNotice) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for d := range r.activities[notice.Agent] {
		if d.epoch < notice.Epoch {
			return true
		}
	}
	return false
}

func (r *Registry) check() {
	for {
		select {
		case <-r.done:
			return
		case notice := <-r.doubts:
			ctx, cancel := context.WithTimeout(context.Background(), checking)
			epoch, err := r.epochs.Epoch(ctx, notice.Agent)
			cancel()
			if err == nil {
				notice.Epoch = min(notice.Epoch, epoch)
				r.stop(notice)
			}
		}
	}
}

// stop cancels every activity of the agent that began under an older epoch.
func (r *Registry) stop(notice presence.WakeNotice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for d := range r.activities[notice.Agent] {
		if d.epoch < notice.Epoch {
			d.stop(&Woken{Notice: notice, ReceivedAt: time.Now()})
		}
	}
}

// Register registers an activity of an agent that began under an epoch. The returned context ends with a *Woken when
// the agent is woken, and is already ended if it was woken before. release must be called when the activity is over.
func (r *Registry) Register(ctx context.Context, agent string, epoch int64,
) (registered context.Context, release func()) {
	registered, stop := context.WithCancelCause(ctx)
	d := &running{epoch: epoch, stops: []context.CancelCauseFunc{stop}}
	registered = context.WithValue(registered, runningKey{}, d)
	r.mu.Lock()
	if r.activities[agent] == nil {
		r.activities[agent] = map[*running]struct{}{}
	}
	r.activities[agent][d] = struct{}{}
	r.mu.Unlock()
	release = func() {
		r.mu.Lock()
		delete(r.activities[agent], d)
		if len(r.activities[agent]) == 0 {
			delete(r.activities, agent)
		}
		r.mu.Unlock()
		stop(nil)
	}
	// if the store cannot be read, the activity fails by itself
	if now, err := r.epochs.Epoch(ctx, agent); err == nil && now > epoch {
		d.stop(&Woken{Notice: presence.WakeNotice{Agent: agent, Epoch: now}, ReceivedAt: time.Now()})
	}
	return registered, release
}

// Running counts the activities in progress.
func (r *Registry) Running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, activities := range r.activities {
		n += len(activities)
	}
	return n
}

// Woken is the cause of a context that ended because the agent's epoch rose.
type Woken struct {
	Notice     presence.WakeNotice
	ReceivedAt time.Time
}

// Error implements error.
func (w *Woken) Error() string { return "the agent was woken" }

// WokenBy is what woke an activity, if it was woken.
func WokenBy(ctx context.Context) (*Woken, bool) {
	var w *Woken
	return w, ctx.Err() != nil && errors.As(context.Cause(ctx), &w)
}
