package workers

import (
	"context"

	"go.temporal.io/sdk/interceptor"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// rousing registers every running deed with the rouser, so that a ring of the bell stops it (decision 16).
type rousing struct {
	interceptor.WorkerInterceptorBase
	inflight *activities.InflightRegistry
	memory   memory.Store
}

// InterceptActivity puts the rouser around each deed.
func (r *rousing) InterceptActivity(_ context.Context,
	next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	i := &seating{inflight: r.inflight, memory: r.memory}
	i.Next = next
	return i
}

type seating struct {
	interceptor.ActivityInboundInterceptorBase
	inflight *activities.InflightRegistry
	memory   memory.Store
}

// ExecuteActivity runs an activity under the rouser, and notes before as of which forgetting it reads memories.
func (s *seating) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	var request any
	if len(in.Args) > 0 {
		request = in.Args[0]
	}
	ctx = activities.Reading(ctx, s.memory, request)
	return s.inflight.Rouse(ctx, request,
		func(ctx context.Context) (any, error) { return s.Next.ExecuteActivity(ctx, in) })
}
