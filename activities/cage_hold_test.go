package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/imagination"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/policy"
)

// broken fails the calls of one schema.
type broken struct {
	inference.Model
	schema string
	with   error
}

func (b *broken) Generate(ctx context.Context, r inference.Request, token func(string) bool) (inference.Answer, error) {
	if r.Schema != nil && r.Schema.Name == b.schema {
		return inference.Answer{}, b.with
	}
	return b.Model.Generate(ctx, r, token)
}

func (r *rig) breaks(schema string) {
	p := r.ports.Guard
	model := &broken{p.Model, schema, &inference.Failure{Kind: inference.Broken, Message: "no"}}
	r.ports.Guard = &spend.Guard{Ledger: p.Ledger, Model: model, Catalog: p.Catalog, Now: p.Now}
}

func (r *rig) seeds(t *testing.T, s activities.Stretch, all []*dream.Fragment) []string {
	t.Helper()
	survey, err := (&imagination.Imagination{Ports: r.ports}).Survey(context.Background(),
		activities.SurveyRequest{Stretch: s, Limit: budget.Dollar, Fragments: core.IdsOf(all)})
	require.NoError(t, err)
	return survey.Seeds
}

// A lucid capture that fails after the rules in words were applied has paid for that answer, so its result counts.
func TestFragmentsBarredByRulesInWordsStayBarredAfterAFailedCapture(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, s, all := r.caged(forbidding(), plain, cruel)
	r.model.say["breaches"] = `{"breaches":[{"ref":"f1","breaks":[],"reason":""},{"ref":"f2","breaks":["s1"],"reason":"it names the keeper"}]}`
	r.breaks("ratings")
	request := activities.CaptureRequest{StepRequest: step(s, .5), Fragments: core.IdsOf(all)}
	_, err := (&onset.Onset{Ports: r.ports}).Capture(context.Background(), request)
	require.Error(t, err)
	for range 2 {
		held, err := (&onset.Onset{Ports: r.ports}).CheckPolicy(context.Background(), request)
		require.NoError(t, err)
		require.Equal(t, []bool{true, true}, []bool{held.Made[0].Kept, held.Made[1].Kept}, "nothing is dropped")
		require.Equal(t, []bool{false, false}, []bool{held.Made[0].Chosen, held.Made[1].Chosen}, "nothing is rated")
	}
	require.Equal(t, []string{all[0].ID}, r.seeds(t, s, all))
	requests := 0
	for _, q := range r.model.requests {
		if q.Schema != nil && q.Schema.Name == "breaches" {
			requests++
		}
	}
	require.Equal(t, 1, requests, "it is not paid for twice")
	require.Len(t, r.events("FragmentFlagged"), 1)
}

func TestFragmentsWithoutAJudgementAreUnclear(t *testing.T) {
	t.Parallel()
	for _, way := range []policy.Unclear{policy.Flag, policy.Bar} {
		r := newRig(t)
		rules := forbidding()
		rules.Unclear = way
		_, s, all := r.caged(rules, plain)
		r.breaks("breaches")
		_, err := (&onset.Onset{Ports: r.ports}).CheckPolicy(context.Background(),
			activities.CaptureRequest{StepRequest: step(s, .5), Fragments: core.IdsOf(all)})
		require.NoError(t, err)
		f := memory.As[*dream.Fragment](r.find(s, dream.KindFragment))[0]
		require.Equal(t,
			[]dream.Flag{
				{
					By: "policy/unclear", Reason: "not judged by the rules in words: nobody answered",
					Bars: way == policy.Bar,
				},
			}, f.Flags)
		require.Equal(t, way == policy.Flag, len(r.seeds(t, s, all)) == 1)
	}
}

// A policy that bars unclear fragments bars those that were never judged, on every way to a later phase.
func TestUnderAStrictPolicyNothingUnjudgedIsDeveloped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rules := forbidding()
	rules.Unclear = policy.Bar
	o, s, all := r.caged(rules, plain)
	require.Empty(t, r.seeds(t, s, all))
	_, behind, err := core.Material(context.Background(), newRun(r.ports, o, s),
		activities.ConsolidateRequest{StepRequest: step(s, .4), Items: core.IdsOf(all)}, 3)
	require.NoError(t, err)
	require.Empty(t, behind)

	r.model.say["breaches"], r.model.say["ratings"] = `{"breaches":[{"ref":"f1","breaks":[],"reason":""}]}`, ratedBoth
	require.True(t, captureAll(t, r, s, all).Made[0].Chosen)
	require.Equal(t, []string{all[0].ID}, r.seeds(t, s, all))
	kept, err := memory.One[*dream.Fragment](context.Background(), r.store, "a", all[0].ID)
	require.NoError(t, err)
	o.Policy.Sentences = append(o.Policy.Sentences, policy.Sentence{Name: "late", Text: "Nothing new."})
	may, err := core.MayDevelop(context.Background(), newRun(r.ports, o, s), kept)
	require.NoError(t, err)
	require.False(t, may, "it was judged by other rules")
}
