package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// drifting is a rig in a Dali cycle, and the request of its first partial.
func drifting(t *testing.T) (*rig, activities.StepRequest) {
	t.Helper()
	r := newRig(t)
	r.live(10)
	s := r.begin(r.spec(1, tonight))
	_, err := (&onset.Onset{Ports: r.ports}).Gather(context.Background(), activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	r.model.say["partial"] = "zebra walks in the orchard"
	r.model.say["verdict"] = `{"novelty":0.9,"relevance":0.8,"coherence":0.7,"reason":"fine"}`
	request := step(s, 1.3)
	request.Cycle, request.Turn = 1, 1
	return r, request
}

func TestAPartialJudgedAtOnceIsTheSameAsOneJudgedLater(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	judgeTemperature := .3
	later, request := drifting(t)
	_, err := (&onset.Onset{Ports: later.ports}).Partial(ctx, request)
	require.NoError(t, err)
	judging := request
	judging.Temperature, judging.Drift = judgeTemperature, request.Temperature
	want, err := (&onset.Onset{Ports: later.ports}).Judge(ctx, judging)
	require.NoError(t, err)

	once, request := drifting(t)
	request.JudgeTemperature = &judgeTemperature
	got, err := (&onset.Onset{Ports: once.ports}).Partial(ctx, request)
	require.NoError(t, err)
	require.Equal(t, activities.EndDone, got.End)
	require.Equal(t, &want, got.Judged)
	require.Equal(t, later.model.requests, once.model.requests)
	one, err := memory.One[*dream.Fragment](ctx, later.store, "a", want.Made[0].ID)
	require.NoError(t, err)
	other, err := memory.One[*dream.Fragment](ctx, once.store, "a", got.Judged.Made[0].ID)
	require.NoError(t, err)
	require.Equal(t, one, other)

	again, err := (&onset.Onset{Ports: once.ports}).Partial(ctx, request) // as after a crash before the result was recorded
	require.NoError(t, err)
	require.Equal(t, got.Judged.Made, again.Judged.Made)
	require.Len(t, once.model.requests, 2, "nothing is bought twice")
}

func TestAPartialWithoutAVerdictIsLeftToAJudgeOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	judgeTemperature := .3
	for name, hinder := range map[string]func(r *rig, request *activities.StepRequest){
		"the agent was woken while it was judged": func(r *rig, _ *activities.StepRequest) {
			r.model.while = func(name string) {
				if name == "verdict" {
					r.connect()
				}
			}
		},
		"the money is used up": func(r *rig, request *activities.StepRequest) {
			for request.Limit = 1; ; request.Limit += 10 { // the least that pays for a partial
				without := *request
				without.JudgeTemperature = nil
				result, err := (&onset.Onset{Ports: r.ports}).Partial(ctx, without)
				require.NoError(t, err)
				if result.End == activities.EndDone {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, request := drifting(t)
			request.JudgeTemperature = &judgeTemperature
			hinder(r, &request)
			result, err := (&onset.Onset{Ports: r.ports}).Partial(ctx, request)
			require.NoError(t, err)
			require.Equal(t, activities.EndDone, result.End, "the partial itself was bought")
			require.Nil(t, result.Judged)
		})
	}
}
