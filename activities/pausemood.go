package activities

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// shifted says whether the wake that ended a stretch has moved the agent's mood (moved), and whether the store still
// knows by how much (found). The store keeps the newest wake only; if a later one replaced it, moved says whether the
// current mood stems from this dream.
func (b *DreamRun) shifted(ctx context.Context, r PauseRequest, record *dream.Record,
	last presence.Wake,
) (moved, found bool, err error) {
	if last.Epoch == r.Epoch+1 {
		return last.Dream == r.Dream && last.Delta > 0, true, nil
	}
	affect, err := b.Memory.Affect(ctx, r.Agent)
	if err != nil {
		return false, false, fmt.Errorf("ask how %s feels: %w", r.Agent, err)
	}
	began := dream.Affect{PAD: record.Before, Since: record.BeforeAt}
	return affect.Cause == r.Dream && !affect.Same(began), false, nil
}

// felt is the first Dali cycle whose fragments have not yet moved the agent's mood in an interruption: the
// interrupted cycle, or none when the interruption came in the lucid capture after the last cycle.
func (b *DreamRun) felt(ctx context.Context, r PauseRequest, spec Spec, record *dream.Record,
	last presence.Wake,
) (int, error) {
	if r.Phase != dream.Onset {
		return max(record.Connected, r.Cycle+1), nil
	}
	kept, err := b.kept(ctx, r.Stretch)
	if err != nil {
		return 0, err
	}
	whole, err := b.left(ctx, spec, kept, record)
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
