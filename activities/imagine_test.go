package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/imagination"
	"github.com/seed-56a03226/oneiros/activities/integration"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// imagining is a rig for REM activities.
func imagining(t *testing.T) (*rig, activities.Spec, activities.Stretch, *imagination.Imagination) {
	t.Helper()
	r := newRig(t)
	r.live(10)
	o := r.spec(1, tonight)
	s := r.begin(o)
	return r, o, s, &imagination.Imagination{Ports: r.ports}
}

func (r *rig) answersScenario(content string) {
	r.model.say["scenario"] = fmt.Sprintf(
		`{"premise":"suppose","content":%q,"claim":%q,"criterion":"a clock","days":3,"confidence":0.9,"trace":"t"}`,
		content, "the tide is late: "+content)
}

// A claim is foretold once; a hypothesis on a scenario that repeats it rests on the prediction that says so.
func TestWhatIsForetoldAlreadyIsNotForetoldAgain(t *testing.T) {
	t.Parallel()
	r, _, s, m := imagining(t)
	ctx := context.Background()
	var made []string
	for turn, claim := range []string{
		"The vane  turns.", "the vane turns.", "the vane stands still.", "a vane, again", "in other words",
	} {
		criterion := "a clock"
		if turn >= 3 {
			criterion = "a new memory names the vane."
		}
		r.model.say["scenario"] = fmt.Sprintf(
			`{"premise":"p","content":"scenario %d","claim":%q,"criterion":%q,"days":3,"confidence":0.3,"trace":"t"}`,
			turn, claim, criterion)
		result, err := m.Branch(ctx, activities.BranchRequest{StepRequest: round(s, 1, turn+1)})
		require.NoError(t, err)
		made = append(made, result.Made[0].ID)
	}
	foretold := func(i int) string { return r.scenario(made[i]).Foretold }
	require.Equal(t, []string{"", made[0] + "/p", "", "", made[3] + "/p"},
		[]string{foretold(0), foretold(1), foretold(2), foretold(3), foretold(4)})
	require.Len(t, r.find(s, dream.KindPrediction), 3)

	r.model.say["hypotheses"] = `{"hypotheses":[{"claim":"Vanes turn.","first_step":"Look.","confidence":0.5,"sources":["r1"]}]}`
	staged, err := (&integration.Integration{Ports: r.ports}).Consolidate(ctx,
		activities.ConsolidateRequest{StepRequest: step(s, .4), Items: []string{made[1]}})
	require.NoError(t, err)
	h, err := memory.One[*dream.Hypothesis](ctx, r.store, "a", staged.Made[0].ID)
	require.NoError(t, err)
	require.Equal(t, []string{made[1], made[0] + "/p"}, h.Sources)
}

// weighs lets the judge answer these values for s1, s2, …, each for all three parts.
func (r *rig) weighs(parts ...float64) {
	var lines []string
	for i, p := range parts {
		lines = append(lines,
			fmt.Sprintf(`{"ref":"[s%d]","novelty":%v,"plausible":%v,"matters":%v,"reason":"because"}`, i+1, p, p, p))
	}
	r.model.say["scores"] = `{"scores":[` + strings.Join(lines, ",") + `]}`
}

func round(s activities.Stretch, round, turn int) activities.StepRequest {
	r := step(s, 1)
	r.Cycle, r.Turn = round, turn
	return r
}

func (r *rig) scenario(id string) *dream.Scenario {
	r.t.Helper()
	s, err := memory.One[*dream.Scenario](context.Background(), r.store, "a", id)
	require.NoError(r.t, err)
	return s
}

// branches imagines scenarios of the first round, each with its own text.
func (r *rig) branches(m *imagination.Imagination, s activities.Stretch, texts ...string) []string {
	r.t.Helper()
	var ids []string
	for i, text := range texts {
		r.answersScenario(text)
		result, err := m.Branch(context.Background(), activities.BranchRequest{StepRequest: round(s, 1, i+1)})
		require.NoError(r.t, err)
		require.Len(r.t, result.Made, 1)
		ids = append(ids, result.Made[0].ID)
	}
	return ids
}

func TestBranchesAlternateBetweenCombinedAndChangedEpisodes(t *testing.T) {
	t.Parallel()
	r, o, s, m := imagining(t)
	f := r.fragment(o, s)
	for turn := 1; turn <= 4; turn++ {
		r.answersScenario(fmt.Sprintf("scenario number %d", turn))
		request := activities.BranchRequest{StepRequest: round(s, 1, turn)}
		if turn == 1 {
			request.Fragment = f.ID
		}
		result, err := m.Branch(context.Background(), request)
		require.NoError(t, err)
		made := r.scenario(result.Made[0].ID)
		question := r.model.requests[len(r.model.requests)-1].Messages[1].Content
		require.Equal(t, dream.Branch, made.Operation)
		require.Equal(t, []int{1, turn}, []int{made.Round, made.Turn})
		require.Empty(t, made.Parents)
		lived := made.Sources
		if turn == 1 {
			require.Equal(t, []string{f.ID}, made.Develops())
			require.Equal(t, f.ID, made.Parent)
			require.Equal(t, f.ID, made.Sources[0])
			require.Contains(t, question, f.Content)
			lived = lived[1:]
		}
		if turn%2 == 0 {
			require.True(t, made.Counterfactual && !made.Synthetic)
			require.Len(t, lived, 1)
			require.Contains(t, question, "A situation that was; imagine that")
		} else {
			require.True(t, made.Synthetic && !made.Counterfactual)
			require.GreaterOrEqual(t, len(lived), 2)
			require.LessOrEqual(t, len(lived), 3)
			require.Contains(t, question, "A situation that never was")
		}
		claim, err := memory.One[*dream.Prediction](context.Background(), r.store, "a", made.ID+"/p")
		require.NoError(t, err)
		require.Equal(t, dream.Creative, claim.Source)
		require.InDelta(t, .35, claim.Confidence, 1e-9, "the most that REM may have")
	}
}

func TestABarredFragmentIsNeverDeveloped(t *testing.T) {
	t.Parallel()
	r, o, s, m := imagining(t)
	ctx := context.Background()
	free, barred := r.fragment(o, s), &dream.Fragment{
		Head:    newRun(r.ports, o, activities.Stretch{}).Head(dream.Onset, dream.KindFragment, "1.2", nil),
		Content: "BARRED lever the whole account",
		Status:  dream.FragmentSelected,
		Flags: []dream.Flag{
			{By: "policy/leverage", Reason: "no leverage", Bars: true},
			{By: "hook/x", Reason: "look"},
		},
	}
	require.NoError(t, core.At(r.ports, s).Write(ctx, memory.Write{Add: []dream.Item{barred}}))
	survey, err := m.Survey(ctx,
		activities.SurveyRequest{Stretch: s, Limit: budget.Dollar, Fragments: []string{barred.ID, free.ID, "gone"}})
	require.NoError(t, err)
	require.Equal(t, []string{free.ID}, survey.Seeds)
	r.answersScenario("a scenario")
	// even if it is requested
	result, err := m.Branch(ctx, activities.BranchRequest{StepRequest: round(s, 1, 1), Fragment: barred.ID})
	require.NoError(t, err)
	made := r.scenario(result.Made[0].ID)
	require.Empty(t, made.Develops())
	require.NotContains(t, made.Sources, barred.ID)
	for _, request := range r.model.requests {
		for _, message := range request.Messages {
			require.NotContains(t, message.Content, "BARRED")
		}
	}
}

func TestAScenarioMadeFromOthersInheritsTheirSources(t *testing.T) {
	t.Parallel()
	r, o, s, m := imagining(t)
	ctx := context.Background()
	f := r.fragment(o, s)
	r.answersScenario("the lamp floats away")
	first, err := m.Branch(ctx, activities.BranchRequest{StepRequest: round(s, 1, 1), Fragment: f.ID})
	require.NoError(t, err)
	r.answersScenario("the key is found")
	second, err := m.Branch(ctx, activities.BranchRequest{StepRequest: round(s, 1, 2)})
	require.NoError(t, err)
	a, b := first.Made[0].ID, second.Made[0].ID
	r.model.say["scores"] = `{"scores":[{"ref":"s1","novelty":0.8,"plausible":0.2,"matters":0.6,"reason":"no lamp floats"}]}`
	_, err = m.Score(ctx, activities.ScoreRequest{StepRequest: round(s, 1, 0), Scenarios: []string{a, b}, Keep: 2})
	require.NoError(t, err)

	r.answersScenario("the lamp is tied and floats")
	refined, err := m.Refine(ctx, activities.GrowRequest{StepRequest: round(s, 2, 3), Scenarios: []string{a}})
	require.NoError(t, err)
	question := r.model.requests[len(r.model.requests)-1].Messages[1].Content
	for _, shown := range []string{
		"the lamp floats away", "the tide is late", "whether it could be true",
		"no lamp floats",
	} {
		require.Contains(t, question, shown)
	}
	one := r.scenario(refined.Made[0].ID)
	require.Equal(t, dream.Refine, one.Operation)
	require.Equal(t, []string{a}, one.Parents)
	require.Equal(t, []string{f.ID}, one.Develops())
	require.Subset(t, one.Sources, append([]string{a}, r.scenario(a).Sources...))
	for _, id := range []string{a, one.ID} {
		claim, err := memory.One[*dream.Prediction](ctx, r.store, "a", id+"/p")
		require.NoError(t, err)
		require.Contains(t, claim.Sources, f.ID)
		require.NotEmpty(t, claim.Episodes)
		for _, episode := range claim.Episodes {
			_, err := memory.One[*dream.Episode](ctx, r.store, "a", episode)
			require.NoError(t, err, "a prediction rests on lived episodes, and %s is none", episode)
		}
	}

	r.answersScenario("the lamp finds the key")
	merged, err := m.Merge(ctx, activities.GrowRequest{StepRequest: round(s, 2, 4), Scenarios: []string{a, b}})
	require.NoError(t, err)
	two := r.scenario(merged.Made[0].ID)
	require.Equal(t, dream.Merge, two.Operation)
	require.Equal(t, []string{a, b}, two.Parents)
	require.True(t, two.Synthetic && two.Counterfactual)
	require.Subset(t, two.Sources, append(append([]string{a, b}, r.scenario(a).Sources...), r.scenario(b).Sources...))

	_, err = m.Merge(ctx, activities.GrowRequest{StepRequest: round(s, 2, 5), Scenarios: []string{a}})
	require.ErrorContains(t, err, "it takes 2")
}

func TestWeighingRoundByRoundKeepsTheStoreConsistent(t *testing.T) {
	t.Parallel()
	r, _, s, m := imagining(t)
	ctx := context.Background()
	made := r.branches(m, s, "the lamp floats away", "the key is found", "a gull counts the days")
	r.weighs(.6, .5) // the third is missing in the answer
	result, err := m.Score(ctx, activities.ScoreRequest{StepRequest: round(s, 1, 0), Scenarios: made, Keep: 1})
	require.NoError(t, err)
	require.Equal(t,
		[]activities.MadeItem{
			{ID: made[0], Score: r.scenario(made[0]).Score, Kept: true},
			{ID: made[1], Score: r.scenario(made[1]).Score},
		}, result.Made)
	require.InDelta(t, .6, result.Made[0].Score, 1e-9)
	require.Equal(t, "rank 2 of 2, 1 are kept", r.scenario(made[1]).Reason)
	require.Equal(t, "it was not weighed: the answer left it out", r.scenario(made[2]).Reason)
	require.Equal(t, "because", r.scenario(made[0]).JudgeReason)
	require.Equal(t, "p/w", r.scenario(made[0]).Worth.Judge)

	r.answersScenario("Away floats the lamp") // repeats its parent
	again, err := m.Refine(ctx, activities.GrowRequest{StepRequest: round(s, 2, 4), Scenarios: made[:1]})
	require.NoError(t, err)
	r.answersScenario("the key hangs on a thread that the moon winds up")
	better, err := m.Refine(ctx, activities.GrowRequest{StepRequest: round(s, 2, 5), Scenarios: made[1:2]})
	require.NoError(t, err)
	r.weighs(.9, .7)
	fresh := []string{again.Made[0].ID, better.Made[0].ID}
	result, err = m.Score(ctx,
		activities.ScoreRequest{StepRequest: round(s, 2, 0), Scenarios: fresh, Beside: made, Keep: 1})
	require.NoError(t, err)
	require.Zero(t, result.Made[0].Score)
	require.InDelta(t, .7, result.Made[1].Score, 1e-9)
	require.Equal(t, "it repeats what it came from", r.scenario(fresh[0]).JudgeReason)
	question := r.model.requests[len(r.model.requests)-1].Messages[1].Content
	require.Contains(t, question, "[w1] the lamp floats away (novelty 0.60, plausible 0.60, matters 0.60)")
	require.NotContains(t, question, "a gull counts", "a scenario without a score is not shown for comparison")

	events, err := r.store.Events(ctx, "a", 0, 100)
	require.NoError(t, err)
	for _, e := range events {
		require.NotEqual(t, "ScenarioImagined", e.Type, "announced when it is decided")
	}
	all := append(append([]string{}, made...), fresh...)
	for range 2 { // a repetition returns the same and announces nothing
		kept, err := m.Keep(ctx,
			activities.KeepRequest{Stretch: s, Scenarios: all, Keep: 1, Reason: "its rounds are used"})
		require.NoError(t, err)
		require.Len(t, kept.Made, 5)
		require.Equal(t, activities.MadeItem{ID: fresh[1], Score: kept.Made[0].Score, Kept: true}, kept.Made[0])
	}
	require.Equal(t, "its rounds are used", r.scenario(fresh[1]).Ended)
	require.Equal(t, "scenario 5 grew out of it and stands in its place", r.scenario(made[1]).Reason)
	require.Equal(t, "rank 2 of 2, 1 are kept", r.scenario(made[0]).Reason)
	require.Equal(t, "it is worth nothing", r.scenario(fresh[0]).Reason)
	values := map[string]event.ScenarioImagined{}
	events, err = r.store.Events(ctx, "a", 0, 100)
	require.NoError(t, err)
	for _, e := range events {
		if e.Type == "ScenarioImagined" {
			var p event.ScenarioImagined
			require.NoError(t, json.Unmarshal(e.Data, &p))
			values[p.Scenario] = p
		}
	}
	require.Len(t, values, 5)
	require.Equal(t, dream.Refine, values[fresh[1]].Operation)
	require.Equal(t, []string{made[1]}, values[fresh[1]].Parents)
	require.True(t, values[fresh[1]].Kept)
	require.Equal(t, dream.Branch, values[made[0]].Operation)
}

func TestScenariosThatCouldNotBeWeighedKeepTheReason(t *testing.T) {
	t.Parallel()
	r, o, s, m := imagining(t)
	ctx := context.Background()
	f := r.fragment(o, s)
	r.answersScenario("the lamp floats away")
	first, err := m.Branch(ctx, activities.BranchRequest{StepRequest: round(s, 1, 1), Fragment: f.ID})
	require.NoError(t, err)
	made := []string{first.Made[0].ID}
	r.weighs(.4)
	_, err = m.Score(ctx, activities.ScoreRequest{StepRequest: round(s, 1, 0), Scenarios: made, Keep: 2})
	require.NoError(t, err)
	r.answersScenario("the lamp is tied to a stone and does not float at all")
	second, err := m.Refine(ctx, activities.GrowRequest{StepRequest: round(s, 2, 2), Scenarios: made})
	require.NoError(t, err)
	poor := round(s, 2, 0)
	poor.Limit = 1
	result, err := m.Score(ctx,
		activities.ScoreRequest{StepRequest: poor, Scenarios: []string{second.Made[0].ID}, Beside: made, Keep: 2})
	require.NoError(t, err)
	require.Equal(t, activities.EndCap, result.End)
	require.Empty(t, result.Made)
	kept, err := m.Keep(ctx, activities.KeepRequest{Stretch: s, Scenarios: append(made, second.Made[0].ID), Keep: 2})
	require.NoError(t, err)
	require.Equal(t, 1, activities.Kept(kept.Made))
	require.Equal(t, "it was not weighed: the money was spent", r.scenario(second.Made[0].ID).Reason)
	developed, err := memory.One[*dream.Fragment](ctx, r.store, "a", f.ID)
	require.NoError(t, err)
	require.Equal(t, []string{dream.FragmentDeveloped, made[0]}, []string{developed.Status, developed.Scenario})
}

func TestASurveyReportsTheMoneyLeftAndPricesNoCallTooLow(t *testing.T) {
	t.Parallel()
	r, _, s, m := imagining(t)
	ctx := context.Background()
	before, err := m.Survey(ctx, activities.SurveyRequest{Stretch: s, Limit: 100_000})
	require.NoError(t, err)
	require.EqualValues(t, 100_000, before.Budget.Left)
	made := r.branches(m, s, "the lamp floats away", "the key is found")
	r.weighs(.5, .4)
	_, err = m.Score(ctx, activities.ScoreRequest{StepRequest: round(s, 1, 0), Scenarios: made, Keep: 2})
	require.NoError(t, err)
	_, err = m.Refine(ctx, activities.GrowRequest{StepRequest: round(s, 2, 3), Scenarios: made[:1]})
	require.NoError(t, err)
	_, err = m.Merge(ctx, activities.GrowRequest{StepRequest: round(s, 2, 4), Scenarios: made})
	require.NoError(t, err)
	spent := budget.Micros(0)
	for _, request := range r.model.requests {
		kind := "weigh"
		switch text := request.Messages[1].Content; {
		case strings.Contains(text, "Imagine one scenario from this"):
			kind = "branch"
		case strings.Contains(text, "Imagine it again"):
			kind = "refine"
		case strings.Contains(text, "both are true at once"):
			kind = "merge"
		}
		spec, err := r.ports.Catalog.Lookup("p/w")
		require.NoError(t, err)
		in := 0
		for _, message := range request.Messages {
			in += len(message.Content)
		}
		paid := spec.Price.Cost(budget.Tokens{In: int64(in), Out: 50})
		require.Less(t, paid, before.Budget.Prices[kind], kind)
		spent += paid
	}
	after, err := m.Survey(ctx, activities.SurveyRequest{Stretch: s, Limit: 100_000})
	require.NoError(t, err)
	require.Equal(t, before.Budget.Left-spent, after.Budget.Left)

	table := r.ports.Catalog.(inference.Table)
	for name, spec := range table {
		spec.Price = &budget.Price{}
		table[name] = spec
	}
	free := r.spec(2, tonight)
	free.Free = true
	r.finish(s)
	rest, err := m.Survey(ctx, activities.SurveyRequest{Stretch: r.begin(free), Limit: 1})
	require.NoError(t, err)
	require.Equal(t, budget.Unlimited, rest.Budget.Left)
}

func TestASpecWithoutSearchIsDreamtAsBefore(t *testing.T) {
	t.Parallel()
	r, o, s, m := imagining(t)
	ctx := context.Background()
	f := r.fragment(o, s)
	old := step(s, 1)
	old.Turn = 2
	r.answersScenario("the lamp floats away")
	first, err := m.Branch(ctx, activities.BranchRequest{StepRequest: old, Fragment: f.ID})
	require.NoError(t, err)
	old.Turn = 3
	r.answersScenario("the key is found")
	second, err := m.Branch(ctx, activities.BranchRequest{StepRequest: old})
	require.NoError(t, err)
	one := r.scenario(first.Made[0].ID)
	require.True(t, one.Counterfactual && one.Synthetic, "as in the first version")
	// an answer of that version
	r.model.say["scores"] = `{"scores":[{"ref":"s1","score":0.3,"reason":"dull"},{"ref":"s2","score":0.8,"reason":"odd"}]}`
	result, err := m.Score(ctx,
		activities.ScoreRequest{
			StepRequest: step(s, .3), Scenarios: []string{first.Made[0].ID, second.Made[0].ID},
			Keep: 1,
		})
	require.NoError(t, err)
	require.Equal(t, second.Made[0].ID, result.Made[0].ID)
	require.InDelta(t, .8, result.Made[0].Score, 1e-9)
	require.Equal(t, 1, activities.Kept(result.Made))
	require.Equal(t, "rank 2 of 2, 1 are kept", r.scenario(first.Made[0].ID).Reason)
	events, err := r.store.Events(ctx, "a", 0, 100)
	require.NoError(t, err)
	count := 0
	for _, e := range events {
		if e.Type == "ScenarioImagined" {
			count++
		}
	}
	require.Equal(t, 2, count)
}
