package workflows

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// rehearsal runs REM alone with scripted activities.
type rehearsal struct {
	// by the turn of the scenario, such as "4"; a scenario without a score is left out of the weighing
	scores    map[string]float64
	fails     map[string]bool // activities by step, such as "merge-4", that make nothing
	capped    map[string]bool // activities that reach the cap of the phase
	left      []budget.Micros // before each round; unlimited past the last
	prices    map[string]budget.Micros
	barred    string // a fragment that may not be developed
	mu        sync.Mutex
	requested []string // the steps in the order of their requests
	kept      []string // the request of Keep
	why       string   // why the search ended
	apart     bool     // each step is an activity of its own, as in older histories
	// how often scenarios were weighed by an activity of its own
	weighedApart int
	above        bool  // the cap that is reached is above the phase's
	ended        error // the error that the search returned
	settled      *phase
}

func (r *rehearsal) step(activityName string, s activities.StepRequest, of ...string) (activities.StepResult, error) {
	name := fmt.Sprintf("%s-%d", activityName, s.Turn)
	text := fmt.Sprintf("%d:%s", s.Cycle, name)
	for _, id := range of {
		text += " " + id
	}
	r.mu.Lock()
	r.requested = append(r.requested, text)
	r.mu.Unlock()
	switch {
	case r.capped[name]:
		scope := activities.PhaseScope("d", dream.REM)
		if r.above {
			scope = activities.DreamScope("d")
		}
		return activities.StepResult{CallOutcome: activities.CallOutcome{
				End: activities.EndCap, Scope: scope,
				Reason: "the cap",
			}},
			nil
	case r.fails[name]:
		return activities.StepResult{CallOutcome: activities.CallOutcome{End: activities.EndUnreadable}}, nil
	}
	return activities.StepResult{Made: []activities.MadeItem{{ID: fmt.Sprint(s.Turn), Kept: true}}}, nil
}

// move makes one of several steps of an activity.
func (r *rehearsal) move(_ context.Context, s activities.SideStep) (activities.StepResult, error) {
	var q struct {
		activities.StepRequest
		Fragment  string   `json:"fragment"`
		Scenarios []string `json:"scenarios"`
	}
	if err := json.Unmarshal(s.Request, &q); err != nil {
		return activities.StepResult{}, err
	}
	switch s.Activity {
	case activities.ImaginationBranch:
		return r.step("branch", q.StepRequest, q.Fragment)
	case activities.ImaginationRefine:
		return r.step("refine", q.StepRequest, q.Scenarios...)
	case activities.ImaginationMerge:
		return r.step("merge", q.StepRequest, q.Scenarios...)
	case activities.ImaginationScore:
		return r.weigh(q.StepRequest, s.Made)
	}
	return activities.StepResult{}, fmt.Errorf("no such step: %s", s.Activity)
}

// weigh scores scenarios.
func (r *rehearsal) weigh(q activities.StepRequest, scenarios []string) (activities.StepResult, error) {
	q.Turn = q.Cycle
	result, err := r.step("weigh", q, scenarios...)
	if result.Made == nil {
		return result, err
	}
	result.Made = nil
	for _, id := range scenarios {
		if score, ok := r.scores[id]; ok {
			result.Made = append(result.Made, activities.MadeItem{ID: id, Score: score})
		}
	}
	return result, nil
}

func (r *rehearsal) play(t *testing.T, k dream.Knobs, fragments, selected []string) *dreamRun {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	as := func(name string, f any) {
		env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	as(activities.ImaginationSurvey, func(_ context.Context, q activities.SurveyRequest) (activities.SurveyResult, error) {
		result := activities.SurveyResult{Budget: hypnagogia.SearchBudget{Left: budget.Unlimited, Prices: r.prices}}
		for _, id := range q.Fragments {
			if id != r.barred {
				result.Seeds = append(result.Seeds, id)
			}
		}
		if len(r.left) > 0 {
			result.Budget.Left, r.left = r.left[0], r.left[1:]
		}
		return result, nil
	})
	as(activities.ImaginationBranch, func(_ context.Context, q activities.BranchRequest) (activities.StepResult, error) {
		return r.step("branch", q.StepRequest, q.Fragment)
	})
	as(activities.ImaginationRefine, func(_ context.Context, q activities.GrowRequest) (activities.StepResult, error) {
		return r.step("refine", q.StepRequest, q.Scenarios...)
	})
	as(activities.ImaginationMerge, func(_ context.Context, q activities.GrowRequest) (activities.StepResult, error) {
		return r.step("merge", q.StepRequest, q.Scenarios...)
	})
	as(activities.ImaginationScore, func(_ context.Context, q activities.ScoreRequest) (activities.StepResult, error) {
		r.weighedApart++
		return r.weigh(q.StepRequest, q.Scenarios)
	})
	as(activities.ImaginationKeep, func(_ context.Context, q activities.KeepRequest) (activities.StepResult, error) {
		r.kept, r.why = q.Scenarios, q.Reason
		return activities.StepResult{Made: []activities.MadeItem{{ID: q.Scenarios[0], Kept: true}, {ID: "other"}}}, nil
	})
	as(activities.ImaginationMoves,
		func(ctx context.Context, q activities.SideBySideRequest) (activities.SideBySideResult, error) {
			return activities.SideBySide(ctx, q, 0, r.move)
		})
	n := &dreamRun{endedEarly: map[dream.Phase]string{}, grouping: 2}
	if r.apart {
		n.grouping = workflow.DefaultVersion
	}
	n.spec.Dream, n.spec.Knobs = "d", k
	for _, id := range fragments {
		n.fragments = append(n.fragments, activities.MadeItem{ID: id})
	}
	for _, id := range selected {
		n.selected = append(n.selected, activities.MadeItem{ID: id})
	}
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		n.stretch.start(ctx, 1, 0)
		r.settled = &phase{run: n, name: dream.REM, limit: 1000}
		r.ended = r.settled.search(ctx)
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
	return n
}

func knobs(branches, beam, rounds int) dream.Knobs {
	k := dream.DefaultKnobs()
	k.Branches, k.RemBeam, k.RemRounds = branches, beam, rounds
	return k
}

// sideBySide checks the activities round by round; those of one round run in any order.
func sideBySide(t *testing.T, questions []string, rounds ...[]string) {
	t.Helper()
	for i, round := range rounds {
		require.GreaterOrEqual(t, len(questions), len(round), "round %d: %v", i+1, questions)
		require.ElementsMatch(t, round, questions[:len(round)], "round %d", i+1)
		questions = questions[len(round):]
	}
	require.Empty(t, questions)
}

func TestASearchMergesRefinesAndTurnsBack(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		searches(t, apart)
	}
}

func searches(t *testing.T, apart bool) {
	t.Helper()
	r := &rehearsal{
		scores: map[string]float64{"1": .6, "2": .5, "3": .4, "4": .7, "5": .2, "6": .8, "7": .75}, apart: apart,
	}
	n := r.play(t, knobs(3, 2, 3), []string{"f1", "f2", "f3"}, []string{"f3"})
	sideBySide(t, r.requested,
		[]string{"1:branch-1 f3", "1:branch-2 f1", "1:branch-3 f2"}, []string{"1:weigh-1 1 2 3"},
		[]string{"2:merge-4 1 2", "2:refine-5 1"}, []string{"2:weigh-2 4 5"},
		// 5 scored below 1: it is not developed further, and 3 is
		[]string{"3:merge-6 4 3", "3:refine-7 4"}, []string{"3:weigh-3 6 7"},
	)
	require.Equal(t, []string{"1", "2", "3", "4", "5", "6", "7"}, r.kept)
	require.Equal(t, []activities.MadeItem{{ID: "1", Kept: true}}, n.scenarios)
	require.Equal(t, 7, r.settled.made)
	require.Equal(t, 1, r.settled.kept)
	require.Empty(t, r.settled.stopped)
	require.Equal(t, "its rounds are used", r.why)
	require.NoError(t, r.ended)
	if apart {
		require.Equal(t, 3, r.weighedApart)
	} else {
		require.Zero(t, r.weighedApart, "the activity that makes the scenarios weighs them")
	}
}

func TestABarredFragmentIsNotDeveloped(t *testing.T) {
	t.Parallel()
	r := &rehearsal{barred: "f2", scores: map[string]float64{"1": .5, "2": .5}}
	r.play(t, knobs(2, 1, 1), []string{"f1", "f2", "f3"}, []string{"f2"})
	sideBySide(t, r.requested, []string{"1:branch-1 f1", "1:branch-2 f3"}, []string{"1:weigh-1 1 2"})
}

func TestASearchEndsWhenAnotherRoundMightCostTooMuch(t *testing.T) {
	t.Parallel()
	r := &rehearsal{
		scores: map[string]float64{"1": .6, "2": .5, "3": .4, "4": .7}, left: []budget.Micros{100, 30, 10},
		prices: map[string]budget.Micros{"branch": 20, "refine": 20, "merge": 20, hypnagogia.PriceOfWeighing: 10},
	}
	n := r.play(t, knobs(3, 2, 4), nil, nil)
	sideBySide(t, r.requested,
		[]string{"1:branch-1 ", "1:branch-2 ", "1:branch-3 "}, []string{"1:weigh-1 1 2 3"},
		[]string{"2:merge-4 1 2"}, []string{"2:weigh-2 4"}, // the refinement was left out for want of money
	)
	require.Len(t, r.kept, 4)
	require.Equal(t, "another round might cost more than is left", r.why)
	require.Len(t, n.scenarios, 1)
	require.Empty(t, r.settled.stopped, "a search that stops in time has not met its cap")
}

func TestASearchThatMeetsItsCapKeepsWhatWasWeighed(t *testing.T) {
	t.Parallel()
	for _, seen := range []string{"refine-5", "weigh-2"} {
		r := &rehearsal{
			scores: map[string]float64{"1": .6, "2": .5, "3": .4, "4": .7},
			capped: map[string]bool{seen: true},
		}
		r.play(t, knobs(3, 2, 4), nil, nil)
		require.Equal(t, "the cap", r.settled.stopped, seen)
		require.Contains(t, r.requested, "2:merge-4 1 2")
		require.Contains(t, r.kept, "4")
		for _, activityName := range r.requested {
			require.NotContains(t, activityName, "3:", "no third round")
		}
	}
	dreams := &rehearsal{
		above: true, scores: map[string]float64{"1": .6, "2": .5, "3": .4},
		capped: map[string]bool{"merge-4": true, "refine-5": true},
	}
	require.Len(t, dreams.play(t, knobs(3, 2, 4), nil, nil).scenarios, 1)
	require.Equal(t, []string{"1", "2", "3"}, dreams.kept,
		"a dream whose own cap is met keeps what was weighed as well")
	require.Equal(t, "the cap", dreams.why)
	require.True(t, spentDream(dreams.ended))
	r := &rehearsal{capped: map[string]bool{"branch-1": true, "branch-2": true, "branch-3": true}}
	n := r.play(t, knobs(3, 2, 4), nil, nil)
	require.Equal(t, "the cap", r.settled.stopped)
	require.Nil(t, r.kept, "there is nothing to keep")
	require.Empty(t, n.scenarios)
}

func TestAMoveThatMadeNothingIsRepeatedUnderANewNumber(t *testing.T) {
	t.Parallel()
	r := &rehearsal{
		scores: map[string]float64{"1": .6, "3": .4, "6": .7, "7": .7},
		fails:  map[string]bool{"branch-2": true, "merge-4": true, "refine-5": true},
	}
	r.play(t, knobs(3, 2, 3), nil, nil)
	sideBySide(t, r.requested,
		[]string{"1:branch-1 ", "1:branch-2 ", "1:branch-3 "}, []string{"1:weigh-1 1 3"},
		[]string{"2:merge-4 1 3", "2:refine-5 1"},
		[]string{"3:merge-6 1 3", "3:refine-7 1"}, []string{"3:weigh-3 6 7"},
	)
	require.Equal(t, []string{"1", "3", "6", "7"}, r.kept)
}

func TestScenariosWithoutAScoreEndTheSearch(t *testing.T) {
	t.Parallel()
	r := &rehearsal{fails: map[string]bool{"weigh-1": true}}
	r.play(t, knobs(2, 2, 3), nil, nil)
	sideBySide(t, r.requested, []string{"1:branch-1 ", "1:branch-2 "}, []string{"1:weigh-1 1 2"})
	require.Equal(t, []string{"1", "2"}, r.kept)
}
