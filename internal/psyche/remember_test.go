package psyche_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// refusing is a store that fails the next writes of talks.
type refusing struct {
	memory.Store
	times atomic.Int32
	err   error
}

func (r *refusing) Commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	if r.times.Add(-1) >= 0 {
		return memory.Receipt{}, fmt.Errorf("write: %w", r.err)
	}
	return r.Store.Commit(ctx, w)
}

// What a client has its answer to is remembered once the store takes writes again, in the order in which it was said,
// and once.
func TestAnExchangeWaitsForTheStore(t *testing.T) {
	t.Parallel()
	for name, why := range map[string]error{
		"Away": memory.ErrAway,
		"Full": &memory.UnwritableError{Why: memory.Full, Err: errors.New("OOM")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &refusing{err: why}
			r := setup(t, func(p *psyche.Ports, _ *psyche.Options) {
				store.Store = p.Memory
				p.Memory = store
			})
			store.times.Store(3)
			r.talk(turn(ann, chat("The kettle of the north kitchen is green.")))
			r.talk(turn(ann, chat("Tomas has moved his workshop to the valley.")))
			r.settle()
			require.Equal(t, int32(-2), store.times.Load(), "three refused, two taken")
			items, err := r.store.Find(t.Context(), memory.Query{
				Agent: r.agent.ID, Kinds: []dream.Kind{dream.KindEpisode}, Sort: memory.Oldest,
			})
			require.NoError(t, err)
			require.Len(t, items, 2)
			require.Equal(t, "The kettle of the north kitchen is green.", items[0].Text())
			require.Equal(t, "Tomas has moved his workshop to the valley.", items[1].Text())
		})
	}
}

// What another try does not mend is not tried again.
func TestAnExchangeThatTheStoreRejectsIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	store := &refusing{err: errors.New("no such column")}
	r := setup(t, func(p *psyche.Ports, _ *psyche.Options) {
		store.Store = p.Memory
		p.Memory = store
	})
	store.times.Store(2)
	r.talk(turn(ann, chat("The kettle of the north kitchen is green.")))
	r.settle()
	require.Equal(t, int32(1), store.times.Load())
}
