package activities_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/replay"
)

func TestOnlyIdeasOfTheOnsetAreSteered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(10)
	muse := &inference.Steering{Vector: "muse", From: 11, To: 11, Alpha: .25}
	o := r.spec(1, tonight)
	o.Steering = muse
	s := r.begin(o)
	r.model.say["fragments"] = `{"fragments":[{"text":"The quay was closed and the wages were late.","sources":["r1"]}]}`
	r.model.say["partial"] = "the harbour paid the baker in boats"
	onset := &onset.Onset{Ports: r.ports}
	_, err := onset.Gather(context.Background(), activities.GatherRequest{Stretch: s})
	require.NoError(t, err)
	induced, err := onset.Induce(context.Background(), step(s, 1.2))
	require.NoError(t, err)
	require.Equal(t, muse, r.model.requests[0].Steering)
	turn := step(s, 1.4)
	turn.Cycle, turn.Turn = 1, 1
	_, err = onset.Partial(context.Background(), turn)
	require.NoError(t, err)
	require.Equal(t, muse, r.model.requests[len(r.model.requests)-1].Steering)
	ideas := len(r.model.requests)

	require.NotEmpty(t, induced.Made)
	_, err = onset.Capture(context.Background(),
		activities.CaptureRequest{StepRequest: step(s, .5), Fragments: []string{induced.Made[0].ID}})
	require.NoError(t, err)
	_, err = (&replay.Replay{Ports: r.ports}).Run(context.Background(), activities.ReplayRequest{StepRequest: step(s, .7)})
	require.NoError(t, err)
	require.Greater(t, len(r.model.requests), ideas)
	for _, request := range r.model.requests[ideas:] {
		require.Nil(t, request.Steering, "judging and replay are never steered")
	}

	items, err := r.store.Get(context.Background(), "a", induced.Made[0].ID)
	require.NoError(t, err)
	require.Equal(t, "muse x 0.25 at layer 11", items[0].(*dream.Fragment).Settings.Steering)
}

func TestASpecWithInvalidSteeringIsRefused(t *testing.T) {
	t.Parallel()
	o := newRig(t).spec(1, tonight)
	o.Steering = &inference.Steering{From: 1, To: 1, Alpha: 1}
	require.ErrorContains(t, o.Validate(), "steering names no vector")
	old := newRig(t).spec(1, tonight)
	body, err := json.Marshal(old)
	require.NoError(t, err)
	require.NotContains(t, string(body), "steering\"", "a spec without steering reads as in older versions")
}

// A deeper onset is steered more; a server that steers by the model's name has a strength of its own.
func TestDeeperStagesAreSteeredMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stage dream.Stage
		alias string
		alpha float64
	}{
		{dream.Shallow, "", .5},
		{dream.Transitional, "", 1},
		{dream.Peak, "", 1.5},
		{dream.TooDeep, "", 1.5},
		{"", "", 1.5},
		{dream.Shallow, "tiny-creative", 1.5},
	} {
		r := newRig(t)
		r.live(10)
		table := r.ports.Catalog.(inference.Table)
		spec := table["p/w"]
		spec.Steers = &inference.Steers{Vector: "muse", Alias: c.alias}
		table["p/w"] = spec
		o := r.spec(1, tonight)
		o.Steering = &inference.Steering{Vector: "muse", From: 11, To: 11, Alpha: 1.5}
		s := r.begin(o)
		r.model.say["partial"] = "the harbour paid the baker in boats"
		stages := &onset.Onset{Ports: r.ports}
		_, err := stages.Gather(context.Background(), activities.GatherRequest{Stretch: s})
		require.NoError(t, err)
		turn := step(s, 1.1)
		turn.Cycle, turn.Turn, turn.Stage = 1, 1, c.stage
		_, err = stages.Partial(context.Background(), turn)
		require.NoError(t, err)
		require.Equal(t, c.alpha, r.model.requests[len(r.model.requests)-1].Steering.Alpha, "%+v", c)
	}
}
