package workers

import (
	"context"

	"go.temporal.io/sdk/interceptor"

	"github.com/seed-56a03226/oneiros/activities"
)

// rousing registers every running deed with the rouser, so that a ring of the bell stops it (decision 6).
type rousing struct {
	interceptor.WorkerInterceptorBase
	rouser *activities.Rouser
}

// InterceptActivity puts the rouser around each deed.
func (r *rousing) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &seating{rouser: r.rouser}
	i.Next = next
	return i
}

type seating struct {
	interceptor.ActivityInboundInterceptorBase
	rouser *activities.Rouser
}

// ExecuteActivity runs a deed under the rouser.
func (s *seating) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	var request any
	if len(in.Args) > 0 {
		request = in.Args[0]
	}
	return s.rouser.Rouse(ctx, request, func(ctx context.Context) (any, error) { return s.Next.ExecuteActivity(ctx, in) })
}
