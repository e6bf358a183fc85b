// Package dreamrun holds the activities of a dream as a whole and of its agent: it begins, interrupts, resumes and
// ends dreams, records their progress, and keeps the slot, the accounts and the record.
package dreamrun

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/memory"

	"github.com/seed-56a03226/oneiros/activities"
)

// DreamRun begins and ends dreams: it keeps the slot, the budget accounts and the record.
type DreamRun struct {
	activities.Ports
	Executions activities.Executions
	Planner    activities.Planner
}

// IsRunning says whether a workflow still runs.
func (d *DreamRun) IsRunning(ctx context.Context, r activities.RunningRequest) (bool, error) {
	return d.Executions.Running(ctx, r.Workflow, r.Run)
}

// WithRunCache returns ports with a cache of what the activities of a process have read of running dreams.
func WithRunCache(p activities.Ports) activities.Ports { return core.WithRunCache(p) }

// WithSeenForgettings records the agent's removal count before an activity of a dream reads anything. If the store
// cannot be read, every write of the activity is refused, so that it is retried.
func WithSeenForgettings(ctx context.Context, store memory.DreamStore, request any) context.Context {
	return core.WithSeenForgettings(ctx, store, request)
}
