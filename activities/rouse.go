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

// InflightRegistry knows the paid deeds that run in this process and stops those of an agent that is woken. The order
// is law (decision 16): a deed registers first and reads the epoch second, a visit raises the epoch first and rings
// second, so that a wake reaches every deed by one way or the other.
type InflightRegistry struct {
	epochs presence.Store

	mu         sync.Mutex
	activities map[string]map[*running]struct{} // by agent

	doubts chan presence.WakeNotice // rings from elsewhere, to be checked
	done   chan struct{}
	gone   sync.WaitGroup
}

// running is one deed under way.
type running struct {
	epoch int64
	mu    sync.Mutex
	stops []context.CancelCauseFunc // of the deed, and of the call that it makes
}

type runningKey struct{}

func (d *running) stop(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, stop := range d.stops {
		stop(why)
	}
}

// also lets a ring stop the call itself, without waiting for whoever watches over the deed. What has been stopped
// already stops at once.
func also(ctx context.Context, stop context.CancelCauseFunc) {
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

// Rings from other processes are checked by so many at once, and kept in a queue of this length; more are lost, as a
// bell may.
const (
	checkers = 4
	queued   = 4096
	checking = 2 * time.Second
)

// NewInflightRegistry makes a rouser over the store of epochs. Close it.
func NewInflightRegistry(epochs presence.Store) *InflightRegistry {
	r := &InflightRegistry{
		epochs: epochs, activities: map[string]map[*running]struct{}{},
		doubts: make(chan presence.WakeNotice, queued), done: make(chan struct{}),
	}
	for range checkers {
		r.gone.Go(r.check)
	}
	return r
}

// Close ends the checking of rings and waits for it.
func (r *InflightRegistry) Close() {
	close(r.done)
	r.gone.Wait()
}

// Hear takes a ring of the bell. One of this process is believed; others may be forged, late or repeated, so the store
// is asked first, and only when a deed runs that it would stop.
func (r *InflightRegistry) Hear(notice presence.WakeNotice) {
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

// stop ends every deed of the agent that began under an older epoch.
func (r *InflightRegistry) stop(notice presence.WakeNotice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for d := range r.activities[notice.Agent] {
		if d.epoch < notice.Epoch {
			d.stop(&Woken{Notice: notice, Heard: time.Now()})
		}
	}
}

// Seat registers a deed of a sitting: the returned context ends with a *Woken when the agent is woken. release must be
// called when the deed is over. A sitting that is woken already gets a context that has ended.
func (r *InflightRegistry) Seat(ctx context.Context, s Stretch) (seated context.Context, release func()) {
	seated, stop := context.WithCancelCause(ctx)
	d := &running{epoch: s.Epoch, stops: []context.CancelCauseFunc{stop}}
	seated = context.WithValue(seated, runningKey{}, d)
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
	// a store that does not answer stops the deed itself
	if epoch, err := r.epochs.Epoch(ctx, s.Agent); err == nil && epoch > s.Epoch {
		d.stop(&Woken{Notice: presence.WakeNotice{Agent: s.Agent, Epoch: epoch}, Heard: time.Now()})
	}
	return seated, release
}

// Running counts the deeds under way.
func (r *InflightRegistry) Running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, activities := range r.activities {
		n += len(activities)
	}
	return n
}

// Woken is why a deed's context ended: the agent's epoch has risen.
type Woken struct {
	Notice presence.WakeNotice
	Heard  time.Time
}

// Error says so.
func (w *Woken) Error() string { return "the agent was woken" }

// wokenBy finds what woke a deed, if it was woken.
func wokenBy(ctx context.Context) (*Woken, bool) {
	var w *Woken
	return w, ctx.Err() != nil && errors.As(context.Cause(ctx), &w)
}

// Seated is what every request of a deed of a sitting answers.
type Seated interface{ Seat() Stretch }

// Rouse runs a paid deed under the rouser: do is not called when its sitting is woken already, and whatever a ring
// broke off (a call, a read) or the store refused because the sitting was woken is the end of the deed and not its
// failure. Deeds inside a workflow task are left alone: the store refuses what they write.
func (r *InflightRegistry) Rouse(ctx context.Context, request any, do func(context.Context) (any, error)) (any, error) {
	seated, ok := request.(Seated)
	if !ok || !activity.IsActivity(ctx) || activity.GetInfo(ctx).IsLocalActivity {
		return do(ctx)
	}
	ctx, release := r.Seat(ctx, seated.Seat())
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
