package activities_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// loosened begins a dream whose generator is loosened by words, and gathers its memories.
func (r *rig) loosened(way dream.Loosening) (activities.Spec, activities.Stretch) {
	r.t.Helper()
	r.live(10)
	o := r.spec(1, tonight)
	o.Loosening = map[dream.Role]dream.Loosening{dream.Generator: way}
	require.NoError(r.t, o.Validate())
	s := r.begin(o)
	_, err := (&onset.Onset{Ports: r.ports}).Gather(context.Background(), activities.GatherRequest{Stretch: s})
	require.NoError(r.t, err)
	return o, s
}

const fourIdeas = `{"ideas":[{"text":"a gull keeps the ledger of the tide","probability":0.04},{"text":"A gull  keeps the ledger of the tide","probability":0.02},
	{"text":"the winter is folded into a letter","probability":7},{"text":"somebody rows the lighthouse home","probability":0.01}]}`

func TestOneVerbalisedCallProducesThePartialsOfACycle(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	o, s := r.loosened(dream.Verbalised)
	r.model.say["ideas"] = fourIdeas
	r.model.say["verdict"] = `{"novelty":0.7,"relevance":0.6,"coherence":0.9,"reason":"new"}`
	request := step(s, 1.5)
	request.Cycle, request.Turn, request.Drift = 1, 1, 1.5
	result, err := (&onset.Onset{Ports: r.ports}).Partial(ctx, request)
	require.NoError(t, err)
	require.Equal(t, 3, result.Ideas, "the second idea repeats the first")
	require.Len(t, r.model.requests, 1)
	sent := r.model.requests[0]
	require.InDelta(t, 1.2, *sent.Sampling.Temperature, 1e-9, "no hotter than the floor of the peak without min-p")
	require.GreaterOrEqual(t, sent.MaxTokens, o.Knobs.Partials*o.Knobs.PartialTokens)
	require.Equal(t, o.Knobs.ReasoningTokens, sent.Reasoning, "tokens for reasoning are reserved too")
	require.Contains(t, sent.Messages[1].Content, "Write 4 images")
	require.Contains(t, sent.Messages[1].Content, "0.10")
	require.Contains(t, sent.Messages[1].Content, "- [n1]", "an invented scene")
	for turn, want := range []struct {
		text        string
		probability *float64
	}{
		{"a gull keeps the ledger of the tide", probabilityOf(.04)},
		{"the winter is folded into a letter", nil},
		{"somebody rows the lighthouse home", probabilityOf(.01)},
	} {
		request.Turn, request.Temperature = turn+1, .4
		judged, err := (&onset.Onset{Ports: r.ports}).Judge(ctx, request)
		require.NoError(t, err)
		require.Len(t, judged.Made, 1)
		f, err := memory.One[*dream.Fragment](ctx, r.store, "a", judged.Made[0].ID)
		require.NoError(t, err)
		require.Equal(t, want.text, f.Content)
		require.Equal(t, dream.Verbalised, f.Settings.Loosening)
		require.Equal(t, want.probability, f.Settings.Probability, "7 is not a probability")
		require.InDelta(t, 1.2, *f.Settings.Temperature, 1e-9)
		require.Equal(t, fmt.Sprintf("%s/onset/1.%d", s.Dream, turn+1), f.ID)
	}
	again, err := (&onset.Onset{Ports: r.ports}).Partial(ctx, request)
	require.NoError(t, err)
	require.True(t, again.Reused)
	require.Equal(t, 3, again.Ideas, "a repetition buys nothing")
}

func probabilityOf(p float64) *float64 { return &p }

func TestATwoPhaseCycleMakesIdeasFromTheScrapsOfADivergentCall(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	o, s := r.loosened(dream.TwoPhase)
	r.model.say["partial"] = "- a clock inside a fish\n- the tide's invoice\n- a lamp that is al"
	r.model.say["ideas"] = fourIdeas
	request := step(s, 1.5)
	request.Cycle, request.Turn = 2, 1
	result, err := (&onset.Onset{Ports: r.ports}).Partial(ctx, request)
	require.NoError(t, err)
	require.Equal(t, 3, result.Ideas)
	require.Len(t, r.model.requests, 2)
	wide, narrow := r.model.requests[0], r.model.requests[1]
	require.Nil(t, wide.Schema)
	require.Equal(t, 2*o.Knobs.PartialTokens, wide.MaxTokens, "its stream is closed there")
	require.NotContains(t, wide.Messages[1].Content, "how likely")
	require.Contains(t, narrow.Messages[1].Content, "- [d2] the tide's invoice\n- [d3] a lamp that is al")
	require.Equal(t, wide.Messages[0], narrow.Messages[0])
	shown, _, _ := strings.Cut(wide.Messages[1].Content, "Words that drift by")
	require.True(t, strings.HasPrefix(narrow.Messages[1].Content, strings.TrimRight(shown, "\n")),
		"both share their prefix, so that the provider's cache hits")
}

func TestEveryIdeaIsCutOffLikeAPartial(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o, s := r.loosened(dream.Verbalised)
	r.model.say["ideas"] = `{"ideas":[{"text":"` + strings.Repeat("the lamp burns under water ", 40) +
		`","probability":0.05}]}`
	request := step(s, 1.5)
	request.Cycle, request.Turn = 1, 1
	_, err := (&onset.Onset{Ports: r.ports}).Partial(context.Background(), request)
	require.NoError(t, err)
	_, err = (&onset.Onset{Ports: r.ports}).Judge(context.Background(), request)
	require.NoError(t, err)
	text := r.thought(s.Dream + "/onset/1.1").Content
	require.LessOrEqual(t, len(text), 4*o.Knobs.PartialTokens)
	require.Greater(t, len(text), 3*o.Knobs.PartialTokens)
	require.True(t, strings.HasPrefix(strings.Repeat("the lamp burns under water ", 40), text+" "),
		"between two words")
}

func TestAnAnswerWithoutIdeasIsRetriedOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	_, s := r.loosened(dream.Verbalised)
	r.model.say["ideas"] = "I cannot."
	r.model.while = func(string) {
		if len(r.model.requests) == 2 {
			r.model.say["ideas"] = fourIdeas
		}
	}
	request := step(s, 1.5)
	request.Cycle, request.Turn = 1, 1
	result, err := (&onset.Onset{Ports: r.ports}).Partial(ctx, request)
	require.NoError(t, err)
	require.Equal(t, 3, result.Ideas)
	request.Turn = 3
	_, err = (&onset.Onset{Ports: r.ports}).Judge(ctx, request)
	require.NoError(t, err)
	require.Equal(t, "somebody rows the lighthouse home", r.thought(s.Dream+"/onset/1.3").Content)

	refusing := newRig(t)
	_, s = refusing.loosened(dream.Verbalised)
	refusing.model.say["ideas"] = "No."
	request = step(s, 1.5)
	request.Cycle, request.Turn = 1, 1
	result, err = (&onset.Onset{Ports: refusing.ports}).Partial(ctx, request)
	require.NoError(t, err)
	require.Equal(t, activities.EndUnreadable, result.End)
	require.Zero(t, result.Ideas)
	require.Len(t, refusing.model.requests, 2)
}

// Every paid answer can be found, however many ideas it contains.
func TestUnjudgedIdeasAreStoredAsDiscardedWhenTheDreamEnds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	_, s := r.loosened(dream.TwoPhase)
	r.model.say["partial"] = "a clock inside a fish"
	r.model.say["ideas"] = fourIdeas
	r.model.say["verdict"] = `{"novelty":0.7,"relevance":0.6,"coherence":0.9,"reason":"new"}`
	request := step(s, 1.5)
	request.Cycle, request.Turn = 1, 1
	_, err := (&onset.Onset{Ports: r.ports}).Partial(ctx, request)
	require.NoError(t, err)
	request.Turn = 2
	_, err = (&onset.Onset{Ports: r.ports}).Judge(ctx, request)
	require.NoError(t, err)
	r.finish(s)
	found := memory.As[*dream.Fragment](r.find(s, dream.KindFragment))
	require.Len(t, found, 3, "the scraps are not a partial")
	unjudged := 0
	for _, f := range found {
		if f.Reason == core.NotJudged {
			unjudged++
			require.Equal(t, dream.FragmentDiscarded, f.Status)
		}
	}
	require.Equal(t, 2, unjudged)
}

func TestAnInductionStatesProbabilitiesWhereTheModelIsLoosenedByWords(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	_, s := r.loosened(dream.TwoPhase)
	r.model.say["fragments"] = `{"fragments":[{"text":"a gull counts the quiet days","sources":["r1","r2"],"probability":0.03}]}`
	result, err := (&onset.Onset{Ports: r.ports}).Induce(ctx, step(s, 1.2))
	require.NoError(t, err)
	f, err := memory.One[*dream.Fragment](ctx, r.store, "a", result.Made[0].ID)
	require.NoError(t, err)
	require.InDelta(t, .03, *f.Settings.Probability, 1e-9)
	require.Contains(t, r.model.requests[0].Messages[1].Content, "hardly ever")
}
