package workers

import (
	"context"

	"go.temporal.io/sdk/interceptor"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// wakeInterceptor registers every running activity, so that a wake notice stops it.
type wakeInterceptor struct {
	interceptor.WorkerInterceptorBase
	inflight *activities.InflightRegistry
	memory   memory.Store
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
	inflight *activities.InflightRegistry
	memory   memory.Store
}

// ExecuteActivity runs an activity that a wake notice can stop, and records the removal count before it reads
// memories.
func (s *wakeInbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	var request any
	if len(in.Args) > 0 {
		request = in.Args[0]
	}
	ctx = activities.Reading(ctx, s.memory, request)
	return s.inflight.RunActivity(ctx, request,
		func(ctx context.Context) (any, error) { return s.Next.ExecuteActivity(ctx, in) })
}
