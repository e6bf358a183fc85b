package memorytest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

var revisings = []clause[memory.DreamStore]{
	{"EveryMethodReturnsTheRevisionOfItsItems", methodsReturnRevisions},
	{"AChangeOfAnOldRevisionIsStale", changeIsStale},
	{"AStaleChangeLeavesNothingBehind", staleLeavesNothing},
	{"UndoAndForgetMakeOlderReadsStale", undoMakesStale},
	{"ADreamReplacesWhatItWroteItself", dreamReplacesItsOwn},
	{"OtherCausesDoNotReplaceRevisions", othersReplaceNothing},
}

// methodsReturnRevisions reads one memory, at its second revision, by every method.
func methodsReturnRevisions(t *testing.T, s memory.DreamStore) {
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
		"bare": func() ([]dream.Item, error) { return s.WithoutVector(t.Context(), echo, "flat/2", nil, 0) },
	} {
		items, err := ask()
		require.NoError(t, err, name)
		require.Len(t, items, 1, name)
		require.Equal(t, 2, items[0].Header().Revision, name)
		body, err := json.Marshal(items[0])
		require.NoError(t, err)
		require.NotContains(t, string(body), "evision", "the revision number is not part of the item")
	}
	history, err := s.Revisions(t.Context(), echo, "s")
	require.NoError(t, err)
	for _, r := range history {
		require.Equal(t, r.Number, r.Item.Header().Revision)
	}
}

func readSemantic(t *testing.T, s memory.DreamStore, id string) *dream.Semantic {
	t.Helper()
	item, err := memory.One[*dream.Semantic](t.Context(), s, echo, id)
	require.NoError(t, err)
	return item
}

func changeIsStale(t *testing.T, s memory.DreamStore) {
	add(t, s, semantic("s", "tides"))
	early, late := readSemantic(t, s, "s"), readSemantic(t, s, "s")
	late.Strength = .6
	require.Equal(t, 1, commit(t, s, memory.Write{Cause: "d1", Change: []dream.Item{late}}).Changed)
	early.Strength = .4
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "d1", Change: []dream.Item{early}})
	require.ErrorIs(t, err, memory.ErrStale)
	require.ErrorContains(t, err, "read at revision 1 and the newest is 2")

	early.Strength = .6 // the same content as the newest, but based on an old revision
	_, err = s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "d1", Change: []dream.Item{early}})
	require.ErrorIs(t, err, memory.ErrStale)
	require.Equal(t, memory.Receipt{},
		commit(t, s, memory.Write{Cause: "d1", Change: []dream.Item{readSemantic(t, s, "s")}}))

	early.Strength, early.Revision = .3, 0 // not based on any revision, and written all the same
	require.Equal(t, 1, commit(t, s, memory.Write{Cause: "import", Change: []dream.Item{early}}).Changed)

	twice, again := readSemantic(t, s, "s"), readSemantic(t, s, "s")
	twice.Strength, again.Strength = .7, .8
	require.Equal(t, 2, commit(t, s, memory.Write{Cause: "d1", Change: []dream.Item{twice, again}}).Changed)
	require.Equal(t, 5, readSemantic(t, s, "s").Revision)
}

func staleLeavesNothing(t *testing.T, s memory.DreamStore) {
	add(t, s, semantic("s", "tides"), semantic("s2", "glass"))
	fine, stale := readSemantic(t, s, "s"), readSemantic(t, s, "s2")
	commit(t, s, memory.Write{Cause: "operator", Change: []dream.Item{faded(semantic("s2", "glass"))}})
	fine.Strength, stale.Strength = .9, .9
	_, err := s.Commit(t.Context(),
		memory.Write{Agent: echo, Cause: "d1", Add: []dream.Item{episode("e", "x")}, Change: []dream.Item{fine, stale}})
	require.ErrorIs(t, err, memory.ErrStale)
	require.Equal(t, []dream.Item{semantic("s", "tides"), faded(semantic("s2", "glass"))}, get(t, s, "s", "s2", "e"))
}

func undoMakesStale(t *testing.T, s memory.DreamStore) {
	add(t, s, semantic("s", "tides"), semantic("s2", "glass"))
	dreamOnce(t, s, "d1")
	read, forgotten := readSemantic(t, s, "s2"), readSemantic(t, s, "s")
	undo(t, s, "d1")
	removed := forgets(t, s, "s")
	read.Content, forgotten.Content = "again", "again"
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "d2", Change: []dream.Item{read}})
	require.ErrorIs(t, err, memory.ErrStale)
	_, err = s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "d2", Change: []dream.Item{forgotten}})
	if removed {
		require.ErrorIs(t, err, memory.ErrNotFound)
	} else {
		require.ErrorIs(t, err, memory.ErrStale)
	}
	fresh := readSemantic(t, s, "s2")
	require.Equal(t, "glass", fresh.Content)
	fresh.Content = "clear glass"
	require.Equal(t, 1, commit(t, s, memory.Write{Cause: "d2", Change: []dream.Item{fresh}}).Changed)
}

// revisionLines describes an item's revisions: number, cause and score of each.
func revisionLines(t *testing.T, s memory.DreamStore, id string) (lines []string) {
	t.Helper()
	revisions, err := s.Revisions(t.Context(), echo, id)
	require.NoError(t, err)
	for _, r := range revisions {
		lines = append(lines, fmt.Sprintf("%d %s %.1f", r.Number, r.Cause, r.Item.Marks().Score))
	}
	return lines
}

// rate changes the score of a hypothesis.
func rate(t *testing.T, s memory.DreamStore, w memory.Write, h *dream.Hypothesis, score float64) {
	t.Helper()
	changed := *h
	changed.Confidence = score
	w.Change = []dream.Item{&changed}
	require.Equal(t, 1, commit(t, s, w).Changed)
}

func dreamReplacesItsOwn(t *testing.T, s memory.DreamStore) {
	lived := hypothesis("lived", "rain follows glass", .1)
	made := hypothesis("made", "tides", .2)
	made.Dream = "d1"
	add(t, s, lived)
	f := sleep(t, s, "d1")
	commit(t, s, memory.Write{Fence: f, Add: []dream.Item{made}})
	early, err := memory.One[*dream.Hypothesis](t.Context(), s, echo, "made")
	require.NoError(t, err)
	for _, score := range []float64{.3, .4} {
		rate(t, s, memory.Write{Fence: f}, made, score)
		rate(t, s, memory.Write{Fence: f}, lived, score)
	}
	require.Equal(t, []string{"3 d1 0.4"}, revisionLines(t, s, "made"))
	require.Equal(t, []string{"1 import 0.1", "3 d1 0.4"}, revisionLines(t, s, "lived"))
	require.Equal(t, 1, early.Revision)
	early.Confidence = .9
	_, err = s.Commit(t.Context(), memory.Write{Agent: echo, Fence: f, Change: []dream.Item{early}})
	require.ErrorIs(t, err, memory.ErrStale, "numbers rise although the first revision was replaced")

	made.State = dream.Archived
	rate(t, s, memory.Write{Fence: f}, made, .5)
	require.Equal(t, []string{"3 d1 0.4", "4 d1 0.5"}, revisionLines(t, s, "made"),
		"the revision before the change of state is kept")
	wakeUp(t, s, f)
	require.Equal(t, memory.UndoResult{Restored: 1}, undo(t, s, "d1"))
	require.Equal(t, []dream.Item{lived}, get(t, s, "lived"))
	require.Equal(t, []string{"1 import 0.1", "3 d1 0.4", "4 undo:d1 0.1"}, revisionLines(t, s, "lived"))
}

func othersReplaceNothing(t *testing.T, s memory.DreamStore) {
	h := hypothesis("h", "rain follows glass", .1)
	add(t, s, h)
	rate(t, s, memory.Write{Cause: "operator"}, h, .2)
	rate(t, s, memory.Write{Cause: "operator"}, h, .3)
	for _, dreamID := range []string{"d1", "d2"} {
		f := sleep(t, s, dreamID)
		rate(t, s, memory.Write{Fence: f}, h, .4+float64(len(revisionLines(t, s, "h")))/100)
		rate(t, s, memory.Write{Fence: f, Cause: "import"}, h, .7)
		wakeUp(t, s, f)
	}
	require.Equal(t, []string{
		"1 import 0.1", "2 operator 0.2", "3 operator 0.3", "4 d1 0.4", "5 import 0.7", "6 d2 0.5", "7 import 0.7",
	}, revisionLines(t, s, "h"))
}

func replacedIsForgotten(t *testing.T, s memory.Store) {
	add(t, s, hypothesis("lived", "glass", .1), hypothesis("named", "rain", .1))
	f := sleep(t, s, "d1")
	made := hypothesis("made", "tides", .2)
	made.Dream, made.Sources = "d1", []string{"lived", "named"}
	commit(t, s, memory.Write{Fence: f, Add: []dream.Item{made}})
	made.Sources = []string{"lived"}
	rate(t, s, memory.Write{Fence: f}, made, .3)
	wakeUp(t, s, f)
	for _, id := range []string{"named", "lived"} {
		done, err := s.Forget(t.Context(), echo, id)
		require.NoError(t, err)
		require.Equal(t, 1, done)
	}
	require.Empty(t, get(t, s, "made")[0].Header().Sources)
	require.Equal(t, []string{"2 d1 0.3"}, revisionLines(t, s, "made"))
	done, err := s.Forget(t.Context(), echo, "made")
	require.NoError(t, err)
	require.Equal(t, 1, done)
	_, err = s.Revisions(t.Context(), echo, "made")
	require.ErrorIs(t, err, memory.ErrNotFound)
}
