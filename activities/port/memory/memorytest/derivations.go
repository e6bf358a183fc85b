package memorytest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

func made(dreamID, id string, from ...string) *dream.Gist {
	g := dreamt(dreamID, id)
	g.Sources = from
	return g
}

// derived lists what dreams made of items, which an erasure of the items alone leaves.
func derived(t *testing.T, s memory.Store, of ...string) []string {
	t.Helper()
	plan, err := memory.PlanErasure(t.Context(), s, echo, memory.Selection{IDs: of, ItemsOnly: true})
	require.NoError(t, err)
	return append([]string{}, ids(plan.Left)...)
}

// writeDerivations writes the memories "secret" and "plain", and what dreams made from them.
func writeDerivations(t *testing.T, s memory.DreamStore) {
	foretold := &dream.Prediction{Head: dreamt("d2", "foretold").Head, Claim: "it comes back", Fragment: "thought"}
	foretold.Kind = dream.KindPrediction
	own := &dream.Prediction{Head: head(dream.KindPrediction, "own"), Claim: "I say so", Episodes: []string{"secret"}}
	record := &dream.Record{Head: head(dream.KindRecord, "d1"), Outcome: dream.Completed, Insights: []string{"thought"}}
	record.Dream = "d1"
	changed := made("d3", "changed", "secret")
	add(t, s, episode("secret", "the key is under the stone"), episode("plain", "it rained"), record, own, foretold,
		changed,
		made("d1", "thought", "plain", "secret"), made("d1", "unnamed"), made("d2", "of a thought", "thought"),
		made("d2", "of the rain", "plain"),
		made("d4", "of the rain alone", "plain"), made("d4", "unnamed elsewhere"))
	retold := made("d3", "changed", "plain")
	retold.State = dream.Archived
	commit(t, s, memory.Write{Cause: "d3", Change: []dream.Item{retold}})
}

func derivedThroughStages(t *testing.T, s memory.Store) {
	writeDerivations(t, s)
	want := []string{"thought", "unnamed", "of a thought", "foretold", "changed"}
	require.ElementsMatch(t, want, derived(t, s, "secret"))
	require.ElementsMatch(t, []string{"of a thought", "foretold"}, derived(t, s, "thought"))
	require.ElementsMatch(t, append(want, "of the rain", "of the rain alone", "unnamed elsewhere"),
		derived(t, s, "secret", "plain"))
	require.Empty(t, derived(t, s, "nobody"))
	require.Empty(t, derived(t, s))
}

func derivedErased(t *testing.T, s memory.Store) {
	writeDerivations(t, s)
	removed := append([]string{"secret"}, derived(t, s, "secret")...)
	require.Equal(t, len(removed), forget(t, s, removed...))
	require.Empty(t, get(t, s, removed...))
	require.Empty(t, derived(t, s, removed...))
	left := find(t, s, memory.Query{States: []dream.State{dream.Live, dream.Archived}})
	require.ElementsMatch(t, []string{"plain", "own", "d1", "of the rain", "of the rain alone", "unnamed elsewhere"},
		ids(left))
	require.Empty(t, get(t, s, "d1")[0].(*dream.Record).Insights)
	require.Empty(t, get(t, s, "own")[0].(*dream.Prediction).Episodes)
}
