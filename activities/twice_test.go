package activities

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// A worker may die after it has staged and before it has said so: who does the deed again must answer the same.
func TestConsolidatingTwiceStagesAndTellsTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(6)
	o := r.spec(1, tonight)
	o.Knobs.MaxStaged = 2
	s := r.begin(o)
	f := r.fragment(o, s)
	r.model.say["hypotheses"] = `{"hypotheses":[{"claim":"Boats return at dusk.","first_step":"Look.","confidence":0.5,"sources":["r1"]},{"claim":"Gulls know it.","first_step":"Look.","confidence":0.5,"sources":["r1"]}]}`
	var told [][]Made
	for range 2 {
		result, err := (&Integration{Ports: r.ports}).Consolidate(context.Background(),
			ConsolidateRequest{StepRequest: step(s, .4), Items: []string{f.ID}})
		require.NoError(t, err)
		require.Empty(t, result.Reason)
		told = append(told, result.Made)
	}
	require.Len(t, told[0], 2)
	require.Equal(t, told[0], told[1])
	require.Len(t, r.find(s, dream.KindHypothesis), 2)
	require.Len(t, r.model.requests, 1)
}

// Ratings that nobody can read are no ratings: the best third is chosen by the composite, and the dream goes on with
// it.
func TestACaptureWhoseAnswerCannotBeReadChoosesByTheComposite(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, s, all := r.caged(nil, plain, cruel)
	r.model.say["ratings"] = "the boats came home"
	result := captureAll(t, r, s, all)
	require.Equal(t, []bool{true, false}, []bool{result.Made[0].Chosen, result.Made[1].Chosen})
	require.Equal(t, EndDone, result.End,
		"what a phase is told of an answer that could not be read is not what was made of it")
}

// What the policy bars promotes nothing; what stands beside it does.
func TestAFragmentIsPromotedByTheClaimThatWasStaged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, s, all := r.caged(forbidding(), plain)
	r.model.say["hypotheses"] = `{"hypotheses":[{"claim":"Borrow and lever ETH sixfold.","first_step":"Ask.","confidence":0.5,"sources":["r1"]},{"claim":"Boats return at dawn.","first_step":"Look.","confidence":0.5,"sources":["r1"]}]}`
	result, err := (&Integration{Ports: r.ports}).Consolidate(context.Background(),
		ConsolidateRequest{StepRequest: step(s, .4), Items: idsOf(all)})
	require.NoError(t, err)
	require.Len(t, result.Made, 1)
	f, err := memory.One[*dream.Fragment](context.Background(), r.store, "a", all[0].ID)
	require.NoError(t, err)
	require.Equal(t, dream.FragmentPromoted, f.Status)
	require.Equal(t, result.Made[0].ID, f.Hypothesis)
}
