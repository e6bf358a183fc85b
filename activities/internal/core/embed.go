package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// FragmentStep is the part of a fragment's id that says in which cycle and turn it was thought.
func FragmentStep(cycle, turn int) string { return fmt.Sprintf("%d.%d", cycle, turn) }

// The longest wait of one activity for background embedding, and the interval of its checks.
const (
	awaitEmbeddingFor = 20 * time.Second
	embeddingLook     = 200 * time.Millisecond
)

// AwaitEmbedding waits until no other process embeds the agent's memories. waits is true when one still does, or when
// the dream was woken or cancelled meanwhile.
func AwaitEmbedding(ctx context.Context, r *Run) (result activities.StepResult, waits bool, err error) {
	if r.Jobs == nil {
		return activities.StepResult{}, false, nil
	}
	ctx, done := WithHeartbeat(ctx)
	defer done()
	look := time.NewTicker(embeddingLook)
	defer look.Stop()
	enough := time.NewTimer(min(awaitEmbeddingFor, r.Spec.Knobs.CallTimeout/2))
	defer enough.Stop()
	for {
		j, err := r.Jobs.EmbedJob(ctx, r.Agent)
		switch {
		case errors.Is(err, memory.ErrNotFound) || err == nil && !j.Live(r.Ports.Now()):
			return activities.StepResult{}, false, nil
		case err != nil && ctx.Err() == nil:
			return activities.StepResult{}, false, err
		}
		select {
		case <-look.C:
		case <-enough.C:
			return activities.StepResult{Waiting: true, CallOutcome: activities.CallOutcome{NoCall: true}}, true, nil
		case <-ctx.Done():
			d, err := r.ended(ctx, r.Spec.Models[dream.Embedder], ctx.Err())
			return activities.StepResult{CallOutcome: d}, true, err
		}
	}
}

// Place buys the vectors of items that lack them or are about to be written.
func (r *Run) Place(ctx context.Context, c Call, step string,
	items []dream.Item,
) ([]memory.Vector, activities.CallOutcome, error) {
	if len(items) == 0 {
		return nil, activities.CallOutcome{}, nil
	}
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = item.Text()
	}
	got, done, err := r.Embed(ctx, c, step, texts)
	if err != nil || done.End != activities.EndDone {
		return nil, done, err
	}
	vectors := make([]memory.Vector, len(items))
	for i, item := range items {
		vectors[i] = memory.Vector{Item: item.Header().ID, Space: got.Space, V: got.V[i]}
	}
	return vectors, activities.CallOutcome{}, nil
}

// SeedOf derives the provider's seed of a call from the dream's dice; it fits the 32 bits that providers accept.
func (r *Run) SeedOf(phase dream.Phase, cycle, step int) int64 {
	return int64(hypnagogia.Dice(r.Spec.Seed, phase, cycle, step, "provider seed").Uint32() >> 1)
}
