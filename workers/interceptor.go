package workers

import (
	"context"

	"go.temporal.io/sdk/interceptor"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/dreamrun"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/inflight"
)

// wakeInterceptor registers every running activity, so that a wake notice stops it.
type wakeInterceptor struct {
	interceptor.WorkerInterceptorBase
	inflight *inflight.Registry
	memory   memory.DreamStore
}

// InterceptActivity wraps each activity.
func (r *wakeInterceptor) InterceptActivity(_ context.Context,
	next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	i := &wakeInbound{inflight: r.inflight, memory: r.memory}
	i.Next = next
	return i
}

// wakeInbound is the inbound part of wakeInterceptor.
type wakeInbound struct {
	interceptor.ActivityInboundInterceptorBase
	inflight *inflight.Registry
	memory   memory.DreamStore
}

// ExecuteActivity runs an activity that a wake notice can stop, and records the removal count before it reads
// memories.
func (s *wakeInbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	var request any
	if len(in.Args) > 0 {
		request = in.Args[0]
	}
	ctx = dreamrun.WithSeenForgettings(ctx, s.memory, request)
	return activities.RunInterruptible(ctx, s.inflight, request,
		func(ctx context.Context) (any, error) { return s.Next.ExecuteActivity(ctx, in) })
}
