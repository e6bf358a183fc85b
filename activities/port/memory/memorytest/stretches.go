package memorytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

var affects = []clause[memory.DreamStore]{
	{"AffectIsNeutralUntilItIsSet", affectIsNeutral},
}

var stretches = []clause[memory.DreamStore]{
	{"DreamsAreNumberedOnceEach", dreamsAreNumbered},
	{"OneDreamHoldsTheSlot", oneHoldsTheSlot},
	{"ASlotIsTakenOverOnlyFromTheNamedHolder", slotIsStolen},
	{"OnlyOneOfManyTakesTheSlot", oneOfMany},
	{"AWriteWithoutTheSlotIsFenced", writeIsFenced},
	{"ANoteKeepsItsFirstValue", noteKeepsFirst},
	{"NotesAreReadByKeyPrefix", notesByPrefix},
	{"NotesAreDroppedByKey", notesDroppedByKey},
}

func affectIsNeutral(t *testing.T, s memory.DreamStore) {
	a, err := s.Affect(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, dream.Affect{Cause: "new"}, a)
	for i, p := range []float64{.5, -.25} {
		want := dream.Affect{
			PAD: mood.PAD{Pleasure: p}, Since: dawn.Add(time.Duration(i) * time.Minute),
			Cause: "echo/0001",
		}
		commit(t, s, memory.Write{Cause: "echo/0001", Affect: &want})
		a, err = s.Affect(t.Context(), echo)
		require.NoError(t, err)
		require.Equal(t, want, a)
	}
}

func dreamsAreNumbered(t *testing.T, s memory.DreamStore) {
	var mu sync.Mutex
	var given []int64
	together(t, 8, func(ctx context.Context, _ int) error {
		for range 5 {
			n, err := s.NextDream(ctx, echo)
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
	for i, n := range given {
		require.EqualValues(t, i+1, n)
	}
	n, err := s.NextDream(t.Context(), "agent-vega")
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}

func slot(dreamID, run string) memory.Slot {
	return memory.Slot{
		Fence: memory.Fence{Dream: dreamID, Run: run}, Workflow: "dream/" + dreamID,
		Cluster: "cluster of " + run, Since: dawn,
	}
}

func oneHoldsTheSlot(t *testing.T, s memory.DreamStore) {
	first, second := slot("d1", "r1"), slot("d1", "r2")
	got, err := s.TakeSlot(t.Context(), echo, first, memory.Fence{})
	require.NoError(t, err)
	require.Equal(t, first, got)
	again := first
	again.Since = dawn.Add(time.Hour)
	got, err = s.TakeSlot(t.Context(), echo, again, memory.Fence{})
	require.NoError(t, err)
	require.Equal(t, first, got)
	got, err = s.TakeSlot(t.Context(), echo, second, memory.Fence{})
	require.ErrorIs(t, err, memory.ErrTaken)
	require.Equal(t, first, got)
	_, err = s.TakeSlot(t.Context(), "agent-vega", second, memory.Fence{})
	require.NoError(t, err)
	slots, err := s.Slots(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]memory.Slot{echo: first, "agent-vega": second}, slots)
	require.NoError(t, s.FreeSlot(t.Context(), echo, second.Fence)) // does not hold the slot
	require.NoError(t, s.FreeSlot(t.Context(), echo, first.Fence))
	require.NoError(t, s.FreeSlot(t.Context(), echo, first.Fence))
	_, err = s.TakeSlot(t.Context(), echo, second, memory.Fence{})
	require.NoError(t, err)
}

func slotIsStolen(t *testing.T, s memory.DreamStore) {
	dead, thief, late := slot("d1", "r1"), slot("d2", "r2"), slot("d3", "r3")
	_, err := s.TakeSlot(t.Context(), echo, dead, memory.Fence{})
	require.NoError(t, err)
	_, err = s.TakeSlot(t.Context(), echo, thief, memory.Fence{Dream: "d1", Run: "r0"})
	require.ErrorIs(t, err, memory.ErrTaken)
	_, err = s.TakeSlot(t.Context(), echo, thief, dead.Fence)
	require.NoError(t, err)
	held, err := s.TakeSlot(t.Context(), echo, late, dead.Fence)
	require.ErrorIs(t, err, memory.ErrTaken)
	require.Equal(t, thief, held)
	slots, err := s.Slots(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]memory.Slot{echo: thief}, slots)
}

func oneOfMany(t *testing.T, s memory.DreamStore) {
	var mu sync.Mutex
	won := 0
	together(t, 12, func(ctx context.Context, i int) error {
		held, err := s.TakeSlot(ctx, echo, slot("d", fmt.Sprint(i)), memory.Fence{})
		if err == nil {
			mu.Lock()
			won++
			mu.Unlock()
			return nil
		}
		if held.Dream != "d" {
			return err
		}
		return nil
	})
	require.Equal(t, 1, won)
}

func writeIsFenced(t *testing.T, s memory.DreamStore) {
	f := sleep(t, s, "echo/0001")
	write := func(f memory.Fence, id string) error {
		_, err := s.Commit(t.Context(), memory.Write{
			Agent: echo, Fence: f, Add: []dream.Item{episode(id, id)},
			Events: []event.Event{event.New("v-"+id, echo, f.Dream, dawn, event.PatternFound{})},
		})
		return err
	}
	require.NoError(t, write(f, "held"))
	stranger := memory.Fence{Dream: f.Dream, Run: "another run"}
	require.ErrorIs(t, write(stranger, "stranger"), memory.ErrFenced)
	require.ErrorIs(t, write(memory.Fence{Dream: f.Dream}, "half"), memory.ErrFenced)
	_, err := s.PutNote(t.Context(), echo, stranger, "k", []byte("v"))
	require.ErrorIs(t, err, memory.ErrFenced)
	require.NoError(t, write(memory.Fence{}, "awake"))
	wakeUp(t, s, f)
	require.ErrorIs(t, write(f, "late"), memory.ErrFenced)
	require.Equal(t, []string{"held", "awake"}, ids(get(t, s, "held", "stranger", "half", "awake", "late")))
	require.EqualValues(t, 2, commit(t, s, memory.Write{}).LastSeq)
}

func noteKeepsFirst(t *testing.T, s memory.DreamStore) {
	f := sleep(t, s, "echo/0001")
	_, err := s.Note(t.Context(), echo, f.Dream, "plan")
	require.ErrorIs(t, err, memory.ErrNotFound)
	for _, value := range []string{"first", "second"} {
		kept, err := s.PutNote(t.Context(), echo, f, "plan", []byte(value))
		require.NoError(t, err)
		require.Equal(t, []byte("first"), kept)
	}
	_, err = s.PutNote(t.Context(), echo, f, "empty", nil)
	require.NoError(t, err)
	value, err := s.Note(t.Context(), echo, f.Dream, "plan")
	require.NoError(t, err)
	require.Equal(t, []byte("first"), value)
	value, err = s.Note(t.Context(), echo, f.Dream, "empty")
	require.NoError(t, err)
	require.Empty(t, value)
	_, err = s.Note(t.Context(), echo, "echo/0002", "plan")
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.NoError(t, s.DropAllNotes(t.Context(), echo, f.Dream))
	_, err = s.Note(t.Context(), echo, f.Dream, "plan")
	require.ErrorIs(t, err, memory.ErrNotFound)
}

// noted stores a note under each key, with the key as its value.
func noted(t *testing.T, s memory.DreamStore, f memory.Fence, keys ...string) map[string][]byte {
	t.Helper()
	notes := map[string][]byte{}
	for _, key := range keys {
		_, err := s.PutNote(t.Context(), echo, f, key, []byte(key))
		require.NoError(t, err)
		notes[key] = []byte(key)
	}
	return notes
}

func notes(t *testing.T, s memory.DreamStore, dreamID, prefix string) map[string][]byte {
	t.Helper()
	found, err := s.Notes(t.Context(), echo, dreamID, prefix)
	require.NoError(t, err)
	require.NotNil(t, found)
	return found
}

func notesByPrefix(t *testing.T, s memory.DreamStore) {
	f := sleep(t, s, "echo/0001")
	all := noted(t, s, f, "snapshot/1", "snapshot/2", "snapshot", "Snapshot/3", "snap%hot/4", "snap*/5", "ähre/1",
		"ähre", "plan")
	require.Equal(t, all, notes(t, s, f.Dream, ""))
	require.Equal(t, map[string][]byte{"snapshot/1": all["snapshot/1"], "snapshot/2": all["snapshot/2"]},
		notes(t, s, f.Dream, memory.LateNote))
	for prefix, n := range map[string]int{
		"snap": 5, "snap%": 1, "snap*": 1, "sn_p": 0, "S": 1, "ä": 2, "ähre/": 1,
		"plan": 1, "plans": 0, "[p]": 0,
	} {
		require.Len(t, notes(t, s, f.Dream, prefix), n, prefix)
	}
	require.Empty(t, notes(t, s, "echo/0002", ""))
	wakeUp(t, s, f)
	other := sleep(t, s, "echo/0002")
	noted(t, s, other, "snapshot/9")
	require.Len(t, notes(t, s, f.Dream, memory.LateNote), 2, "each dream reads its own notes")
	_, err := s.PutNote(t.Context(), echo, other, "empty", nil)
	require.NoError(t, err)
	require.Contains(t, notes(t, s, other.Dream, "e"), "empty")
	elsewhere, err := s.Notes(t.Context(), "agent-vega", f.Dream, "")
	require.NoError(t, err)
	require.Empty(t, elsewhere)
}

func notesDroppedByKey(t *testing.T, s memory.DreamStore) {
	f := sleep(t, s, "echo/0001")
	all := noted(t, s, f, "snapshot/1", "snapshot/2", "snapshot/3", "plan")
	require.NoError(t, s.DropNotes(t.Context(), echo, f.Dream, []string{"snapshot/1", "snapshot/3", "never kept"}))
	require.Equal(t, map[string][]byte{"snapshot/2": all["snapshot/2"], "plan": all["plan"]}, notes(t, s, f.Dream, ""))
	whole := []string{"snapshot/"} // whole keys are compared, not prefixes
	require.NoError(t, s.DropNotes(t.Context(), echo, f.Dream, whole))
	require.NoError(t, s.DropNotes(t.Context(), echo, f.Dream, nil))
	require.NoError(t, s.DropNotes(t.Context(), echo, f.Dream, []string{}))
	require.Len(t, notes(t, s, f.Dream, ""), 2, "no keys name no notes")
	require.NoError(t, s.DropAllNotes(t.Context(), echo, "echo/0002"))
	require.NoError(t, s.DropAllNotes(t.Context(), "agent-vega", f.Dream))
	require.Len(t, notes(t, s, f.Dream, ""), 2)
	kept, err := s.PutNote(t.Context(), echo, f, "snapshot/1", []byte("anew"))
	require.NoError(t, err)
	require.Equal(t, "anew", string(kept), "a dropped key may be written again")
	require.NoError(t, s.DropAllNotes(t.Context(), echo, f.Dream))
	require.Empty(t, notes(t, s, f.Dream, ""))
}
