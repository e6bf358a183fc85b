package memorytest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

var forgettings = []clause[memory.Store]{
	{"ForgetErasesItemRevisionsAndVector", forgetErases},
	{"ForgetRemovesTheItemFromReferences", forgetScrubs},
	{"AForgottenItemMayBeAddedAgain", addedAgain},
	{"ForgettingsAreCounted", forgettingsCounted},
	{"LateNotesAreDeletedWithTheItemsThatTheirPromptsShowed", lateNotesGo},
	{"AnErasureScrubsEveryRevisionOfWhatStays", erasureScrubs},
	{"AScrubbedItemIsSortedByItsNewText", scrubbedIsPlacedAnew},
	{"AnErasureScrubsNotes", erasureScrubsNotes},
	{"RemainsOfAnErasedItemAreDeleted", remainsAreDeleted},
	{"AnInterruptedForgettingIsCompleted", forgettingCarriedOut},
	{"DerivedTextsAreFoundThroughOtherTexts", derivedThroughStages},
	{"DerivedTextsAreErasedWithTheMemory", derivedErased},
	{"ReplacedRevisionsAreForgottenWithTheItem", replacedIsForgotten},
}

// forgets forgets items if the store can, and reports whether it can.
func forgets(t *testing.T, s memory.DreamStore, ids ...string) bool {
	t.Helper()
	eraser, ok := s.(memory.Eraser)
	if ok {
		_, err := eraser.Forget(t.Context(), echo, ids...)
		require.NoError(t, err)
	}
	return ok
}

func forget(t *testing.T, s memory.Store, ids ...string) int {
	t.Helper()
	n, err := s.Forget(t.Context(), echo, ids...)
	require.NoError(t, err)
	return n
}

func forgetErases(t *testing.T, s memory.Store) {
	add(t, s, semantic("s", "tides"), semantic("s2", "glass"))
	commit(t, s, memory.Write{Cause: "operator", Change: []dream.Item{faded(semantic("s", "tides"))}})
	commit(t, s, memory.Write{
		Cause: "operator", Change: []dream.Item{semantic("s", "tides")},
		Vectors: []memory.Vector{vector("s", 1, 0), vector("s2", 0, 1)},
	})
	require.Equal(t, []string{"s", "s2"}, near(t, s, []float32{1, 0}, 9))
	require.Equal(t, 1, forget(t, s, "s", "nobody", "s"))
	require.Zero(t, forget(t, s, "s"))
	require.Empty(t, get(t, s, "s"))
	require.Equal(t, []string{"s2"}, ids(find(t, s, memory.Query{})))
	require.Equal(t, []string{"s2"}, near(t, s, []float32{1, 0}, 9))
	_, err := s.Revisions(t.Context(), echo, "s")
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.Equal(t, memory.UndoResult{}, undo(t, s, "operator"))
}

func forgetScrubs(t *testing.T, s memory.Store) {
	made := dreamt("d1", "g")
	made.Sources, made.NewerID = []string{"a", "secret", "b"}, "secret"
	foretold := &dream.Prediction{
		Head:     head(dream.KindPrediction, "p"),
		Claim:    "secret",
		Episodes: []string{"secret"},
		Fragment: "secret",
		Session:  "secret",
	}
	foretold.Sources = []string{"secret"}
	imagined := &dream.Scenario{
		Head: head(dream.KindScenario, "i"), Parents: []string{"secret", "a"},
		Seeds: []string{"secret"},
	}
	promoted := hypothesis("h", "a claim", .5)
	promoted.Confirmed, promoted.Contradicted = []string{"secret"}, []string{"secret", "b"}
	add(t, s, episode("secret", "x"), made, foretold, imagined, promoted)
	changed := *made
	changed.Content = "second telling"
	commit(t, s, memory.Write{Cause: "d1", Change: []dream.Item{&changed}})
	require.Equal(t, 1, forget(t, s, "secret"))
	revisions, err := s.Revisions(t.Context(), echo, "g")
	require.NoError(t, err)
	require.Len(t, revisions, 2)
	for _, r := range revisions {
		require.Equal(t, []string{"a", "b"}, r.Item.Header().Sources)
		require.Empty(t, r.Item.Header().NewerID)
	}
	p := get(t, s, "p")[0].(*dream.Prediction)
	require.Empty(t, p.Sources)
	require.Empty(t, p.Episodes)
	require.Empty(t, p.Fragment)
	require.Equal(t, []string{"a"}, get(t, s, "i")[0].(*dream.Scenario).Parents)
	require.Empty(t, get(t, s, "i")[0].(*dream.Scenario).Seeds)
	require.Empty(t, get(t, s, "h")[0].(*dream.Hypothesis).Confirmed)
	require.Equal(t, []string{"b"}, get(t, s, "h")[0].(*dream.Hypothesis).Contradicted)
	require.Equal(t, "secret", p.Claim) // references are scrubbed; text stays as it was written
}

func addedAgain(t *testing.T, s memory.Store) {
	add(t, s, episode("e", "x"))
	commit(t, s, memory.Write{Vectors: []memory.Vector{vector("e", 1, 0)}})
	require.Equal(t, []string{"e"}, near(t, s, []float32{1, 0}, 9))
	forget(t, s, "e")
	require.Empty(t, near(t, s, []float32{1, 0}, 9))
	add(t, s, episode("e", "again"))
	require.Empty(t, near(t, s, []float32{1, 0}, 9))
	commit(t, s, memory.Write{Vectors: []memory.Vector{vector("e", 1, 0)}})
	require.Equal(t, []string{"e"}, near(t, s, []float32{1, 0}, 9))
	revisions, err := s.Revisions(t.Context(), echo, "e")
	require.NoError(t, err)
	require.Len(t, revisions, 1)
}

func forgettingsCounted(t *testing.T, s memory.Store) {
	times := func() int64 {
		n, err := s.Forgettings(t.Context(), echo)
		require.NoError(t, err)
		return n
	}
	require.Zero(t, times(), "an agent without forgettings")
	add(t, s, semantic("s", "tides"))
	before := times()
	forget(t, s, "s")
	require.Greater(t, times(), before)
}

func lateNotesGo(t *testing.T, s memory.Store) {
	add(t, s, episode(`a "quoted" <name>`, "x"), episode("other", "y"))
	f := sleep(t, s, "d1")
	body, err := json.Marshal([]string{"before", `a "quoted" <name>`})
	require.NoError(t, err)
	for key, value := range map[string][]byte{
		"pool": body, memory.LateNote + "1": []byte("x, it said"),
		memory.LateNote + "2": {},
	} {
		_, err := s.PutNote(t.Context(), echo, f, key, value)
		require.NoError(t, err)
	}
	notes := func() []string {
		all, err := s.Notes(t.Context(), echo, "d1", "")
		require.NoError(t, err)
		return slices.Sorted(maps.Keys(all))
	}
	forget(t, s, "other")
	require.Len(t, notes(), 3)
	forget(t, s, `a "quoted" <name>`)
	require.Equal(t, []string{"pool"}, notes())
}

// censor removes one word from texts.
type censor string

func (c censor) Scrub(_ dream.Kind, body []byte) ([]byte, bool, error) {
	after, changed := c.Note(body)
	return after, changed, nil
}

func (c censor) Note(value []byte) ([]byte, bool) {
	return bytes.ReplaceAll(value, []byte(c), []byte("gone")), c.Holds(value)
}

func (c censor) Holds(value []byte) bool { return bytes.Contains(value, []byte(c)) }

func erase(t *testing.T, s memory.Store, e memory.Erasure) memory.EraseResult {
	t.Helper()
	done, err := s.Erase(t.Context(), echo, e)
	require.NoError(t, err)
	return done
}

func erasureScrubs(t *testing.T, s memory.Store) {
	add(t, s, episode("e", "the secret is out"), episode("f", "another secret"), semantic("s", "a secret lesson"),
		semantic("p", "plain"))
	lesson := semantic("s", "a second secret lesson")
	commit(t, s, memory.Write{Cause: "operator", Change: []dream.Item{lesson}})
	last := semantic("s", "a third lesson")
	commit(t, s, memory.Write{
		Cause: "operator", Change: []dream.Item{last},
		Vectors: []memory.Vector{vector("s", 1, 0), vector("f", 0, 1), vector("p", 1, 1)},
	})
	before, err := s.Forgettings(t.Context(), echo)
	require.NoError(t, err)
	done := erase(t, s,
		memory.Erasure{IDs: []string{"e"}, Scrub: []string{"s", "f", "p", "nobody"}, Words: censor("secret")})
	require.Equal(t, memory.EraseResult{Items: 1, Scrubbed: 2}, done)
	after, err := s.Forgettings(t.Context(), echo)
	require.NoError(t, err)
	require.Greater(t, after, before)
	revisions, err := s.Revisions(t.Context(), echo, "s")
	require.NoError(t, err)
	texts := []string{}
	for i, r := range revisions {
		require.Equal(t, i+1, r.Number)
		texts = append(texts, r.Item.Text())
	}
	require.Equal(t, []string{"a gone lesson", "a second gone lesson", "a third lesson"}, texts)
	require.Equal(t, "operator", revisions[2].Cause)
	require.Equal(t, "another gone", get(t, s, "f")[0].Text())
	require.ElementsMatch(t, []string{"s", "p"}, near(t, s, []float32{1, 0}, 9),
		"the vector of the old text is deleted")
	bare, err := s.WithoutVector(t.Context(), echo, space, nil, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"f"}, ids(bare))
}

func scrubbedIsPlacedAnew(t *testing.T, s memory.Store) {
	for _, each := range []struct{ id, text string }{{"a", "secret first"}, {"b", "middle"}, {"c", "zebra"}} {
		e := episode(each.id, each.text)
		e.At = dawn
		add(t, s, e)
	}
	commit(t, s, memory.Write{Vectors: []memory.Vector{vector("a", 1, 0)}})
	require.NoError(t, s.Collect(t.Context(), echo, []memory.Vector{{Item: "a", Space: "elsewhere", V: []float32{1}}}))
	require.Equal(t, []string{"b", "a", "c"}, ids(find(t, s, memory.Query{})), "ties break by text")
	erase(t, s, memory.Erasure{Scrub: []string{"a"}, Words: censor("secret")})
	require.Equal(t, []string{"a", "b", "c"}, ids(find(t, s, memory.Query{})))
	require.Empty(t, near(t, s, []float32{1, 0}, 9))
	spaces, err := s.Spaces(t.Context(), echo)
	require.NoError(t, err)
	require.Empty(t, spaces)
	n, err := s.Count(t.Context(), memory.Query{Agent: echo})
	require.NoError(t, err)
	require.Equal(t, 3, n)
	changed := episode("a", "secret again")
	changed.At = dawn
	require.Equal(t, 1,
		commit(t, s, memory.Write{Change: []dream.Item{changed}, Vectors: []memory.Vector{vector("a", 1, 0)}}).Changed)
	require.Equal(t, []string{"b", "a", "c"}, ids(find(t, s, memory.Query{})))
	require.Equal(t, []string{"a"}, near(t, s, []float32{1, 0}, 9))
}

func erasureScrubsNotes(t *testing.T, s memory.Store) {
	add(t, s, episode("e", "x"))
	f := sleep(t, s, "d1")
	for key, value := range map[string]string{
		"draft": "the secret", "plain": "nothing", memory.LateNote + "1": "a secret was",
		memory.LateNote + "2": "nothing",
	} {
		_, err := s.PutNote(t.Context(), echo, f, key, []byte(value))
		require.NoError(t, err)
	}
	erase(t, s, memory.Erasure{IDs: []string{"e"}, Words: censor("secret")})
	notes, err := s.Notes(t.Context(), echo, "d1", "")
	require.NoError(t, err)
	require.Equal(t,
		map[string][]byte{
			"draft": []byte("the gone"), "plain": []byte("nothing"),
			memory.LateNote + "2": []byte("nothing"),
		}, notes)
}

func remainsAreDeleted(t *testing.T, s memory.Store) {
	add(t, s, episode("a", "x"), made("d1", "g", "secret", "a"))
	f := sleep(t, s, "d2")
	for key, value := range map[string]string{"pool": `["secret"]`, memory.LateNote + "1": "what it had said"} {
		_, err := s.PutNote(t.Context(), echo, f, key, []byte(value))
		require.NoError(t, err)
	}
	require.Equal(t, memory.EraseResult{}, erase(t, s, memory.Erasure{IDs: []string{"secret"}}))
	require.Equal(t, []string{"a"}, get(t, s, "g")[0].Header().Sources)
	notes, err := s.Notes(t.Context(), echo, "d2", memory.LateNote)
	require.NoError(t, err)
	require.Empty(t, notes)
	require.Equal(t, memory.EraseResult{}, erase(t, s, memory.Erasure{}), "an empty erasure does nothing")
}

func forgettingCarriedOut(t *testing.T, s memory.Store) {
	const answer = "Quorvelant Bistram hides the brass key under the third flowerpot"
	talk := episode("e", answer)
	talk.Origin, talk.Session = "talk/key1/anna", "s1"
	reply := episode("r", "Noted: Quorvelant Bistram hides the brass key there.")
	reply.Taint, reply.Session = dream.FromAgent, "s1"
	next := episode("n", "It rained all day in the harbour.")
	next.Context, next.Derived = "Anna had just said: “"+answer+"”", []string{"context"}
	lesson := semantic("k", "It was noted: “"+answer+"”")
	lesson.Derived, lesson.Sources = []string{"content"}, []string{"e"}
	thought := made("d1", "g", "n")
	thought.Content = "A harbour where Quorvelant waits for rain, all day long"
	rain := made("d2", "plain", "n")
	rain.Content = "rain over the harbour"
	add(t, s, talk, reply, next, lesson, thought, rain)
	sel := memory.Selection{User: "anna"}
	plan, err := memory.PlanErasure(t.Context(), s, echo, sel)
	require.NoError(t, err)
	done, err := memory.ForgetAll(t.Context(), s, echo, plan)
	require.NoError(t, err)
	require.Equal(t, 2, done.Items)
	left := find(t, s, memory.Query{States: dream.States})
	require.ElementsMatch(t, []string{"r", "n", "g", "plain"}, ids(left))
	body, err := json.Marshal(left)
	require.NoError(t, err)
	for _, word := range []string{"Quorvelant", "Bistram", "brass", "flowerpot"} {
		require.NotContains(t, string(body), word)
	}
	require.Equal(t, "rain over the harbour", get(t, s, "plain")[0].Text())
	require.Contains(t, get(t, s, "g")[0].Text(), "A harbour where [forgotten] waits for rain")
	again, err := memory.PlanErasure(t.Context(), s, echo, memory.Selection{IDs: []string{"e"}})
	require.NoError(t, err)
	require.Equal(t, []string{"e"}, again.Absent)
	_, err = memory.CarryOut(t.Context(), s, echo, again)
	require.NoError(t, err)
}
