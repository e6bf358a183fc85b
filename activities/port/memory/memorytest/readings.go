package memorytest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

var readings = []clause[memory.Store]{
	{"AWriteBasedOnAnOlderReadingIsRefused", staleIsRefused},
	{"AnErasureInPartsMakesEachReadingBetweenThemStale", partsAreStale},
}

// readNow returns a current reading.
func readNow(t *testing.T, s memory.Store) memory.SeenForgettings {
	t.Helper()
	n, err := s.Forgettings(t.Context(), echo)
	require.NoError(t, err)
	return memory.SeenForgettings{Set: true, Forgettings: n}
}

func staleIsRefused(t *testing.T, s memory.Store) {
	add(t, s, semantic("s", "tides"), semantic("s2", "glass"))
	dreaming := sleep(t, s, "d1")
	dreaming.Read = readNow(t, s)
	awake := memory.Fence{Read: dreaming.Read}
	write := func(f memory.Fence, id string) error {
		_, err := s.Commit(t.Context(),
			memory.Write{Agent: echo, Fence: f, Cause: "test", Add: []dream.Item{semantic(id, "tides are salt")}})
		return err
	}
	note := func(f memory.Fence, key string) error {
		_, err := s.PutNote(t.Context(), echo, f, key, []byte("tides"))
		return err
	}
	require.NoError(t, write(dreaming, "before"))
	require.NoError(t, write(awake, "before, awake"))
	require.NoError(t, note(dreaming, "before"))

	forget(t, s, "s")
	late := memory.Write{Agent: echo, Fence: dreaming, Add: []dream.Item{semantic("late", "tides")}, Late: true}
	_, err := s.Commit(t.Context(), late)
	require.ErrorIs(t, err, memory.ErrForgotten, "late writes, too")
	for name, f := range map[string]memory.Fence{"dreaming": dreaming, "awake": awake} {
		require.ErrorIs(t, write(f, "after, "+name), memory.ErrForgotten, name)
		require.ErrorIs(t, note(f, "after, "+name), memory.ErrForgotten, name)
		require.ErrorIs(t, note(f, memory.LateNote+name), memory.ErrForgotten, name)
		found, err := s.Get(t.Context(), echo, "after, "+name, "late")
		require.NoError(t, err)
		require.Empty(t, found, "a refused write writes nothing")
	}
	notes, err := s.Notes(t.Context(), echo, "d1", "")
	require.NoError(t, err)
	require.Len(t, notes, 1)

	other := memory.Fence{Dream: "d2", Run: "r", Read: dreaming.Read}
	require.ErrorIs(t, write(other, "x"), memory.ErrFenced, "the slot is checked first")
	dreaming.Read, awake.Read = memory.SeenForgettings{}, memory.SeenForgettings{}
	require.NoError(t, write(dreaming, "unread"), "a write without a reading is not checked")
	require.NoError(t, write(awake, "unread, awake"))
	dreaming.Read = readNow(t, s)
	require.NoError(t, write(dreaming, "read again"))
	require.NoError(t, note(dreaming, "read again"))
}

func partsAreStale(t *testing.T, s memory.Store) {
	add(t, s, semantic("a", "tides"), semantic("b", "glass"))
	seen := []memory.SeenForgettings{readNow(t, s)}
	for i, e := range []memory.Erasure{{IDs: []string{"a"}, More: true}, {IDs: []string{"b"}}} {
		_, err := s.Erase(t.Context(), echo, e)
		require.NoError(t, err)
		for _, r := range seen {
			w := memory.Write{
				Agent: echo, Fence: memory.Fence{Read: r}, Cause: "test",
				Add: []dream.Item{semantic("x", "x")},
			}
			_, err := s.Commit(t.Context(), w)
			require.ErrorIs(t, err, memory.ErrForgotten, "part %d", i)
		}
		seen = append(seen, readNow(t, s))
	}
}
