package dreamrun

import (
	"context"

	"go.temporal.io/sdk/activity"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/quality"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// measured is the event about what the newest dreams yield, this one included, which has run to its end. Nothing
// depends on it, so a failure is logged and changes nothing.
func measured(ctx context.Context, run *core.Run, record *dream.Record, e activities.Ending) []event.Event {
	if e.Outcome != dream.Completed && e.Outcome != dream.Empty && e.Outcome != dream.Exhausted {
		return nil
	}
	q, err := review.Quality(ctx, run.Memory, run.Agent, record)
	if err != nil {
		if activity.IsActivity(ctx) {
			activity.GetLogger(ctx).Warn("the dreams could not be measured", "error", err)
		}
		return nil
	}
	if q.Dreams < quality.LeastDreams {
		return nil
	}
	announced := event.DreamQuality{Dreams: q.Dreams}
	for _, m := range q.Metrics {
		announced.Metrics = append(announced.Metrics,
			event.QualityMetric{Name: string(m.Name), Value: m.Value, Of: m.Of, State: string(m.State)})
	}
	return []event.Event{run.Event("end/"+run.Run, announced)}
}
