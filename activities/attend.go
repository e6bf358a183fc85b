package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
)

const (
	// beat is how often a paid deed tells Temporal that it lives; the heartbeat timeout is in workflows/options.go.
	beat = 3 * time.Second
	// grace is how long a call goes on after a beat that found no server: with the wait for that beat it makes the
	// heartbeat timeout, after which another worker may have the deed.
	grace = 2 * beat
)

// attended keeps a paid deed in touch with Temporal: it beats by the clock, never by tokens, and ends the call when the
// workflow asks for it or the worker stops. A server that is out of reach for a moment ends nothing: the call is paid
// for, and its answer will be found. The returned function must be called when the call is over. Beats do not travel
// under the call's context: one that the end of the call broke off would count as a server out of reach, and cancel
// what the deed does next.
func attended(ctx context.Context) (context.Context, func()) {
	if !activity.IsActivity(ctx) {
		return ctx, func() {}
	}
	steady := context.WithoutCancel(ctx)
	call, cancel := context.WithCancelCause(steady)
	also(ctx, cancel)
	removed := make(chan struct{})
	go func() {
		defer close(removed)
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		ended := ctx.Done()
		var late <-chan time.Time
		for {
			select {
			case <-ticker.C:
				activity.RecordHeartbeat(steady)
			case <-activity.GetWorkerStopChannel(ctx):
				cancel(errStopping)
				return
			case <-ended:
				if !outOfReach(context.Cause(ctx)) {
					cancel(context.Cause(ctx))
					return
				}
				ended, late = nil, time.After(grace)
			case <-late:
				cancel(context.Cause(ctx))
				return
			case <-call.Done():
				return
			}
		}
	}()
	return call, func() { cancel(nil); <-removed }
}

// outOfReach says whether a deed's context ended because a beat found no server.
func outOfReach(cause error) bool {
	var away *serviceerror.Unavailable
	var slow *serviceerror.DeadlineExceeded
	return errors.As(cause, &away) || errors.As(cause, &slow)
}
