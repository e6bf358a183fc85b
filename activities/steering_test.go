package activities

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/inference"
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
	onset := &Onset{r.ports}
	_, err := onset.Gather(context.Background(), GatherRequest{Stretch: s})
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
		CaptureRequest{StepRequest: step(s, .5), Fragments: []string{induced.Made[0].ID}})
	require.NoError(t, err)
	_, err = (&Replay{r.ports}).Run(context.Background(), ReplayRequest{StepRequest: step(s, .7)})
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
