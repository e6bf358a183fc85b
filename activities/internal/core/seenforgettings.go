package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

type seenForgettingsKey struct{}

// WithSeenForgettings records the agent's removal count before an activity of a dream reads anything. If the store
// cannot be read, every write of the activity is refused, so that it is retried.
func WithSeenForgettings(ctx context.Context, store memory.DreamStore, request any) context.Context {
	inStretch, ok := request.(activities.StretchRequest)
	if !ok {
		return ctx
	}
	r := memory.SeenForgettings{Set: true, Forgettings: -1}
	if n, err := store.Forgettings(ctx, inStretch.InStretch().Agent); err == nil {
		r.Forgettings = n
	}
	return context.WithValue(ctx, seenForgettingsKey{}, r)
}

func seenForgettings(ctx context.Context) memory.SeenForgettings {
	r, _ := ctx.Value(seenForgettingsKey{}).(memory.SeenForgettings)
	return r
}

// unchanged fails when memories of the agent were removed since the activity began to read.
func (r *Run) unchanged(ctx context.Context) error {
	seen := seenForgettings(ctx)
	if !seen.Set {
		return nil
	}
	n, err := r.Memory.Forgettings(ctx, r.Agent)
	if err != nil {
		return fmt.Errorf("read whether something was forgotten: %w", err)
	}
	if seen.Stale(n) {
		return fmt.Errorf("its prompt was written before forgetting %d of the agent: %w", n, memory.ErrForgotten)
	}
	return nil
}

// forgottenMeanwhile says whether an activity must be repeated because memories were removed.
func forgottenMeanwhile(err error) bool { return errors.Is(err, memory.ErrForgotten) }

// fencedStore is a store that adds the activity's removal count to its writes.
type fencedStore struct {
	memory.DreamStore
	cache *runCache
}

// Commit writes with the removal count of its activity.
func (s fencedStore) Commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	if !w.Fence.Read.Set {
		w.Fence.Read = seenForgettings(ctx)
	}
	return s.DreamStore.Commit(ctx, w)
}

// PutNote keeps a note with the removal count of its activity.
func (s fencedStore) PutNote(ctx context.Context, agent string, f memory.Fence, key string,
	value []byte,
) ([]byte, error) {
	if !f.Read.Set {
		f.Read = seenForgettings(ctx)
	}
	return s.DreamStore.PutNote(ctx, agent, f, key, value)
}
