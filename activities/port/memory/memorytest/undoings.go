package memorytest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

var undoings = []clause[memory.DreamStore]{
	{"UndoArchivesCreatedItemsAndRestoresChangedOnes", undoTakesBack},
	{"UndoingTwiceChangesNothing", undoTwice},
	{"ItemsChangedLaterAreKeptAndListed", laterIsKept},
	{"DreamsUndoneInOrderLeaveNothing", undoneInOrder},
	{"UndoReturnsToTheAffectBefore", undoAffect},
	{"UndoKeepsALaterAffect", undoKeepsLaterAffect},
	{"UndoInAnyOrderLeavesTheNewestAffectThatCounts", undoAffectsAnyOrder},
	{"UndoInAnyOrderLeavesTheNewestRevisionThatCounts", undoItemsAnyOrder},
	{"SearchesFollowAnUndo", undoneIsFar},
	{"UndoOfAnUnknownDreamDoesNothing", undoNothing},
	{"AnUndoneInterruptedDreamIsStillListed", undoneInterruptedIsFound},
}

// dreamt returns a gist that a dream made.
func dreamt(dreamID, id string) *dream.Gist {
	g := &dream.Gist{Head: head(dream.KindGist, id), Content: id}
	g.Dream, g.Taint = dreamID, dream.FromDream
	return g
}

func faded(e *dream.Semantic) *dream.Semantic {
	copied := *e
	copied.State = dream.Archived
	return &copied
}

func undo(t *testing.T, s memory.DreamStore, dreamID string) memory.UndoResult {
	t.Helper()
	done, err := s.Undo(t.Context(), echo, dreamID)
	require.NoError(t, err)
	return done
}

// dreamOnce adds a gist, weakens one memory and then strengthens it twice, as one dream.
func dreamOnce(t *testing.T, s memory.DreamStore, dreamID string) {
	t.Helper()
	f := sleep(t, s, dreamID)
	commit(t, s,
		memory.Write{
			Fence: f, Add: []dream.Item{dreamt(dreamID, "gist-"+dreamID)},
			Change: []dream.Item{faded(semantic("s", "tides"))},
		})
	for _, strength := range []float64{.6, .7} {
		stronger := semantic("s2", "glass")
		stronger.Strength = strength
		commit(t, s, memory.Write{Fence: f, Change: []dream.Item{stronger}})
	}
	wakeUp(t, s, f)
}

func undoTakesBack(t *testing.T, s memory.DreamStore) {
	add(t, s, semantic("s", "tides"), semantic("s2", "glass"), episode("e", "untouched"))
	dreamOnce(t, s, "d1")
	require.Equal(t, memory.UndoResult{Archived: 1, Restored: 2}, undo(t, s, "d1"))
	require.Equal(t, dream.Archived, stateOf(t, s, "gist-d1"))
	require.Equal(t, []dream.Item{semantic("s", "tides"), semantic("s2", "glass"), episode("e", "untouched")},
		get(t, s, "s", "s2", "e"))
	revisions, err := s.Revisions(t.Context(), echo, "s2")
	require.NoError(t, err)
	require.Len(t, revisions, 3, "the dream's second change replaced its first")
	require.Equal(t, "undo:d1", revisions[2].Cause)
	require.Equal(t, .7, revisions[1].Item.Marks().Score)
	require.Equal(t, []int{1, 3, 4}, []int{revisions[0].Number, revisions[1].Number, revisions[2].Number})
	untouched, err := s.Revisions(t.Context(), echo, "e")
	require.NoError(t, err)
	require.Len(t, untouched, 1)
	_, err = s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "undo:d1", Add: []dream.Item{episode("x", "x")}})
	require.Error(t, err)
}

func undoTwice(t *testing.T, s memory.DreamStore) {
	add(t, s, semantic("s", "tides"), semantic("s2", "glass"))
	dreamOnce(t, s, "d1")
	commit(t, s, memory.Write{Cause: "d1", Affect: &dream.Affect{PAD: mood.PAD{Arousal: 1}, Since: dawn, Cause: "d1"}})
	undo(t, s, "d1")
	require.Equal(t, memory.UndoResult{}, undo(t, s, "d1"))
	revisions, err := s.Revisions(t.Context(), echo, "s")
	require.NoError(t, err)
	require.Len(t, revisions, 3)
}

func laterIsKept(t *testing.T, s memory.DreamStore) {
	add(t, s, semantic("s", "tides"), semantic("s2", "glass"))
	dreamOnce(t, s, "d1")
	edited, made := semantic("s2", "glass"), dreamt("d1", "gist-d1")
	edited.Strength, made.Content = .9, "edited by a person"
	commit(t, s, memory.Write{Cause: "operator", Change: []dream.Item{edited, made}})
	want := memory.UndoResult{Restored: 1, Kept: []string{"gist-d1", "s2"}}
	require.Equal(t, want, undo(t, s, "d1"))
	require.Equal(t, []dream.Item{made, edited, semantic("s", "tides")}, get(t, s, "gist-d1", "s2", "s"))
}

func undoneInOrder(t *testing.T, s memory.DreamStore) {
	add(t, s, semantic("s", "tides"), semantic("s2", "glass"))
	dreamOnce(t, s, "d1")
	f := sleep(t, s, "d2")
	confirmed := dreamt("d1", "gist-d1")
	confirmed.Content = "seen again in d2"
	commit(t, s, memory.Write{Fence: f, Change: []dream.Item{confirmed, semantic("s", "tides")}})
	wakeUp(t, s, f)
	require.Equal(t, memory.UndoResult{Restored: 2}, undo(t, s, "d2"))
	require.Equal(t, dream.Archived, stateOf(t, s, "s"))
	require.Equal(t, memory.UndoResult{Archived: 1, Restored: 2}, undo(t, s, "d1"))
	require.Equal(t, []dream.Item{semantic("s", "tides"), semantic("s2", "glass")}, get(t, s, "s", "s2"))
	require.Equal(t, dream.Archived, stateOf(t, s, "gist-d1"))
}

func undoAffect(t *testing.T, s memory.DreamStore) {
	feel := func(cause string, pleasure float64) dream.Affect {
		a := dream.Affect{PAD: mood.PAD{Pleasure: pleasure}, Since: dawn, Cause: cause}
		commit(t, s, memory.Write{Cause: cause, Affect: &a})
		return a
	}
	feel("d0", .1)
	undo(t, s, "d0")
	a, err := s.Affect(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, dream.Affect{Cause: "new"}, a)
	day := feel("talk", .2)
	feel("d1", .3)
	feel("d1", .4)
	undo(t, s, "d1")
	a, err = s.Affect(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, day, a)
}

// undoAffectsAnyOrder undoes dreams that each moved the mood, with changes while awake between them, in random orders.
// The affect is always that of the newest cause that still counts.
func undoAffectsAnyOrder(t *testing.T, s memory.DreamStore) {
	dice := rand.New(rand.NewPCG(20261122, 7))
	for round := range 20 {
		type entry struct {
			cause string
			felt  dream.Affect
		}
		history := []entry{{"new", affectNow(t, s)}}
		var nights []string
		for i := range 7 {
			cause := fmt.Sprintf("round-%d/night-%d", round, i)
			if dice.IntN(4) == 0 {
				cause = "event/joy"
			} else {
				nights = append(nights, cause)
			}
			for range 1 + dice.IntN(2) { // a dream that was woken has moved it twice
				a := dream.Affect{PAD: mood.PAD{Pleasure: dice.Float64()}, Since: dawn, Cause: cause}
				commit(t, s, memory.Write{Cause: cause, Affect: &a})
				history = append(history, entry{cause, a})
			}
		}
		dice.Shuffle(len(nights), func(i, j int) { nights[i], nights[j] = nights[j], nights[i] })
		for _, night := range nights {
			undo(t, s, night)
			history = slices.DeleteFunc(history, func(e entry) bool { return e.cause == night })
			require.Equal(t, history[len(history)-1].felt, affectNow(t, s), "round %d, undone %s of %v", round, night,
				nights)
		}
	}
}

// undoItemsAnyOrder undoes dreams that changed, archived and created the same items, with changes by a person between
// them, in random orders. Each item is always as the newest remaining cause left it, and archived when no remaining
// cause created it.
func undoItemsAnyOrder(t *testing.T, s memory.DreamStore) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 11))
	for round := range 12 {
		h := &itemHistory{round: round, dice: dice, states: map[string][]itemState{}}
		var nights []string
		for i := range 6 {
			cause := "operator"
			if dice.IntN(4) > 0 {
				cause = fmt.Sprintf("round-%d/night-%d", round, i)
				nights = append(nights, cause)
			}
			h.write(t, s, cause, i)
		}
		h.check(t, s, "before any undo")
		dice.Shuffle(len(nights), func(i, j int) { nights[i], nights[j] = nights[j], nights[i] })
		for _, night := range nights {
			undo(t, s, night)
			h.takeBack(night)
			h.check(t, s, fmt.Sprintf("seed %d, round %d, undone %s of %v", seed, round, night, nights))
			require.Equal(t, memory.UndoResult{}, undo(t, s, night), "the second undo does nothing")
		}
	}
}

// itemHistory models a few items by the causes that still count.
type itemHistory struct {
	round  int
	dice   *rand.Rand
	states map[string][]itemState // by id
	ids    []string
}

type itemState struct {
	cause string
	item  *dream.Semantic
}

// write lets a cause create one item and change some existing ones.
func (h *itemHistory) write(t *testing.T, s memory.DreamStore, cause string, n int) {
	t.Helper()
	w := memory.Write{Cause: cause}
	if strings.HasPrefix(cause, "round-") {
		w = memory.Write{Fence: sleep(t, s, cause)}
	}
	for _, id := range h.ids {
		if h.dice.IntN(3) == 0 {
			continue
		}
		all := h.states[id]
		changed := *all[len(all)-1].item
		changed.Content = fmt.Sprintf("%s as %s has it", id, cause)
		changed.Strength = h.dice.Float64()
		changed.State = []dream.State{dream.Live, dream.Live, dream.Archived}[h.dice.IntN(3)]
		w.Change = append(w.Change, &changed)
		h.states[id] = append(all, itemState{cause, &changed})
	}
	made := semantic(fmt.Sprintf("round-%d/item-%d", h.round, n), "made by "+cause)
	if w.Fence != (memory.Fence{}) {
		made.Dream, made.Taint = cause, dream.FromDream
	}
	w.Add = []dream.Item{made}
	h.ids = append(h.ids, made.ID)
	h.states[made.ID] = []itemState{{cause, made}}
	commit(t, s, w)
	if w.Fence != (memory.Fence{}) {
		wakeUp(t, s, w.Fence)
	}
}

// takeBack removes a cause. An item that nothing else created keeps its last state, archived.
func (h *itemHistory) takeBack(cause string) {
	for id, all := range h.states {
		left := slices.DeleteFunc(slices.Clone(all), func(s itemState) bool { return s.cause == cause })
		if len(left) == 0 {
			last := *all[len(all)-1].item
			last.State = dream.Archived
			left = []itemState{{"nobody", &last}}
		}
		h.states[id] = left
	}
}

func (h *itemHistory) check(t *testing.T, s memory.DreamStore, when string) {
	t.Helper()
	for _, id := range h.ids {
		all := h.states[id]
		require.Equal(t, []dream.Item{all[len(all)-1].item}, get(t, s, id), "%s: %s", id, when)
	}
}

func affectNow(t *testing.T, s memory.DreamStore) dream.Affect {
	t.Helper()
	a, err := s.Affect(t.Context(), echo)
	require.NoError(t, err)
	return a
}

func undoKeepsLaterAffect(t *testing.T, s memory.DreamStore) {
	commit(t, s,
		memory.Write{Cause: "d1", Affect: &dream.Affect{PAD: mood.PAD{Pleasure: .3}, Since: dawn, Cause: "d1"}})
	talk := dream.Affect{PAD: mood.PAD{Pleasure: .9}, Since: dawn, Cause: "talk"}
	commit(t, s, memory.Write{Cause: "talk", Affect: &talk})
	undo(t, s, "d1")
	a, err := s.Affect(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, talk, a)
}

func undoneIsFar(t *testing.T, s memory.DreamStore) {
	add(t, s, semantic("s", "tides"), semantic("s2", "glass"))
	commit(t, s, memory.Write{Vectors: []memory.Vector{vector("s", 1, 0), vector("s2", 1, .5)}})
	dreamOnce(t, s, "d1")
	commit(t, s, memory.Write{Vectors: []memory.Vector{vector("gist-d1", 1, 1)}})
	require.Equal(t, []string{"s2", "gist-d1"}, near(t, s, []float32{1, 0}, 9))
	undo(t, s, "d1")
	require.Equal(t, []string{"s", "s2"}, near(t, s, []float32{1, 0}, 9))
}

func undoNothing(t *testing.T, s memory.DreamStore) {
	add(t, s, episode("e", "x"))
	require.Equal(t, memory.UndoResult{}, undo(t, s, "never dreamt"))
	require.Equal(t, dream.Live, stateOf(t, s, "e"))
}

// Undoing an interrupted dream does not end it: the reconciler still finds it by its status.
func undoneInterruptedIsFound(t *testing.T, s memory.DreamStore) {
	waits := &dream.Record{Head: head(dream.KindRecord, "d1"), Outcome: dream.Interrupted, Until: dawn}
	over := &dream.Record{Head: head(dream.KindRecord, "d2"), Outcome: dream.Interrupted}
	goesOn := &dream.Record{Head: head(dream.KindRecord, "d3")}
	unclosed := &dream.Record{Head: head(dream.KindRecord, "d4"), Outcome: dream.Interrupted, Open: true}
	for _, n := range []*dream.Record{waits, over, goesOn, unclosed} {
		n.Dream = n.ID
		commit(t, s, memory.Write{Cause: n.ID, Add: []dream.Item{n}})
	}
	open := memory.Query{
		Kinds: []dream.Kind{dream.KindRecord}, States: []dream.State{dream.Live, dream.Archived},
		Statuses: []string{string(dream.Dreaming), dream.RecordWaits},
	}
	require.ElementsMatch(t, []string{"d1", "d3", "d4"}, ids(find(t, s, open)))
	undo(t, s, "d1")
	undo(t, s, "d2")
	undo(t, s, "d4")
	require.ElementsMatch(t, []string{"d1", "d3", "d4"}, ids(find(t, s, open)))
}
