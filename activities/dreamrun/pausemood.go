package dreamrun

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// shifted says whether the wake that ended a stretch has moved the agent's mood (moved), and whether the store still
// knows by how much (found). The store keeps the newest wake only; if a later one replaced it, moved says whether the
// current mood stems from this dream.
func shifted(ctx context.Context, run *core.Run, r activities.InterruptRequest, record *dream.Record,
	last presence.Wake,
) (moved, found bool, err error) {
	if last.Epoch == r.Epoch+1 {
		return last.Dream == r.Dream && last.Delta > 0, true, nil
	}
	affect, err := run.Memory.Affect(ctx, r.Agent)
	if err != nil {
		return false, false, fmt.Errorf("ask how %s feels: %w", r.Agent, err)
	}
	began := dream.Affect{PAD: record.Before, Since: record.BeforeAt}
	return affect.Cause == r.Dream && !affect.Same(began), false, nil
}

// feltCycle is the first Dali cycle whose fragments have not yet moved the agent's mood in an interruption: the
// interrupted cycle, or none when the interruption came in the lucid capture after the last cycle.
func feltCycle(ctx context.Context, run *core.Run, r activities.InterruptRequest, record *dream.Record,
	last presence.Wake,
) (int, error) {
	if r.Phase != dream.Onset {
		return max(record.Connected, r.Cycle+1), nil
	}
	kept, err := kept(ctx, run)
	if err != nil {
		return 0, err
	}
	whole, err := core.MoodAfter(ctx, run, kept, record)
	if err != nil {
		return 0, err
	}
	within := slices.ContainsFunc(kept, func(f *dream.Fragment) bool { return f.Cycle == r.Cycle })
	woken := dream.Affect{PAD: last.Affect, Since: last.At}
	if within && woken.Same(dream.Affect{PAD: whole, Since: record.BeforeAt}) {
		return max(record.Connected, r.Cycle+1), nil
	}
	return max(record.Connected, r.Cycle), nil
}
