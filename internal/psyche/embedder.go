package psyche

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// embedderOf is the embedder of an agent's texts: its own or the usual one, or, until its memory is embedded anew,
// the one of the space its memories were embedded in.
func (b *core) embedderOf(ctx context.Context, a *dream.Agent) (inference.Spec, error) {
	space, err := b.Memory.Space(ctx, a.ID)
	if err != nil {
		return inference.Spec{}, err
	}
	return b.embedderIn(a, space)
}

// embedderIn is embedderOf for a known space.
func (b *core) embedderIn(a *dream.Agent, space string) (inference.Spec, error) {
	return inference.EmbedderIn(b.Guard.Catalog, a.Models[dream.Embedder], b.o.Models[dream.Embedder], space)
}

// calibration says what the cosines of an embedder mean. An unmeasured embedder is measured beside the turn; until
// then its cosines are read cautiously.
func (b *core) calibration(ctx context.Context, a *dream.Agent, c *Caller, spec inference.Spec) inference.Calibration {
	existing, found := b.Guard.Calibration(ctx, spec.Name)
	if found {
		return existing
	}
	if _, begun := b.measuring.LoadOrStore(spec.Name, true); begun {
		return existing
	}
	charge := b.charge(a, c)
	b.detach(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), searching)
		defer cancel()
		measured, err := b.Guard.Calibrate(ctx, charge, spec.Name)
		if err != nil {
			b.Log.WarnContext(ctx, "the embedder could not be calibrated; recall takes its cosines cautiously",
				"model", spec.Name, "error", err)
			return
		}
		b.Log.InfoContext(ctx, "the embedder was calibrated", "model", spec.Name, "unrelated", measured.Unrelated,
			"same", measured.Same)
	})
	return existing
}
