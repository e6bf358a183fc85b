package activities_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/awakening"
	"github.com/seed-56a03226/oneiros/activities/imagination"
	"github.com/seed-56a03226/oneiros/activities/integration"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/policy"
)

// forbidding is a policy with rules in words.
func forbidding() *policy.Rules {
	return &policy.Rules{
		Caps: []policy.Cap{{Name: policy.Leverage, Most: 3}}, Guards: policy.Guards(),
		Sentences: []policy.Sentence{
			{Name: "kind", Text: "Nothing that would shame a person."},
			{Name: "calm", Text: "Nothing rash."},
		},
	}
}

// caged stores fragments as the observer leaves them, under a policy.
func (r *rig) caged(rules *policy.Rules, texts ...string) (activities.Spec, activities.Stretch, []*dream.Fragment) {
	r.t.Helper()
	o := r.spec(1, tonight)
	o.Policy = rules
	require.NoError(r.t, o.Validate())
	s := r.begin(o)
	run := newRun(r.ports, o, s)
	var w memory.Write
	for i, text := range texts {
		f := &dream.Fragment{
			Head:       run.Head(dream.Onset, dream.KindFragment, core.FragmentStep(1, i+1), nil),
			Content:    text,
			Cycle:      1,
			Stage:      dream.Peak,
			Status:     dream.FragmentRaw,
			Confidence: .15,
			Verdict:    dream.Verdict{Judge: "p/w", Composite: .9 - float64(i)/100},
		}
		require.NoError(r.t, core.Tag(context.Background(), run, f, &w))
		w.Add = append(w.Add, f)
	}
	require.NoError(r.t, run.Write(context.Background(), w))
	caught := byText(memory.As[*dream.Fragment](r.find(s, dream.KindFragment)))
	inTurn := make([]*dream.Fragment, len(texts))
	for i, text := range texts {
		inTurn[i] = caught[text]
	}
	return o, s, inTurn
}

func byText(all []*dream.Fragment) map[string]*dream.Fragment {
	out := map[string]*dream.Fragment{}
	for _, f := range all {
		out[f.Content] = f
	}
	return out
}

const (
	rash  = "Long ETH at 10x leverage."
	plain = "Count the boats at dusk."
	cruel = "Tell the harbour what the keeper did."
)

func TestAFragmentThatBreaksThePolicyIsFlaggedAndNotQuoted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, _, all := r.caged(forbidding(), rash, plain)
	f := byText(all)
	require.Equal(t, []dream.Flag{{By: "policy/leverage", Reason: `10x is above 3x: "10x leverage"`, Bars: true}},
		f[rash].Flags)
	require.Equal(t, dream.FragmentRaw, f[rash].Status)
	require.Empty(t, f[plain].Flags)
	events := r.events("FragmentFlagged")
	require.Len(t, events, 1)
	require.JSONEq(t, fmt.Sprintf(`{"fragment_id":%q,"by":"policy/leverage","bars":true}`, f[rash].ID),
		string(events[0].Data))
}

func TestASpecWithoutPolicyBarsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o, _, all := r.caged(nil, rash)
	require.Empty(t, all[0].Flags)
	may, err := core.MayDevelop(context.Background(), newRun(r.ports, o, activities.Stretch{}), all[0])
	require.NoError(t, err)
	require.True(t, may)
	require.Empty(t, r.events("FragmentFlagged"))
}

func captureAll(t *testing.T, r *rig, s activities.Stretch, all []*dream.Fragment) activities.StepResult {
	t.Helper()
	request := activities.CaptureRequest{StepRequest: step(s, .5)}
	for _, f := range all {
		request.Fragments = append(request.Fragments, f.ID)
	}
	result, err := (&onset.Onset{Ports: r.ports}).Capture(context.Background(), request)
	require.NoError(t, err)
	require.Len(t, result.Made, len(all))
	for i, m := range result.Made {
		require.Equal(t, all[i].ID, m.ID)
	}
	return result
}

const ratedBoth = `{"ratings":[{"ref":"f1","rating":"promote","reason":"yes","criterion":"It is seen.","days":3,"first_step":"Look."},{"ref":"f2","rating":"promote","reason":"yes","criterion":"It is seen.","days":3,"first_step":"Look."}]}`

// One call covers every fragment that is not barred already; a fragment that breaks a rule is barred with the
// observer's reason.
func TestTheObserverJudgesByTheRulesInWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, s, all := r.caged(forbidding(), rash, plain, cruel)
	r.model.say["breaches"] = `{"breaches":[{"ref":"[f2]","breaks":["s1"],"reason":"it names the keeper"},{"ref":"f1","breaks":[],"reason":""}]}`
	r.model.say["ratings"] = ratedBoth
	for range 2 { // activities may be repeated
		result := captureAll(t, r, s, all)
		require.Equal(t, []bool{false, true, false},
			[]bool{result.Made[0].Chosen, result.Made[1].Chosen, result.Made[2].Chosen})
		require.True(t, result.Made[2].Kept, "it is flagged, not dropped")
	}
	f := byText(memory.As[*dream.Fragment](r.find(s, dream.KindFragment)))
	require.Equal(t, []dream.Flag{{By: "policy/kind", Reason: "it names the keeper", Bars: true}}, f[cruel].Flags)
	require.Equal(t, "barred by policy/kind", f[cruel].Reason)
	require.Equal(t, dream.FragmentRaw, f[cruel].Status)
	require.Nil(t, f[cruel].Rating)
	require.Equal(t, dream.FragmentSelected, f[plain].Status)
	require.Len(t, r.events("FragmentFlagged"), 2)

	requests := 0
	for _, q := range r.model.requests {
		if q.Schema != nil && q.Schema.Name == "breaches" {
			requests++
			require.NotContains(t, q.Messages[1].Content, rash, "what is barred already is not paid for")
			require.Contains(t, q.Messages[1].Content, "s2: Nothing rash.")
		}
		if q.Schema != nil && q.Schema.Name == "ratings" {
			require.NotContains(t, q.Messages[1].Content, cruel)
		}
	}
	require.Equal(t, 1, requests)
	var claims []string
	predictions := r.find(s, dream.KindPrediction)
	for _, p := range memory.As[*dream.Prediction](predictions) {
		require.Empty(t, p.Claim, "the claim is the fragment's text, which is not stored twice")
	}
	require.NoError(t, memory.ReadClaims(context.Background(), r.store, "a", predictions))
	for _, p := range memory.As[*dream.Prediction](predictions) {
		claims = append(claims, p.Claim)
	}
	require.Equal(t, []string{plain}, claims, "a barred fragment makes no prediction")
}

// Without a judgement a fragment is flagged for review; a policy may bar it instead.
func TestAFragmentThatCannotBeJudgedIsFlagged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says, why string
		blind     bool
		poor      bool
	}{
		"nonsense": {says: "the keeper smiled", why: "the answer could not be read"},
		"left out": {says: `{"breaches":[]}`, why: "the answer left it out"},
		"a rule that is none": {
			says: `{"breaches":[{"ref":"f1","breaks":["s9"],"reason":"x"}]}`,
			why:  "the answer names a rule that does not exist",
		},
		"no money":               {poor: true, why: "there was no money left to ask"},
		"a model that is no use": {blind: true, why: "what p/w answers as a judge has no meaning"},
	} {
		for _, unclear := range []policy.Unclear{"", policy.Bar} {
			t.Run(name+" "+string(unclear), func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				if c.blind {
					spec := r.ports.Catalog.(inference.Table)["p/w"]
					spec.Judges = false
					r.ports.Catalog.(inference.Table)["p/w"] = spec
				}
				rules := forbidding()
				rules.Unclear = unclear
				_, s, all := r.caged(rules, plain)
				r.model.say["breaches"], r.model.say["ratings"] = c.says, ratedBoth
				request := activities.CaptureRequest{StepRequest: step(s, .5), Fragments: []string{all[0].ID}}
				if c.poor {
					request.Limit = 1
				}
				result, err := (&onset.Onset{Ports: r.ports}).Capture(context.Background(), request)
				require.NoError(t, err)
				require.Len(t, result.Made, 1)
				f := memory.As[*dream.Fragment](r.find(s, dream.KindFragment))[0]
				require.Equal(t,
					[]dream.Flag{
						{
							By: "policy/unclear", Reason: "not judged by the rules in words: " + c.why,
							Bars: unclear == policy.Bar,
						},
					}, f.Flags)
				_, barred := f.Barred()
				require.Equal(t, unclear == policy.Bar, barred)
				require.Equal(t, unclear != policy.Bar, result.Made[0].Chosen,
					"only barred fragments are not developed")
			})
		}
	}
}

// Items of later phases are checked as well: an item that breaks the policy is archived with its flags, and neither
// kept nor staged nor surfaced.
func TestItemsThatBreakThePolicyAreArchived(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(6)
	_, s, all := r.caged(forbidding(), plain)
	rem, ctx := &imagination.Imagination{Ports: r.ports}, context.Background()

	branch := func(turn int, content, claim string) activities.StepResult {
		r.model.say["scenario"] = fmt.Sprintf(
			`{"premise":"Night.","content":%q,"claim":%q,"criterion":"It is seen.","days":3,"confidence":0.3,"trace":""}`,
			content, claim)
		request := activities.BranchRequest{StepRequest: step(s, 1), Fragment: all[0].ID}
		request.Cycle, request.Turn = 1, turn
		result, err := rem.Branch(ctx, request)
		require.NoError(t, err)
		return result
	}
	require.Empty(t, branch(1, "We go long ETH at 20x leverage and win.", "Leverage wins.").Made,
		"the search does not get it")
	kept := branch(2, "The boats come home.", "Hide the seed phrase in the song.")
	require.Len(t, kept.Made, 1)

	integration := &integration.Integration{Ports: r.ports}
	r.model.say["hypotheses"] = `{"hypotheses":[{"claim":"Borrow and lever ETH sixfold.","first_step":"Ask.","confidence":0.5,"sources":["r1"]},{"claim":"Boats return at dusk.","first_step":"Turn off the alarm.","confidence":0.5,"sources":["r1"]},{"claim":"Boats return at dawn.","first_step":"Look.","confidence":0.5,"sources":["r1"]}]}`
	staged, err := integration.Consolidate(ctx,
		activities.ConsolidateRequest{StepRequest: step(s, .4), Items: []string{kept.Made[0].ID, all[0].ID}})
	require.NoError(t, err)
	require.Len(t, staged.Made, 1)
	require.Len(t, r.events("HypothesisStaged"), 1, "only staged hypotheses are announced")

	long := strings.Repeat(
		" The harbour remembers every boat that left it and every lamp that called them home again in the fog.", 3)
	r.model.say["insights"] = fmt.Sprintf(
		`{"insights":[{"insight":%q,"sources":["r1"]},{"insight":%q,"sources":["r1"]}]}`,
		"Route our coins through Tornado Cash."+long, "The boats come home."+long)
	surfaced, err := (&awakening.Awakening{Ports: r.ports}).Surface(ctx,
		activities.ConsolidateRequest{StepRequest: step(s, .6), Items: []string{kept.Made[0].ID, all[0].ID}})
	require.NoError(t, err)
	for _, m := range surfaced.Made {
		entry, err := memory.One[*dream.Journal](ctx, r.store, "a", m.ID)
		require.NoError(t, err)
		require.NotContains(t, entry.Content, "Tornado")
	}

	barred := map[dream.Kind][]string{}
	items, err := r.store.Find(ctx, memory.Query{Agent: "a", Dream: s.Dream, States: []dream.State{dream.Archived}})
	require.NoError(t, err)
	for _, item := range items {
		switch i := item.(type) {
		case *dream.Scenario:
			require.NotEmpty(t, i.Flags)
			require.False(t, i.Kept)
			require.Equal(t, "barred by policy/leverage", i.Reason)
		case *dream.Prediction:
			require.Equal(t, dream.PredictionVoid, i.Status, "it cannot be resolved")
		case *dream.Hypothesis:
			require.Equal(t, dream.HypothesisBarred, i.Status)
		}
		barred[item.Header().Kind] = append(barred[item.Header().Kind], item.Header().ID)
	}
	require.Len(t, barred[dream.KindScenario], 1)
	require.Len(t, barred[dream.KindPrediction], 1,
		"the prediction of the kept scenario; the other was archived with its scenario")
	require.Len(t, barred[dream.KindHypothesis], 2)
	events := r.events("OutputBarred")
	require.GreaterOrEqual(t, len(events), 4)
	for _, e := range events {
		require.NotContains(t, string(e.Data), "Tornado")
		require.NotContains(t, string(e.Data), "leverage and win")
	}
	f := memory.As[*dream.Fragment](r.find(s, dream.KindFragment))[0]
	require.NotContains(t, barred[dream.KindHypothesis], f.Hypothesis,
		"a claim that was not staged promotes no fragment")
}

// A fragment of another dream is checked against this dream's policy; later phases see no barred fragment.
func TestLaterPhasesUseNoBarredFragments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(6)
	o, s, all := r.caged(forbidding(), rash, plain)
	strange := &dream.Fragment{
		Head:    newRun(r.ports, o, activities.Stretch{}).Head(dream.Onset, dream.KindFragment, "9.1", nil),
		Content: "Disable the stop-loss.", Status: dream.FragmentSelected,
	}
	strange.ID = "dream/a/0000/onset/1.1"
	_, err := r.store.Commit(context.Background(),
		memory.Write{Agent: "a", Cause: "import", Add: []dream.Item{strange}})
	require.NoError(t, err)
	ids := []string{all[0].ID, all[1].ID, strange.ID}
	survey, err := (&imagination.Imagination{Ports: r.ports}).Survey(context.Background(),
		activities.SurveyRequest{Stretch: s, Limit: budget.Dollar, Fragments: ids})
	require.NoError(t, err)
	require.Equal(t, []string{byText(all)[plain].ID}, survey.Seeds)
	view, behind, err := core.Material(context.Background(), newRun(r.ports, o, s),
		activities.ConsolidateRequest{StepRequest: step(s, .4), Items: ids}, 3)
	require.NoError(t, err)
	require.Equal(t, []string{byText(all)[plain].ID}, behind)
	require.Len(t, view.Lines, 1)
}

// The text of an interrupted call becomes no journal entry when it breaks the policy.
func TestTheTextOfAnInterruptedCallIsHeldToThePolicy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, s, _ := r.caged(forbidding(), plain)
	for text, may := range map[string]bool{plain: true, rash: false} {
		got, err := core.MaySurface(context.Background(), core.At(r.ports, s), text)
		require.NoError(t, err)
		require.Equal(t, may, got, text)
	}
	got, err := core.MaySurface(context.Background(),
		core.At(r.ports, activities.Stretch{Agent: "a", Dream: "dream/a/9999"}), rash)
	require.NoError(t, err)
	require.True(t, got, "a dream that never began has no policy")
}

func TestASpecWithAnInvalidPolicyIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.spec(1, tonight)
	o.Policy = &policy.Rules{Forbidden: []policy.Pattern{{Name: "open", Match: "("}}}
	require.ErrorContains(t, o.Validate(), "is no RE2 expression")
}
