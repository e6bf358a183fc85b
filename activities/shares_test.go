package activities_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/imagination"
	"github.com/seed-56a03226/oneiros/activities/integration"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// nightsBefore writes earlier dreams, each with eight fragments, of which some were developed and staged.
func (r *rig) nightsBefore(nights, used, staged int) []hypnagogia.Fragments {
	r.t.Helper()
	var counted []hypnagogia.Fragments
	for n := range nights {
		id := fmt.Sprintf("dream/a/%04d", 100+n)
		at := tonight.Add(-time.Duration(n+1) * 24 * time.Hour)
		head := func(kind dream.Kind, step string) dream.Head {
			return dream.Head{
				ID:    id + step,
				Agent: "a",
				Kind:  kind,
				At:    at,
				State: dream.Live,
				Taint: dream.FromDream,
				Dream: id,
			}
		}
		add := []dream.Item{
			&dream.Record{
				Head: head(dream.KindRecord, ""), Outcome: dream.Completed, Ended: at.Add(time.Minute),
				Tier: dream.Hardened,
			},
		}
		var fragments []*dream.Fragment
		var scenarios []*dream.Scenario
		for i := range 8 {
			f := &dream.Fragment{
				Head:    head(dream.KindFragment, fmt.Sprintf("/onset/1.%d", i)),
				Content: "a thought of another night", Status: dream.FragmentRaw,
			}
			if i < used {
				s := &dream.Scenario{
					Head:    head(dream.KindScenario, fmt.Sprintf("/rem/%d", i)),
					Content: "a scenario of another night", Kept: true, Seeds: []string{f.ID},
				}
				f.Status, f.Scenario = dream.FragmentDeveloped, s.ID
				add, scenarios = append(add, s), append(scenarios, s)
			}
			if i < staged {
				f.Status, f.Hypothesis = dream.FragmentPromoted, id+"/integration/1"
			}
			add, fragments = append(add, f), append(fragments, f)
		}
		_, err := r.store.Commit(context.Background(), memory.Write{Agent: "a", Cause: id, Add: add})
		require.NoError(r.t, err)
		counted = append(counted, hypnagogia.CountFragments(fragments, scenarios))
	}
	return counted
}

// chosen runs lucid capture, REM and staging over six fixed fragments, and returns what was chosen.
func (r *rig) chosen() string {
	ctx, text := context.Background(), ""
	tell := func(what string, made []activities.MadeItem) {
		for _, m := range made {
			text += fmt.Sprintf("%s %s %.3f kept %v chosen %v\n", what, m.ID, m.Score, m.Kept, m.Chosen)
		}
	}
	s := r.begin(r.spec(1, tonight))
	o := r.spec(1, tonight)
	var ids []string
	w := memory.Write{}
	for i := range 6 {
		f := &dream.Fragment{
			Head: newRun(r.ports, o, activities.Stretch{}).Head(dream.Onset, dream.KindFragment,
				fmt.Sprintf("1.%d", i), nil),
			Content: fmt.Sprintf("thought number %d of the night", i),
			Status:  dream.FragmentRaw, Confidence: .15, Verdict: dream.Verdict{Composite: float64(6-i) / 10},
		}
		ids, w.Add = append(ids, f.ID), append(w.Add, f)
	}
	require.NoError(r.t, core.At(r.ports, s).Write(ctx, w))
	r.model.say["ratings"] = `{"ratings":[{"ref":"f2","rating":"promote","reason":"x","criterion":"y","days":3,"first_step":"z"},{"ref":"f5","rating":"promote","reason":"x","criterion":"y","days":3,"first_step":"z"}]}`
	captured, err := (&onset.Onset{Ports: r.ports}).Capture(ctx,
		activities.CaptureRequest{StepRequest: step(s, .5), Fragments: ids})
	require.NoError(r.t, err)
	tell("captured", captured.Made)
	m := &imagination.Imagination{Ports: r.ports}
	survey, err := m.Survey(ctx, activities.SurveyRequest{Stretch: s, Limit: 1_000_000, Fragments: ids})
	require.NoError(r.t, err)
	text += fmt.Sprintln("seeds", survey.Seeds)
	var made []string
	for turn := 1; turn <= 3; turn++ {
		r.answersScenario(fmt.Sprintf("scenario %d", turn))
		result, err := m.Branch(ctx,
			activities.BranchRequest{StepRequest: round(s, 1, turn), Fragment: survey.Seeds[turn-1]})
		require.NoError(r.t, err)
		made = append(made, result.Made[0].ID)
	}
	r.weighs(.3, .6, .5)
	weighed, err := m.Score(ctx, activities.ScoreRequest{StepRequest: round(s, 1, 0), Scenarios: made, Keep: 2})
	require.NoError(r.t, err)
	tell("weighed", weighed.Made)
	plan := hypnagogia.SearchOf([]*dream.Scenario{r.scenario(made[0]), r.scenario(made[1]), r.scenario(made[2])}).Next(
		hypnagogia.SearchLimits{Branches: 3, Beam: 2, Rounds: 3, Seeds: 6}, survey.Budget)
	text += fmt.Sprintf("next %+v\n", plan)
	kept, err := m.Keep(ctx, activities.KeepRequest{Stretch: s, Scenarios: made, Keep: 2})
	require.NoError(r.t, err)
	tell("kept", kept.Made)
	r.model.say["hypotheses"] = `{"hypotheses":[{"claim":"c","first_step":"s","confidence":0.25,"sources":["r1"]}]}`
	staged, err := (&integration.Integration{Ports: r.ports}).Consolidate(ctx,
		activities.ConsolidateRequest{StepRequest: step(s, .4), Items: made})
	require.NoError(r.t, err)
	tell("staged", staged.Made)
	return text
}

// The same dream runs after thirty dreams in which nothing was used, and after thirty in which everything was: both
// shares raise their alarm, and the choice is the same.
func TestNothingIsSelectedOrStagedToReachAShare(t *testing.T) {
	t.Parallel()
	tellAfter := func(used, staged int) (string, hypnagogia.Share, hypnagogia.Share) {
		r := newRig(t)
		r.live(10)
		first, second := hypnagogia.Shares(r.nightsBefore(hypnagogia.ShareWindow, used, staged))
		return r.chosen(), first, second
	}
	little, used, staged := tellAfter(0, 0)
	require.Equal(t, []hypnagogia.State{hypnagogia.Alarmed, hypnagogia.Unknown},
		[]hypnagogia.State{used.State, staged.State})
	some, used, staged := tellAfter(3, 0)
	require.Equal(t, []hypnagogia.State{hypnagogia.Healthy, hypnagogia.Alarmed},
		[]hypnagogia.State{used.State, staged.State})
	much, used, staged := tellAfter(8, 8)
	require.Equal(t, []hypnagogia.State{hypnagogia.Alarmed, hypnagogia.Alarmed},
		[]hypnagogia.State{used.State, staged.State})
	require.Contains(t, little, "staged dream/a/0001/integration/1")
	require.Equal(t, little, some)
	require.Equal(t, little, much)
}
