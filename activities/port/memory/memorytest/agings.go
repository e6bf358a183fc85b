package memorytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// AgingStore is a store of memories whose history can be shortened.
type AgingStore interface {
	memory.Store
	memory.Aging
	Events(ctx context.Context, agent string, after int64, limit int) ([]event.Event, error)
	Heads(ctx context.Context, agents ...string) (map[string]int64, error)
}

// calendar is the clock of a store that ages.
type calendar struct{ now time.Time }

func (c *calendar) pass(days int) time.Time {
	c.now = c.now.AddDate(0, 0, days)
	return c.now
}

// RunAging tests a store against the contract of memory.Aging. open returns a new, empty store that dates what it
// writes by now.
func RunAging(t *testing.T, open func(t *testing.T, now func() time.Time) AgingStore) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, AgingStore, *calendar)
	}{
		{"OldEventsAreTrimmedFromTheBeginning", eventsTrimmed},
		{"NumbersOfTrimmedEventsAreNotUsedAgain", trimmedNumbersStay},
		{"RevisionsReplacedBeforeATimeAreTrimmed", revisionsTrimmed},
		{"RevisionsAreTrimmedInBoundedSteps", trimmedInSteps},
		{"ADreamThatWroteAfterTheTimeCanBeUndone", undoneWithinTheWindow},
		{"ADreamThatWroteBeforeTheTimeCannotBeUndone", notUndoneBeyondTheWindow},
		{"RevisionsOfItemsThatAreNotLiveStay", archivedKeepTheirPast},
		{"WhatIsChangedAtRandomIsTrimmedAsItShouldBe", agedAtRandom},
		{"OldAffectsAreTrimmedButTheLast", affectsTrimmed},
		{"WhatADreamMadeCanBeDiscarded", discarded},
		{"WhatNoDreamMadeIsNotDiscarded", saidIsNotDiscarded},
		{"NothingIsDiscardedDuringADream", notDiscardedInADream},
		{"ADiscardedItemIsFoundNoMore", discardedIsNotFound},
		{"NothingIsTrimmedOfARemovedAgent", removedDoesNotAge},
		{"WhatWasSweptIsChangedByOneAtATime", sweptIsChanged},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			clock := &calendar{now: dawn}
			c.run(t, open(t, func() time.Time { return clock.now }), clock)
		})
	}
}

func announce(t *testing.T, s memory.DreamStore, ids ...string) {
	t.Helper()
	w := memory.Write{Cause: "import"}
	for _, id := range ids {
		w.Events = append(w.Events, event.New(id, echo, "", dawn, event.PatternFound{}))
	}
	commit(t, s, w)
}

func seqs(t *testing.T, s AgingStore) (numbers []int64) {
	t.Helper()
	events, err := s.Events(t.Context(), echo, 0, 0)
	require.NoError(t, err)
	for _, e := range events {
		numbers = append(numbers, e.Seq)
	}
	return numbers
}

func trimEvents(t *testing.T, s AgingStore, through int64, limit int) int {
	t.Helper()
	n, err := s.TrimEvents(t.Context(), echo, through, limit)
	require.NoError(t, err)
	return n
}

func trimRevisions(t *testing.T, s AgingStore, before time.Time, limit int) int {
	t.Helper()
	n, err := s.TrimRevisions(t.Context(), echo, before, limit)
	require.NoError(t, err)
	return n
}

func discard(t *testing.T, s AgingStore, details time.Time, ids ...string) int {
	t.Helper()
	n, err := s.Discard(t.Context(), echo, ids, details)
	require.NoError(t, err)
	return n
}

func aged(t *testing.T, s AgingStore) memory.Aged {
	t.Helper()
	a, err := s.Aged(t.Context(), echo)
	require.NoError(t, err)
	return a
}

func eventsTrimmed(t *testing.T, s AgingStore, _ *calendar) {
	announce(t, s, "a", "b", "c", "d", "e", "f")
	require.Zero(t, trimEvents(t, s, 0, 10))
	require.Equal(t, 2, trimEvents(t, s, 5, 2))
	require.Equal(t, []int64{3, 4, 5, 6}, seqs(t, s))
	require.Equal(t, 3, trimEvents(t, s, 5, 10))
	require.Zero(t, trimEvents(t, s, 5, 10))
	require.Equal(t, []int64{6}, seqs(t, s))
	announce(t, s, "f")
	require.Equal(t, []int64{6}, seqs(t, s), "an event that is kept is not announced again")
	other, err := s.TrimEvents(t.Context(), "nobody", 9, 10)
	require.NoError(t, err)
	require.Zero(t, other)
}

func trimmedNumbersStay(t *testing.T, s AgingStore, _ *calendar) {
	require.NoError(t, s.PutAgent(t.Context(), dream.Agent{ID: echo, Handle: "echo"}))
	announce(t, s, "a", "b")
	require.Equal(t, 2, trimEvents(t, s, 2, 10))
	require.Empty(t, seqs(t, s))
	heads, err := s.Heads(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int64{echo: 2}, heads)
	announce(t, s, "c", "a")
	require.Equal(t, []int64{3, 4}, seqs(t, s))
}

// strengthen changes the strength of a memory, once a day.
func strengthen(t *testing.T, s AgingStore, clock *calendar, w memory.Write, id string, strengths ...float64) {
	t.Helper()
	for _, strength := range strengths {
		clock.pass(1)
		e := semantic(id, "tides")
		e.Strength = strength
		w.Change = []dream.Item{e}
		commit(t, s, w)
	}
}

// strengths are those of the kept revisions of a memory, in tenths.
func strengths(t *testing.T, s AgingStore, id string) (all []int) {
	t.Helper()
	revisions, err := s.Revisions(t.Context(), echo, id)
	require.NoError(t, err)
	for _, r := range revisions {
		all = append(all, int(r.Item.(*dream.Semantic).Strength*10+.5))
	}
	return all
}

func revisionsTrimmed(t *testing.T, s AgingStore, clock *calendar) {
	add(t, s, semantic("s", "tides"), semantic("quiet", "moons"))
	strengthen(t, s, clock, memory.Write{Cause: "operator"}, "s", .1, .2, .3, .4)
	require.True(t, aged(t, s).Whole())
	require.Zero(t, trimRevisions(t, s, dawn.AddDate(0, 0, 1), 100), "the first was replaced at that time")
	require.Equal(t, dawn.AddDate(0, 0, 1), aged(t, s).Undo)
	require.Equal(t, 2, trimRevisions(t, s, dawn.AddDate(0, 0, 3), 100))
	require.Zero(t, trimRevisions(t, s, dawn.AddDate(0, 0, 3), 100))
	require.Equal(t, []int{2, 3, 4}, strengths(t, s, "s"))
	require.Equal(t, 2, trimRevisions(t, s, clock.pass(30), 100))
	require.Equal(t, []int{4}, strengths(t, s, "s"))
	require.Equal(t, []int{5}, strengths(t, s, "quiet"), "the newest stays, whatever its age")
	trimRevisions(t, s, dawn, 100)
	require.Equal(t, clock.now, aged(t, s).Undo, "it only rises")
	strengthen(t, s, clock, memory.Write{Cause: "operator"}, "s", .9)
	require.Equal(t, []int{4, 9}, strengths(t, s, "s"))
}

func trimmedInSteps(t *testing.T, s AgingStore, clock *calendar) {
	for n := range 5 {
		id := fmt.Sprint("s", n)
		add(t, s, semantic(id, "tides"))
		strengthen(t, s, clock, memory.Write{Cause: "operator"}, id, .1, .2)
	}
	end := clock.pass(1)
	for left := 10; left > 0; {
		n := trimRevisions(t, s, end, 3)
		require.Equal(t, min(3, left), n)
		left -= n
	}
	require.Zero(t, trimRevisions(t, s, end, 3))
}

func undoneWithinTheWindow(t *testing.T, s AgingStore, clock *calendar) {
	add(t, s, semantic("s", "tides"))
	strengthen(t, s, clock, memory.Write{Cause: "operator"}, "s", .1, .2)
	clock.pass(30)
	window := clock.now
	clock.pass(1)
	f := sleep(t, s, "d1")
	commit(t, s, memory.Write{Fence: f, Add: []dream.Item{dreamt("d1", "gist")}})
	strengthen(t, s, clock, memory.Write{Fence: f}, "s", .7)
	wakeUp(t, s, f)
	require.Equal(t, 2, trimRevisions(t, s, window, 100))
	done := undo(t, s, "d1")
	require.Equal(t, memory.UndoResult{Archived: 1, Restored: 1}, done)
	all := strengths(t, s, "s")
	require.Equal(t, 2, all[len(all)-1])
}

func notUndoneBeyondTheWindow(t *testing.T, s AgingStore, clock *calendar) {
	add(t, s, semantic("s", "tides"))
	f := sleep(t, s, "d1")
	strengthen(t, s, clock, memory.Write{Fence: f}, "s", .7)
	wakeUp(t, s, f)
	require.Equal(t, 1, trimRevisions(t, s, clock.pass(30), 100))
	_, err := s.Undo(t.Context(), echo, "d1")
	require.ErrorIs(t, err, memory.ErrPast)
	require.Equal(t, []int{7}, strengths(t, s, "s"), "what the dream only changed is not archived")
	require.Equal(t, dream.Live, get(t, s, "s")[0].Header().State)
}

func archivedKeepTheirPast(t *testing.T, s AgingStore, clock *calendar) {
	e := semantic("s", "tides")
	add(t, s, e)
	clock.pass(1)
	commit(t, s, memory.Write{Cause: "operator", Change: []dream.Item{faded(e)}})
	require.Zero(t, trimRevisions(t, s, clock.pass(30), 100))
	require.Len(t, strengths(t, s, "s"), 2)
}

// agedAtRandom changes, archives and restores memories at random while they age, and compares the revisions that are
// kept with those that should be.
func agedAtRandom(t *testing.T, s AgingStore, clock *calendar) {
	dice := rand.New(rand.NewPCG(7, 1))
	kept := map[string][]time.Time{} // when each kept revision was written
	live := map[string]bool{}
	ids := []string{"s0", "s1", "s2", "s3", "s4"}
	for _, id := range ids {
		add(t, s, semantic(id, "tides"))
		kept[id], live[id] = []time.Time{clock.now}, true
	}
	for range 150 {
		clock.pass(1)
		for range 2 {
			id := ids[dice.IntN(len(ids))]
			e := semantic(id, "tides")
			e.Strength = dice.Float64()
			live[id] = dice.IntN(3) > 0
			if live[id] {
				commit(t, s, memory.Write{Cause: "operator", Change: []dream.Item{e}})
			} else {
				commit(t, s, memory.Write{Cause: "operator", Change: []dream.Item{faded(e)}})
			}
			kept[id] = append(kept[id], clock.now)
		}
		if dice.IntN(2) == 0 {
			continue
		}
		before, removed := clock.now.AddDate(0, 0, -5), 0
		for _, id := range ids {
			for live[id] && len(kept[id]) > 1 && kept[id][1].Before(before) {
				kept[id] = kept[id][1:]
				removed++
			}
		}
		require.Equal(t, removed, trimRevisions(t, s, before, 100))
		for _, id := range ids {
			revisions, err := s.Revisions(t.Context(), echo, id)
			require.NoError(t, err)
			var written []time.Time
			for _, r := range revisions {
				written = append(written, r.At.UTC())
			}
			require.Equal(t, kept[id], written, id)
		}
	}
}

func affectsTrimmed(t *testing.T, s AgingStore, clock *calendar) {
	for n := range 4 {
		at := dawn.AddDate(0, 0, n)
		commit(t, s, memory.Write{
			Cause:  "operator",
			Affect: &dream.Affect{PAD: mood.PAD{Pleasure: float64(n) / 10}, Since: at, Cause: fmt.Sprint("a", n)},
		})
	}
	clock.pass(3)
	require.Zero(t, trimRevisions(t, s, dawn.AddDate(0, 0, 1), 100))
	require.Equal(t, 1, trimRevisions(t, s, dawn.AddDate(0, 0, 3), 1), "at most so many at once")
	require.Equal(t, 1, trimRevisions(t, s, dawn.AddDate(0, 0, 3), 100))
	require.Equal(t, 1, trimRevisions(t, s, clock.pass(9), 100))
	require.Zero(t, trimRevisions(t, s, clock.now, 100))
	affect, err := s.Affect(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, "a3", affect.Cause)
}

func discarded(t *testing.T, s AgingStore, _ *calendar) {
	f := sleep(t, s, "d1")
	commit(t, s, memory.Write{
		Fence: f, Add: []dream.Item{dreamt("d1", "one"), dreamt("d1", "two")},
		Vectors: []memory.Vector{{Item: "one", Space: "x/1/2", V: []float32{1, 0}}},
	})
	wakeUp(t, s, f)
	before, err := s.Forgettings(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, 1, discard(t, s, dawn, "one", "one", "unknown"))
	require.Zero(t, discard(t, s, dawn.AddDate(0, 0, -1), "one"))
	require.Equal(t, dawn, aged(t, s).Details)
	require.Len(t, get(t, s, "one", "two"), 1)
	require.Len(t, find(t, s, memory.Query{Dream: "d1"}), 1)
	_, err = s.Revisions(t.Context(), echo, "one")
	require.ErrorIs(t, err, memory.ErrNotFound)
	after, err := s.Forgettings(t.Context(), echo)
	require.NoError(t, err)
	require.Greater(t, after, before, "what was read before may be gone")
}

func saidIsNotDiscarded(t *testing.T, s AgingStore, _ *calendar) {
	add(t, s, episode("said", "the quay"), semantic("known", "tides"))
	require.Zero(t, discard(t, s, dawn, "said", "known"))
	require.Len(t, get(t, s, "said", "known"), 2)
}

func notDiscardedInADream(t *testing.T, s AgingStore, _ *calendar) {
	f := sleep(t, s, "d1")
	commit(t, s, memory.Write{Fence: f, Add: []dream.Item{dreamt("d1", "one")}})
	_, err := s.Discard(t.Context(), echo, []string{"one"}, dawn)
	require.ErrorIs(t, err, memory.ErrTaken)
	require.Len(t, get(t, s, "one"), 1)
	require.True(t, aged(t, s).Whole())
	wakeUp(t, s, f)
	require.Equal(t, 1, discard(t, s, dawn, "one"))
}

func discardedIsNotFound(t *testing.T, s AgingStore, _ *calendar) {
	f := sleep(t, s, "d1")
	commit(t, s, memory.Write{
		Fence: f, Add: []dream.Item{dreamt("d1", "one"), dreamt("d1", "two")},
		Vectors: []memory.Vector{
			{Item: "one", Space: "x/1/2", V: []float32{1, 0}},
			{Item: "two", Space: "x/1/2", V: []float32{0, 1}},
		},
	})
	wakeUp(t, s, f)
	near := func() (ids []string) {
		hits, err := s.Near(t.Context(), memory.Near{Agent: echo, Space: "x/1/2", V: []float32{1, 0}, Limit: 5})
		require.NoError(t, err)
		for _, h := range hits {
			ids = append(ids, h.Item)
		}
		return ids
	}
	require.Equal(t, []string{"one", "two"}, near())
	discard(t, s, dawn, "one")
	require.Equal(t, []string{"two"}, near())
}

func removedDoesNotAge(t *testing.T, s AgingStore, clock *calendar) {
	require.NoError(t, s.PutAgent(t.Context(), dream.Agent{ID: echo, Handle: "echo"}))
	add(t, s, semantic("s", "tides"))
	_, err := s.DropAgent(t.Context(), echo, clock.now)
	require.NoError(t, err)
	_, err = s.TrimRevisions(t.Context(), echo, clock.now, 10)
	require.ErrorIs(t, err, memory.ErrRemoved)
	_, err = s.Discard(t.Context(), echo, []string{"s"}, clock.now)
	require.ErrorIs(t, err, memory.ErrRemoved)
	require.True(t, aged(t, s).Whole())
}

func sweptIsChanged(t *testing.T, s AgingStore, _ *calendar) {
	state, err := s.Swept(t.Context())
	require.NoError(t, err)
	require.Equal(t, memory.SweepState{}, state)
	together(t, 8, func(ctx context.Context, _ int) error {
		_, err := s.ChangeSwept(ctx, func(now memory.SweepState) (memory.SweepState, error) {
			now.Total.Events++
			now.Ended = dawn
			return now, nil
		})
		return err
	})
	failed := errors.New("another process sweeps")
	_, err = s.ChangeSwept(t.Context(), func(memory.SweepState) (memory.SweepState, error) {
		return memory.SweepState{}, failed
	})
	require.ErrorIs(t, err, failed)
	state, err = s.Swept(t.Context())
	require.NoError(t, err)
	require.Equal(t, memory.SweepState{Ended: dawn, Total: memory.Removed{Events: 8}}, state)
}
