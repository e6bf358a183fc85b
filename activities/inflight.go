package activities

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/seed-56a03226/oneiros/internal/presence"
)

// InflightRegistry holds the paid activities that run in this process and stops those of an agent that is woken. The
// order matters: an activity registers before it reads the epoch, and a wake raises the epoch before it publishes a
// notice, so that every activity notices a wake in one way or the other.
type InflightRegistry struct {
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

// cancelOnWake lets a wake notice cancel the call directly. If the activity was stopped already, the call is cancelled at
// once.
func cancelOnWake(ctx context.Context, stop context.CancelCauseFunc) {
	d, ok := ctx.Value(runningKey{}).(*running)
	if !ok {
		return
	}
	d.mu.Lock()
	d.stops = append(d.stops, stop)
	d.mu.Unlock()
	if w, woken := wokenBy(ctx); woken {
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

// NewInflightRegistry makes a registry over the store of epochs. It must be closed.
func NewInflightRegistry(epochs presence.Store) *InflightRegistry {
	r := &InflightRegistry{
		epochs: epochs, activities: map[string]map[*running]struct{}{},
		doubts: make(chan presence.WakeNotice, queued), done: make(chan struct{}),
	}
	for range checkers {
		r.checkersDone.Go(r.check)
	}
	return r
}

// Close ends the verification of notices and waits for it.
func (r *InflightRegistry) Close() {
	close(r.done)
	r.checkersDone.Wait()
}

// OnNotice handles a wake notice. A local notice is trusted. Others may be forged, late or repeated, so the epoch is
// read from the store first, but only if an activity runs that the notice would stop.
func (r *InflightRegistry) OnNotice(notice presence.WakeNotice) {
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

func (r *InflightRegistry) concerns(notice presence.WakeNotice) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for d := range r.activities[notice.Agent] {
		if d.epoch < notice.Epoch {
			return true
		}
	}
	return false
}

func (r *InflightRegistry) check() {
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
func (r *InflightRegistry) stop(notice presence.WakeNotice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for d := range r.activities[notice.Agent] {
		if d.epoch < notice.Epoch {
			d.stop(&Woken{Notice: notice, ReceivedAt: time.Now()})
		}
	}
}

// Register registers an activity of a stretch. The returned context ends with a *Woken when the agent is woken, and is
// already ended if it was woken before. release must be called when the activity is over.
func (r *InflightRegistry) Register(ctx context.Context, s Stretch) (registered context.Context, release func()) {
	registered, stop := context.WithCancelCause(ctx)
	d := &running{epoch: s.Epoch, stops: []context.CancelCauseFunc{stop}}
	registered = context.WithValue(registered, runningKey{}, d)
	r.mu.Lock()
	if r.activities[s.Agent] == nil {
		r.activities[s.Agent] = map[*running]struct{}{}
	}
	r.activities[s.Agent][d] = struct{}{}
	r.mu.Unlock()
	release = func() {
		r.mu.Lock()
		delete(r.activities[s.Agent], d)
		if len(r.activities[s.Agent]) == 0 {
			delete(r.activities, s.Agent)
		}
		r.mu.Unlock()
		stop(nil)
	}
	// if the store cannot be read, the activity fails by itself
	if epoch, err := r.epochs.Epoch(ctx, s.Agent); err == nil && epoch > s.Epoch {
		d.stop(&Woken{Notice: presence.WakeNotice{Agent: s.Agent, Epoch: epoch}, ReceivedAt: time.Now()})
	}
	return registered, release
}

// Running counts the activities in progress.
func (r *InflightRegistry) Running() int {
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

// wokenBy is what woke an activity, if it was woken.
func wokenBy(ctx context.Context) (*Woken, bool) {
	var w *Woken
	return w, ctx.Err() != nil && errors.As(context.Cause(ctx), &w)
}

// StretchRequest is a request of an activity that belongs to a stretch.
type StretchRequest interface{ InStretch() Stretch }

// RunActivity runs a paid activity that a wake can stop. do is not called if the stretch is woken already. A call or
// read that a wake interrupted, or a write that the store refused because of it, ends the activity without an error.
// Local activities are only run: the store refuses their writes.
func (r *InflightRegistry) RunActivity(ctx context.Context, request any,
	do func(context.Context) (any, error),
) (any, error) {
	inStretch, ok := request.(StretchRequest)
	if !ok || !activity.IsActivity(ctx) || activity.GetInfo(ctx).IsLocalActivity {
		return do(ctx)
	}
	ctx, release := r.Register(ctx, inStretch.InStretch())
	defer release()
	if _, woken := wokenBy(ctx); woken {
		return StepResult{Done: Done{End: EndWoken, Reason: "woken before it began"}}, nil
	}
	result, err := do(ctx)
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == FailWoken {
		return StepResult{Done: Done{End: EndWoken, Reason: "woken before it was written down"}}, nil
	}
	if _, woken := wokenBy(ctx); woken && err != nil {
		return StepResult{Done: Done{End: EndWoken, Reason: "woken in between"}}, nil
	}
	return result, err
}
