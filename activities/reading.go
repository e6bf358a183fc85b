package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

// An activity reads memories, waits for a model, and writes what follows from them. When something of the agent was
// forgotten in between, what it would write may repeat that. So each activity of a dream carries as of which forgetting
// it reads: the store refuses its writes when that is no longer the last one, no call is made, and nothing it read is
// kept at hand. It is done again, and reads what there is now.

type readingKey struct{}

// Reading notes, before an activity of a dream reads anything, how often something of the agent was forgotten. Where
// the store does not say, everything that the activity writes is refused, so that it is tried again.
func Reading(ctx context.Context, store memory.Store, request any) context.Context {
	seated, ok := request.(Seated)
	if !ok {
		return ctx
	}
	r := memory.Reading{Known: true, Forgettings: -1}
	if n, err := store.Forgettings(ctx, seated.Seat().Agent); err == nil {
		r.Forgettings = n
	}
	return context.WithValue(ctx, readingKey{}, r)
}

func readingOf(ctx context.Context) memory.Reading {
	r, _ := ctx.Value(readingKey{}).(memory.Reading)
	return r
}

// stillKnown fails when something of the agent was forgotten since the activity began to read.
func (p Ports) stillKnown(ctx context.Context, agent string) error {
	r := readingOf(ctx)
	if !r.Known {
		return nil
	}
	n, err := p.Memory.Forgettings(ctx, agent)
	if err != nil {
		return fmt.Errorf("read whether something was forgotten: %w", err)
	}
	if r.Stale(n) {
		return fmt.Errorf("its prompt was written before forgetting %d of the agent: %w", n, memory.ErrForgotten)
	}
	return nil
}

// forgottenMeanwhile says whether an activity must be done again because something was forgotten.
func forgottenMeanwhile(err error) bool { return errors.Is(err, memory.ErrForgotten) }

// readingStore is a store whose writes say as of which forgetting the activity that makes them reads.
type readingStore struct{ memory.Store }

// Commit does a write with the reading of its activity.
func (s readingStore) Commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	if !w.Fence.Read.Known {
		w.Fence.Read = readingOf(ctx)
	}
	return s.Store.Commit(ctx, w)
}

// PutNote keeps a note with the reading of its activity.
func (s readingStore) PutNote(ctx context.Context, agent string, f memory.Fence, key string,
	value []byte,
) ([]byte, error) {
	if !f.Read.Known {
		f.Read = readingOf(ctx)
	}
	return s.Store.PutNote(ctx, agent, f, key, value)
}
