package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
)

const (
	// beat is the interval of a paid activity's heartbeats; the heartbeat timeout is in workflows/options.go.
	beat = 3 * time.Second
	// grace is how long a call continues after a heartbeat that found no server. Together with the wait for that
	// heartbeat it equals the heartbeat timeout, after which another worker may run the activity.
	grace = 2 * beat
)

// withHeartbeat sends heartbeats for a paid activity at a fixed interval, not per token, and cancels the call when the
// workflow cancels the activity or the worker stops. A server that is unreachable for a moment cancels nothing: the
// call is paid for, and its answer is recorded. The returned function must be called when the call is over.
// Heartbeats do not use the call's context, because one that the end of the call cancelled would look like an
// unreachable server.
func withHeartbeat(ctx context.Context) (context.Context, func()) {
	if !activity.IsActivity(ctx) {
		return ctx, func() {}
	}
	steady := context.WithoutCancel(ctx)
	call, cancel := context.WithCancelCause(steady)
	cancelOnWake(ctx, cancel)
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
				if !serverUnreachable(context.Cause(ctx)) {
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

// serverUnreachable says whether an activity's context ended because a heartbeat found no server.
func serverUnreachable(cause error) bool {
	var away *serviceerror.Unavailable
	var slow *serviceerror.DeadlineExceeded
	return errors.As(cause, &away) || errors.As(cause, &slow)
}
