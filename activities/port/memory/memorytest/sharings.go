package memorytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

var sharings = []struct {
	name string
	run  func(t *testing.T, one, other memory.Store)
}{
	{"WhatOneCommitsTheOtherReads", otherReads},
	{"VectorChangesOfOneAreSeenByTheOther", otherIsNear},
	{"TheSlotIsOneForBoth", oneSlotForBoth},
	{"BothNumberDreamsTogether", bothNumber},
	{"BothWriteAtOnce", bothWrite},
	{"ConcurrentChangesAreNotLost", neitherOverwrites},
	{"WhileOneMovesTheOtherSearchesASingleSpace", bothMove},
}

func otherReads(t *testing.T, one, other memory.Store) {
	for i := range 10 {
		id := fmt.Sprint("e", i)
		add(t, one, episode(id, id))
		require.Len(t, get(t, other, id), 1)
		changed := episode(id, "changed by the other")
		commit(t, other, memory.Write{Cause: "operator", Change: []dream.Item{changed}})
		require.Equal(t, []dream.Item{changed}, get(t, one, id))
	}
	forget(t, other, "e3")
	require.Empty(t, get(t, one, "e3"))
}

func otherIsNear(t *testing.T, one, other memory.Store) {
	for i := range 6 {
		id := fmt.Sprint("e", i)
		add(t, one, episode(id, id))
		commit(t, one, memory.Write{Vectors: []memory.Vector{vector(id, 1, float32(i))}})
		require.Len(t, near(t, one, []float32{1, 0}, 99), i+1)
		require.Len(t, near(t, other, []float32{1, 0}, 99), i+1)
	}
	archived := episode("e0", "e0")
	archived.State = dream.Archived
	commit(t, one, memory.Write{Change: []dream.Item{archived}})
	require.Equal(t, []string{"e1", "e2"}, near(t, other, []float32{1, 0}, 2))
	commit(t, other, memory.Write{Vectors: []memory.Vector{vector("e5", 1, 0)}})
	require.Equal(t, []string{"e5", "e1"}, near(t, one, []float32{1, 0}, 2))
	forget(t, other, "e5")
	require.Equal(t, []string{"e1", "e2"}, near(t, one, []float32{1, 0}, 2))
	require.Equal(t, []string{"e1", "e2"}, near(t, other, []float32{1, 0}, 2))
}

func oneSlotForBoth(t *testing.T, one, other memory.Store) {
	f := sleep(t, one, "d1")
	_, err := other.TakeSlot(t.Context(), echo, slot("d2", "r2"), memory.Fence{})
	require.ErrorIs(t, err, memory.ErrTaken)
	commit(t, other, memory.Write{Fence: f, Add: []dream.Item{episode("e", "x")}})
	wakeUp(t, other, f)
	_, err = one.Commit(t.Context(), memory.Write{Agent: echo, Fence: f, Add: []dream.Item{episode("late", "x")}})
	require.ErrorIs(t, err, memory.ErrFenced)
}

func bothNumber(t *testing.T, one, other memory.Store) {
	var mu sync.Mutex
	var given []int64
	together(t, 6, func(ctx context.Context, i int) error {
		for range 5 {
			n, err := []memory.Store{one, other}[i%2].NextDream(ctx, echo)
			if err != nil {
				return err
			}
			mu.Lock()
			given = append(given, n)
			mu.Unlock()
		}
		return nil
	})
	slices.Sort(given)
	require.Len(t, slices.Compact(given), 30)
	require.EqualValues(t, 30, given[29])
}

// neitherOverwrites strengthens one memory in small steps from both sides: no step may be lost.
func neitherOverwrites(t *testing.T, one, other memory.Store) {
	add(t, one, semantic("s", "tides"))
	const hands, steps = 4, 6
	together(t, hands, func(ctx context.Context, i int) error {
		s := []memory.Store{one, other}[i%2]
		for done := 0; done < steps; {
			item, err := memory.One[*dream.Semantic](ctx, s, echo, "s")
			if err != nil {
				return err
			}
			item.Strength += 1. / 64
			switch _, err = s.Commit(ctx,
				memory.Write{Agent: echo, Cause: "operator", Change: []dream.Item{item}}); {
			case err == nil:
				done++
			case !errors.Is(err, memory.ErrStale):
				return err
			}
		}
		return nil
	})
	for _, s := range []memory.Store{one, other} {
		require.Equal(t, .5+hands*steps/64., get(t, s, "s")[0].Marks().Score)
	}
	read, err := memory.One[*dream.Semantic](t.Context(), other, echo, "s")
	require.NoError(t, err)
	commit(t, one, memory.Write{Cause: "operator", Change: []dream.Item{faded(read)}})
	read.Content = "told by one that slept through it"
	_, err = other.Commit(t.Context(), memory.Write{Agent: echo, Cause: "d1", Change: []dream.Item{read}})
	require.ErrorIs(t, err, memory.ErrStale)
}

func bothWrite(t *testing.T, one, other memory.Store) {
	together(t, 6, func(ctx context.Context, i int) error {
		for j := range 8 {
			id := fmt.Sprintf("e-%d-%d", i, j)
			_, err := []memory.Store{one, other}[i%2].Commit(ctx, memory.Write{
				Agent: echo, Cause: "import",
				Add:    []dream.Item{episode(id, id)},
				Events: []event.Event{event.New(id, echo, "", dawn, event.PatternFound{})},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	for _, s := range []memory.Store{one, other} {
		require.Len(t, find(t, s, memory.Query{}), 48)
		require.EqualValues(t, 48, commit(t, s, memory.Write{}).LastSeq)
	}
}
