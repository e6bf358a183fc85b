package memorytest

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

var forgettings = []clause{
	{"ForgetErasesItemRevisionsAndVector", forgetErases},
	{"ForgetScrubsWhatWasMadeFromTheItem", forgetScrubs},
	{"WhatIsForgottenMayBeLearntAgain", learntAgain},
	{"ForgettingsAreCounted", forgettingsCounted},
	{"WhatCutCallsHadSaidGoesWithWhatTheirPromptsShowed", lateNotesGo},
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
	require.Equal(t, memory.Undone{}, undo(t, s, "operator"))
}

func forgetScrubs(t *testing.T, s memory.Store) {
	made := dreamt("d1", "g")
	made.Sources, made.NewerID = []string{"a", "secret", "b"}, "secret"
	foretold := &dream.Prediction{Head: head(dream.KindPrediction, "p"), Claim: "secret", Episodes: []string{"secret"}, Fragment: "secret", Session: "secret"}
	foretold.Sources = []string{"secret"}
	imagined := &dream.Scenario{Head: head(dream.KindScenario, "i"), Parents: []string{"secret", "a"}, Seeds: []string{"secret"}}
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
	require.Equal(t, "secret", p.Claim) // a reference is scrubbed; what is merely written is the item's own
}

func learntAgain(t *testing.T, s memory.Store) {
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
	require.Zero(t, times(), "an agent that never forgot")
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
	for key, value := range map[string][]byte{"pool": body, memory.LateNote + "1": []byte("x, it said"), memory.LateNote + "2": {}} {
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
