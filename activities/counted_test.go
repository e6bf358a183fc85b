package activities_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/imagination"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/replay"
	"github.com/seed-56a03226/oneiros/internal/claims"
)

// sixtyDays adds an episode a day of which each sixth names two pairs of things, and as many of another source whose
// pair does not count.
func (r *rig) sixtyDays() {
	r.t.Helper()
	w := memory.Write{Agent: "a", Cause: "import"}
	add := func(id string, ago int, taint dream.Taint, text string) {
		w.Add = append(w.Add, &dream.Episode{
			Head: dream.Head{
				ID:    id,
				Agent: "a",
				Kind:  dream.KindEpisode,
				At:    tonight.AddDate(0, 0, -ago),
				State: dream.Live,
				Taint: taint,
			},
			Content:  text,
			Surprise: .5,
		})
		w.Vectors = append(w.Vectors, memory.Vector{Item: id, Space: space, V: vectorOf(text)})
	}
	for d := range 60 {
		text, other := fmt.Sprintf("number%d", d), fmt.Sprintf("figure%d", d)
		if d%6 == 0 {
			text, other = "kettle, bell; vane, gull "+text, "lantern, "+other+" rope"
		}
		add(fmt.Sprintf("e%02d", d), 61-d, dream.FromHuman, text)
		add(fmt.Sprintf("m%02d", d), 61-d, dream.FromWeb, other)
	}
	_, err := r.store.Commit(context.Background(), w)
	require.NoError(r.t, err)
}

const counted = "the next memory that names bell also names gull."

func TestAReplayIsShownWhatWasCountedAndItsPredictionRestsOnIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sixtyDays()
	s := r.begin(r.spec(1, tonight))
	r.model.say["patterns"] = `{"patterns":[{"claim":"Gulls come with the bell.","criterion":"` + counted +
		`","days":365,"confidence":0.4,"trace":"Counted.","sources":["x1"]}]}`
	forward, err := (&replay.Replay{Ports: r.ports}).Run(context.Background(),
		activities.ReplayRequest{StepRequest: step(s, .4)})
	require.NoError(t, err)
	require.Len(t, forward.Made, 1)
	prompt := r.model.requests[0].Messages[1].Content
	require.Contains(t, prompt, "- [x1] "+counted+" (10 of 10 times, by chance 2 %; for 12 days)\n")
	require.NotRegexp(t, `names (lantern|rope)`, prompt, "what came from the web is not counted")

	p, err := memory.One[*dream.Prediction](context.Background(), r.store, "a", forward.Made[0].ID)
	require.NoError(t, err)
	require.Equal(t, &dream.Check{When: "bell", Then: "gull"}, p.Check)
	require.Equal(t, []string{"e54", "e48", "e42", "e36"}, p.Episodes)

	_, err = (&replay.Replay{Ports: r.ports}).Run(context.Background(),
		activities.ReplayRequest{StepRequest: step(s, .4), Backward: true})
	require.NoError(t, err)
	require.Contains(t, r.model.requests[1].Messages[1].Content, "- [x1] ")
	require.NotContains(t, r.model.requests[1].Messages[1].Content, counted, "no two parts of a dream are shown the same")
	r.finish(s)

	next := r.begin(r.spec(2, tonight.AddDate(0, 0, 1)))
	_, err = (&replay.Replay{Ports: r.ports}).Run(context.Background(),
		activities.ReplayRequest{StepRequest: step(next, .4)})
	require.NoError(t, err)
	require.NotContains(t, r.model.requests[2].Messages[1].Content, counted, "an open prediction says it already")
}

func TestAScenarioClaimsWhatWasCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sixtyDays()
	s := r.begin(r.spec(1, tonight))
	r.model.say["scenario"] = `{"premise":"","content":"Imagined.","claim":"","criterion":"","days":9,"confidence":0.3,"trace":""}`
	_, err := (&imagination.Imagination{Ports: r.ports}).Branch(context.Background(),
		activities.BranchRequest{StepRequest: step(s, .4)})
	require.NoError(t, err)
	require.Regexp(t, `- \[x1\] the next memory that names \w+ also names \w+\. \(10 of 10 times`,
		r.model.requests[0].Messages[1].Content)
	require.Empty(t, r.find(s, dream.KindPrediction), "without a claim there is no prediction")
}

func TestAClaimThatDoesNotHoldIsShownNoMore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sixtyDays()
	check := dream.Check{When: "bell", Then: "gull"}
	c := &dream.Claim{
		Head: dream.Head{
			ID:    claims.ID("a", check),
			Agent: "a",
			Kind:  dream.KindClaim,
			At:    tonight.AddDate(0, 0, -9),
			State: dream.Live,
			Taint: dream.FromDream,
		},
		Check: check, Says: counted, Status: dream.ClaimDropped,
	}
	_, err := r.store.Commit(context.Background(), memory.Write{Agent: "a", Cause: "check", Add: []dream.Item{c}})
	require.NoError(t, err)
	s := r.begin(r.spec(1, tonight))
	for _, backward := range []bool{false, true} {
		_, err := (&replay.Replay{Ports: r.ports}).Run(context.Background(),
			activities.ReplayRequest{StepRequest: step(s, .4), Backward: backward})
		require.NoError(t, err)
	}
	for _, prompt := range r.model.requests {
		require.NotContains(t, prompt.Messages[1].Content, counted)
	}
}
