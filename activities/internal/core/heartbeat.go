package core

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/inflight"
)

// grace is how long a call continues after a heartbeat that found no server. With the beat before it, it ends a second
// before the heartbeat timeout, after which another worker may run the activity.
const grace = 2 * activities.HeartbeatEvery

// WithHeartbeat sends heartbeats for a paid activity at a fixed interval, not per token, and cancels the call when the
// workflow cancels the activity or the worker stops. A server that is unreachable for a moment cancels nothing: the
// call is paid for, and its answer is recorded. The returned function must be called when the call is over.
// Heartbeats do not use the call's context, because one that the end of the call cancelled would look like an
// unreachable server.
func WithHeartbeat(ctx context.Context) (context.Context, func()) {
	if !activity.IsActivity(ctx) {
		return ctx, func() {}
	}
	steady := context.WithoutCancel(ctx)
	call, cancel := context.WithCancelCause(steady)
	inflight.CancelOnWake(ctx, cancel)
	removed := make(chan struct{})
	go func() {
		defer close(removed)
		ticker := time.NewTicker(activities.HeartbeatEvery)
		defer ticker.Stop()
		ended := ctx.Done()
		var late <-chan time.Time
		for {
			select {
			case <-ticker.C:
				activity.RecordHeartbeat(steady)
			case <-activity.GetWorkerStopChannel(ctx):
				cancel(activities.ErrStopping)
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

// canceled says whether ctx ended because the workflow cancelled it, not because the worker stops or a timeout
// passed.
func canceled(ctx context.Context) bool {
	var request *temporal.CanceledError
	return ctx.Err() != nil && errors.As(context.Cause(ctx), &request)
}
