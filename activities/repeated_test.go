package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/integration"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// A worker may die after staging and before reporting it: the repetition must return the same.
func TestConsolidatingTwiceStagesAndReturnsTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(6)
	o := r.spec(1, tonight)
	o.Knobs.MaxStaged = 2
	s := r.begin(o)
	f := r.fragment(o, s)
	r.model.say["hypotheses"] = `{"hypotheses":[{"claim":"Boats return at dusk.","first_step":"Look.","confidence":0.5,"sources":["r1"]},{"claim":"Gulls know it.","first_step":"Look.","confidence":0.5,"sources":["r1"]}]}`
	var results [][]activities.MadeItem
	for range 2 {
		result, err := (&integration.Integration{Ports: r.ports}).Consolidate(context.Background(),
			activities.ConsolidateRequest{StepRequest: step(s, .4), Items: []string{f.ID}})
		require.NoError(t, err)
		require.Empty(t, result.Reason)
		results = append(results, result.Made)
	}
	require.Len(t, results[0], 2)
	require.Equal(t, results[0], results[1])
	require.Len(t, r.find(s, dream.KindHypothesis), 2)
	require.Len(t, r.model.requests, 1)
}

// Without readable ratings the best third is chosen by the composite, and the dream continues with it.
func TestACaptureWhoseAnswerCannotBeReadChoosesByTheComposite(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, s, all := r.caged(nil, plain, cruel)
	r.model.say["ratings"] = "the boats came home"
	result := captureAll(t, r, s, all)
	require.Equal(t, []bool{true, false}, []bool{result.Made[0].Chosen, result.Made[1].Chosen})
	require.Equal(t, activities.EndDone, result.End,
		"the result is not that of an unreadable answer")
}

// A barred claim promotes nothing; a claim beside it does.
func TestAFragmentIsPromotedByTheClaimThatWasStaged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, s, all := r.caged(forbidding(), plain)
	r.model.say["hypotheses"] = `{"hypotheses":[{"claim":"Borrow and lever ETH sixfold.","first_step":"Ask.","confidence":0.5,"sources":["r1"]},{"claim":"Boats return at dawn.","first_step":"Look.","confidence":0.5,"sources":["r1"]}]}`
	result, err := (&integration.Integration{Ports: r.ports}).Consolidate(context.Background(),
		activities.ConsolidateRequest{StepRequest: step(s, .4), Items: core.IdsOf(all)})
	require.NoError(t, err)
	require.Len(t, result.Made, 1)
	f, err := memory.One[*dream.Fragment](context.Background(), r.store, "a", all[0].ID)
	require.NoError(t, err)
	require.Equal(t, dream.FragmentPromoted, f.Status)
	require.Equal(t, result.Made[0].ID, f.Hypothesis)
}
