package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

// An activity reads memories, waits for a model, and writes its results. If memories of the agent were removed in
// between, the results might repeat them. Each activity of a dream therefore carries the removal count it reads at:
// when that is outdated, the store refuses its writes, no call is made and nothing is cached. The activity is retried
// and reads the current memory.

type readingKey struct{}

// Reading records the agent's removal count before an activity of a dream reads anything. If the store cannot be
// read, every write of the activity is refused, so that it is retried.
func Reading(ctx context.Context, store memory.Store, request any) context.Context {
	inStretch, ok := request.(StretchRequest)
	if !ok {
		return ctx
	}
	r := memory.Reading{Set: true, Forgettings: -1}
	if n, err := store.Forgettings(ctx, inStretch.InStretch().Agent); err == nil {
		r.Forgettings = n
	}
	return context.WithValue(ctx, readingKey{}, r)
}

func readingOf(ctx context.Context) memory.Reading {
	r, _ := ctx.Value(readingKey{}).(memory.Reading)
	return r
}

// unchanged fails when memories of the agent were removed since the activity began to read.
func (p Ports) unchanged(ctx context.Context, agent string) error {
	r := readingOf(ctx)
	if !r.Set {
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

// forgottenMeanwhile says whether an activity must be repeated because memories were removed.
func forgottenMeanwhile(err error) bool { return errors.Is(err, memory.ErrForgotten) }

// readingStore is a store that adds the activity's removal count to its writes.
type readingStore struct{ memory.Store }

// Commit writes with the removal count of its activity.
func (s readingStore) Commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	if !w.Fence.Read.Set {
		w.Fence.Read = readingOf(ctx)
	}
	return s.Store.Commit(ctx, w)
}

// PutNote keeps a note with the removal count of its activity.
func (s readingStore) PutNote(ctx context.Context, agent string, f memory.Fence, key string,
	value []byte,
) ([]byte, error) {
	if !f.Read.Set {
		f.Read = readingOf(ctx)
	}
	return s.Store.PutNote(ctx, agent, f, key, value)
}
