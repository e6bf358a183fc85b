package presencetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

var fences = []clause{
	{"AWokenStretchWritesNothing", wokenWritesNothing},
	{"ALateWriteOfAWokenStretchIsKept", lateWriteKept},
	{"ALateWriteSetsNeitherMoodNorDigest", lateWriteBounded},
	{"AStretchOfANewerEpochThanTheStoresIsFenced", newerFenced},
	{"AFenceWithAnEpochAloneIsRefused", fenceWithoutHolder},
}

func episode(id string) *dream.Episode {
	return &dream.Episode{
		Head: dream.Head{
			ID:    id,
			Agent: echo,
			Kind:  dream.KindEpisode,
			At:    dawn,
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: id, Salience: .5,
	}
}

func remember(f memory.Fence, id string) memory.Write {
	return memory.Write{Fence: f, Add: []dream.Item{episode(id)}}
}

func countStored(t *testing.T, s memory.DreamStore, ids ...string) int {
	t.Helper()
	items, err := s.Get(t.Context(), echo, ids...)
	require.NoError(t, err)
	return len(items)
}

func wokenWritesNothing(t *testing.T, s Store) {
	f := sleep(t, s, "echo/0001", 0)
	require.NoError(t, commit(t.Context(), s, remember(f, "before")))
	raise(t, s, visit("web", 0))
	require.ErrorIs(t, commit(t.Context(), s, remember(f, "after")), memory.ErrWoken)
	_, err := s.PutNote(t.Context(), echo, f, "plan", []byte("x"))
	require.ErrorIs(t, err, memory.ErrWoken)
	require.ErrorIs(t, commit(t.Context(), s, remember(memory.Fence{Dream: "echo/0009", Run: "r"}, "stranger")),
		memory.ErrFenced)
	require.NoError(t, commit(t.Context(), s, remember(memory.Fence{}, "awake")))
	require.Equal(t, 2, countStored(t, s, "before", "after", "stranger", "awake"))
	_, err = s.Note(t.Context(), echo, f.Dream, "plan")
	require.ErrorIs(t, err, memory.ErrNotFound)
}

func lateWriteKept(t *testing.T, s Store) {
	f := sleep(t, s, "echo/0001", 0)
	raise(t, s, visit("web", 0))
	late := remember(f, "last words")
	late.Late = true
	require.NoError(t, commit(t.Context(), s, late))
	kept, err := s.PutNote(t.Context(), echo, f, memory.LateNote+"7", []byte("half a sentence"))
	require.NoError(t, err)
	require.Equal(t, "half a sentence", string(kept))
	stranger := remember(memory.Fence{Dream: "echo/0009", Run: "r"}, "stranger")
	stranger.Late = true
	require.ErrorIs(t, commit(t.Context(), s, stranger), memory.ErrFenced)
	require.NoError(t, s.FreeSlot(t.Context(), echo, f), "a woken stretch frees the slot")
	require.ErrorIs(t, commit(t.Context(), s, late), memory.ErrFenced)
	require.ErrorIs(t, commit(t.Context(), s, remember(f, "stranger")), memory.ErrWoken,
		"it freed the slot, and its workflow may not know")
	_, err = s.PutNote(t.Context(), echo, f, "plan", []byte("x"))
	require.ErrorIs(t, err, memory.ErrWoken)
	_, err = s.PutNote(t.Context(), echo, f, memory.LateNote+"8", []byte("x"))
	require.ErrorIs(t, err, memory.ErrFenced)
	require.Equal(t, 1, countStored(t, s, "last words", "stranger"))
	notes, err := s.Notes(t.Context(), echo, f.Dream, memory.LateNote)
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{memory.LateNote + "7": []byte("half a sentence")}, notes)
}

func lateWriteBounded(t *testing.T, s Store) {
	f := sleep(t, s, "echo/0001", 0)
	for _, spoil := range []func(*memory.Write){
		func(w *memory.Write) { w.Affect = &dream.Affect{PAD: joy, Since: dawn, Cause: f.Dream} },
		func(w *memory.Write) { w.OnWake = &memory.OnWake{Mood: &joy} },
		func(w *memory.Write) { w.OnWake = &memory.OnWake{} },
	} {
		w := remember(f, "too much")
		w.Late = true
		spoil(&w)
		err := commit(t.Context(), s, w)
		require.ErrorContains(t, err, "late")
		require.NotErrorIs(t, err, memory.ErrWoken)
	}
	require.Zero(t, countStored(t, s, "too much"))
	require.Zero(t, raise(t, s, visit("web", 0)).Affect)
}

// newerFenced: a store that was put back to an earlier state meets stretches that began at epochs which it has lost.
func newerFenced(t *testing.T, s Store) {
	raise(t, s, visit("web", 0))
	f := sleep(t, s, "echo/0001", hold)
	require.EqualValues(t, 1, f.Epoch)
	require.NoError(t, commit(t.Context(), s, remember(f, "a")))
	above := f
	above.Epoch = 99
	require.ErrorIs(t, commit(t.Context(), s, remember(above, "b")), memory.ErrFenced)
	below := f
	below.Epoch = 0
	require.ErrorIs(t, commit(t.Context(), s, remember(below, "c")), memory.ErrWoken)
	raise(t, s, visit("web", hold))
	require.ErrorIs(t, commit(t.Context(), s, remember(f, "d")), memory.ErrWoken)
	require.NoError(t, s.FreeSlot(t.Context(), echo, f))
	again := sleep(t, s, "echo/0001", 3*hold)
	require.EqualValues(t, 2, again.Epoch)
	require.NoError(t, commit(t.Context(), s, remember(again, "e")))
	require.Equal(t, 2, countStored(t, s, "a", "b", "c", "d", "e"))
}

func fenceWithoutHolder(t *testing.T, s Store) {
	nobody := memory.Fence{Epoch: 3}
	require.ErrorIs(t, commit(t.Context(), s, remember(nobody, "a")), memory.ErrFenced)
	_, err := s.PutNote(t.Context(), echo, nobody, "plan", []byte("x"))
	require.ErrorIs(t, err, memory.ErrFenced)
	_, err = s.TakeSlot(t.Context(), echo, memory.Slot{Fence: nobody, Since: at(time.Second)}, memory.Fence{})
	require.Error(t, err)
	require.Zero(t, countStored(t, s, "a"))
}
