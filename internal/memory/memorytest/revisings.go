package memorytest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

var revisings = []clause{
	{"EveryAnswerTellsTheRevisionOfItsItems", answersTellRevisions},
	{"AChangeOfWhatHasChangedSinceIsStale", changeIsStale},
	{"AStaleChangeLeavesNothingBehind", staleLeavesNothing},
	{"UndoAndForgetPutReadersInThePast", undoMakesStale},
}

// answersTellRevisions asks for one memory, at its second revision, in every way there is.
func answersTellRevisions(t *testing.T, s memory.Store) {
	stronger := semantic("s", "tides")
	stronger.Strength, stronger.Dream = .6, "d1"
	add(t, s, semantic("s", "tides"))
	commit(t, s, memory.Write{Cause: "operator", Change: []dream.Item{stronger}})
	for name, ask := range map[string]func() ([]dream.Item, error){
		"get":  func() ([]dream.Item, error) { return s.Get(t.Context(), echo, "s") },
		"find": func() ([]dream.Item, error) { return s.Find(t.Context(), memory.Query{Agent: echo}) },
		"find of a dream": func() ([]dream.Item, error) {
			return s.Find(t.Context(), memory.Query{Agent: echo, Dream: "d1"})
		},
		"bare": func() ([]dream.Item, error) { return s.Bare(t.Context(), echo, "flat/2", nil, 0) },
	} {
		items, err := ask()
		require.NoError(t, err, name)
		require.Len(t, items, 1, name)
		require.Equal(t, 2, items[0].Header().Revision, name)
		body, err := json.Marshal(items[0])
		require.NoError(t, err)
		require.NotContains(t, string(body), "evision", "it is the store's, not the item's")
	}
	history, err := s.Revisions(t.Context(), echo, "s")
	require.NoError(t, err)
	for _, r := range history {
		require.Equal(t, r.Number, r.Item.Header().Revision)
	}
}

func readSemantic(t *testing.T, s memory.Store, id string) *dream.Semantic {
	t.Helper()
	item, err := memory.One[*dream.Semantic](t.Context(), s, echo, id)
	require.NoError(t, err)
	return item
}

func changeIsStale(t *testing.T, s memory.Store) {
	add(t, s, semantic("s", "tides"))
	early, late := readSemantic(t, s, "s"), readSemantic(t, s, "s")
	late.Strength = .6
	require.Equal(t, 1, commit(t, s, memory.Write{Cause: "d1", Change: []dream.Item{late}}).Changed)
	early.Strength = .4
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "d1", Change: []dream.Item{early}})
	require.ErrorIs(t, err, memory.ErrStale)
	require.ErrorContains(t, err, "read at revision 1 and the newest is 2")

	early.Strength = .6 // the same words, but not said of what is there now
	_, err = s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "d1", Change: []dream.Item{early}})
	require.ErrorIs(t, err, memory.ErrStale)
	require.Equal(t, memory.Receipt{}, commit(t, s, memory.Write{Cause: "d1", Change: []dream.Item{readSemantic(t, s, "s")}}))

	early.Strength, early.Revision = .3, 0 // read nowhere, and asked for all the same
	require.Equal(t, 1, commit(t, s, memory.Write{Cause: "import", Change: []dream.Item{early}}).Changed)

	twice, again := readSemantic(t, s, "s"), readSemantic(t, s, "s")
	twice.Strength, again.Strength = .7, .8
	require.Equal(t, 2, commit(t, s, memory.Write{Cause: "d1", Change: []dream.Item{twice, again}}).Changed)
	require.Equal(t, 5, readSemantic(t, s, "s").Revision)
}

func staleLeavesNothing(t *testing.T, s memory.Store) {
	add(t, s, semantic("s", "tides"), semantic("s2", "glass"))
	fine, stale := readSemantic(t, s, "s"), readSemantic(t, s, "s2")
	commit(t, s, memory.Write{Cause: "operator", Change: []dream.Item{faded(semantic("s2", "glass"))}})
	fine.Strength, stale.Strength = .9, .9
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "d1", Add: []dream.Item{episode("e", "x")}, Change: []dream.Item{fine, stale}})
	require.ErrorIs(t, err, memory.ErrStale)
	require.Equal(t, []dream.Item{semantic("s", "tides"), faded(semantic("s2", "glass"))}, get(t, s, "s", "s2", "e"))
}

func undoMakesStale(t *testing.T, s memory.Store) {
	add(t, s, semantic("s", "tides"), semantic("s2", "glass"))
	night(t, s, "d1")
	read, gone := readSemantic(t, s, "s2"), readSemantic(t, s, "s")
	undo(t, s, "d1")
	forget(t, s, "s")
	read.Content, gone.Content = "again", "again"
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "d2", Change: []dream.Item{read}})
	require.ErrorIs(t, err, memory.ErrStale)
	_, err = s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "d2", Change: []dream.Item{gone}})
	require.ErrorIs(t, err, memory.ErrNotFound)
	fresh := readSemantic(t, s, "s2")
	require.Equal(t, "glass", fresh.Content)
	fresh.Content = "clear glass"
	require.Equal(t, 1, commit(t, s, memory.Write{Cause: "d2", Change: []dream.Item{fresh}}).Changed)
}
