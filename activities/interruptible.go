package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/inflight"
)

// Inflight knows the paid activities of a process, so that a wake notice can stop them.
type Inflight = inflight.Registry

// NewInflight returns the registry of a process; the caller closes it. epochs is the store that Ports names.
func NewInflight(epochs presence.Store) *Inflight { return inflight.NewRegistry(epochs) }

// StretchRequest is a request of an activity that belongs to a stretch.
type StretchRequest interface{ InStretch() Stretch }

// RunInterruptible runs a paid activity that a wake can stop. do is not called if the stretch is woken already. A call
// or read that a wake interrupted, or a write that the store refused because of it, ends the activity without an error.
// Local activities are only run: the store refuses their writes.
func RunInterruptible(ctx context.Context, r *Inflight, request any,
	do func(context.Context) (any, error),
) (any, error) {
	inStretch, ok := request.(StretchRequest)
	if !ok || !activity.IsActivity(ctx) || activity.GetInfo(ctx).IsLocalActivity {
		return do(ctx)
	}
	s := inStretch.InStretch()
	ctx, release := r.Register(ctx, s.Agent, s.Epoch)
	defer release()
	if _, woken := inflight.WokenBy(ctx); woken {
		return StepResult{CallOutcome: CallOutcome{End: EndWoken, Reason: "woken before it began"}}, nil
	}
	result, err := do(ctx)
	if outcome, woken := wokenBy(ctx, err); woken {
		return StepResult{CallOutcome: outcome}, nil
	}
	return result, err
}
