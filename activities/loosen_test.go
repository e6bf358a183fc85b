package activities

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// loosened begins a dream whose generator is loosened by words, and gathers its memories.
func (r *rig) loosened(way dream.Loosening) (Spec, Stretch) {
	r.t.Helper()
	r.live(10)
	o := r.spec(1, tonight)
	o.Loosening = map[dream.Role]dream.Loosening{dream.Generator: way}
	require.NoError(r.t, o.Validate())
	s := r.begin(o)
	_, err := (&Onset{r.ports}).Gather(context.Background(), GatherRequest{Stretch: s})
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
	result, err := (&Onset{r.ports}).Partial(ctx, request)
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
		judged, err := (&Onset{r.ports}).Judge(ctx, request)
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
	again, err := (&Onset{r.ports}).Partial(ctx, request)
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
	result, err := (&Onset{r.ports}).Partial(ctx, request)
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
	_, err := (&Onset{r.ports}).Partial(context.Background(), request)
	require.NoError(t, err)
	got, err := r.ports.partial(context.Background(), o, 1, 1, 1.5)
	require.NoError(t, err)
	require.LessOrEqual(t, len(got.text), 4*o.Knobs.PartialTokens)
	require.Greater(t, len(got.text), 3*o.Knobs.PartialTokens)
	require.True(t, strings.HasPrefix(strings.Repeat("the lamp burns under water ", 40), got.text+" "),
		"between two words")
}

func TestAnAnswerWithoutIdeasIsRetriedOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	o, s := r.loosened(dream.Verbalised)
	r.model.say["ideas"] = "I cannot."
	r.model.while = func(string) {
		if len(r.model.requests) == 2 {
			r.model.say["ideas"] = fourIdeas
		}
	}
	request := step(s, 1.5)
	request.Cycle, request.Turn = 1, 1
	result, err := (&Onset{r.ports}).Partial(ctx, request)
	require.NoError(t, err)
	require.Equal(t, 3, result.Ideas)
	got, err := r.ports.partial(ctx, o, 1, 3, 1.5)
	require.NoError(t, err)
	require.Equal(t, "somebody rows the lighthouse home", got.text)

	refusing := newRig(t)
	_, s = refusing.loosened(dream.Verbalised)
	refusing.model.say["ideas"] = "No."
	request = step(s, 1.5)
	request.Cycle, request.Turn = 1, 1
	result, err = (&Onset{refusing.ports}).Partial(ctx, request)
	require.NoError(t, err)
	require.Equal(t, EndUnreadable, result.End)
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
	_, err := (&Onset{r.ports}).Partial(ctx, request)
	require.NoError(t, err)
	request.Turn = 2
	_, err = (&Onset{r.ports}).Judge(ctx, request)
	require.NoError(t, err)
	r.finish(s)
	found := memory.As[*dream.Fragment](r.find(s, dream.KindFragment))
	require.Len(t, found, 3, "the scraps are not a partial")
	unjudged := 0
	for _, f := range found {
		if f.Reason == notJudged {
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
	result, err := (&Onset{r.ports}).Induce(ctx, step(s, 1.2))
	require.NoError(t, err)
	f, err := memory.One[*dream.Fragment](ctx, r.store, "a", result.Made[0].ID)
	require.NoError(t, err)
	require.InDelta(t, .03, *f.Settings.Probability, 1e-9)
	require.Contains(t, r.model.requests[0].Messages[1].Content, "hardly ever")
}

func TestIdeasAreReadInEveryFormat(t *testing.T) {
	t.Parallel()
	p := probabilityOf
	for name, c := range map[string]struct {
		answer string
		want   []idea
	}{
		"as asked":    {`{"ideas":[{"text":"a","probability":0.1}]}`, []idea{{"a", p(.1)}}},
		"fenced":      {"```json\n{\"ideas\":[{\"text\":\"a\",\"probability\":0}]}\n```", []idea{{"a", p(0)}}},
		"a bare list": {`[{"text":"a"},{"text":" b "}]`, []idea{{"a", nil}, {"b", nil}}},
		"cut off": {
			`{"ideas":[{"text":"the gull counts","probability":0.1},{"text":"the winter is fol`,
			[]idea{{"the gull counts", p(.1)}},
		},
		"none is one": {
			`{"ideas":[{"text":"a","probability":-1},{"text":"b","probability":50}]}`,
			[]idea{{"a", nil}, {"b", nil}},
		},
		"blank": {`{"ideas":[{"text":" "},{"text":"b"}]}`, []idea{{"b", nil}}},
		"more than asked": {
			`{"ideas":[{"text":"a"},{"text":"b"},{"text":"c"},{"text":"d"},{"text":"e"}]}`,
			[]idea{{"a", nil}, {"b", nil}, {"c", nil}, {"d", nil}},
		},
		"lines": {
			"Here you go:\n1. The gull counts the days. (p = 0.04)\n2) The winter folds itself up, probability: .02\n- only two words\n",
			[]idea{{"The gull counts the days.", p(.04)}, {"The winter folds itself up,", p(.02)}},
		},
		"nothing":   {"", nil},
		"a refusal": {"I cannot.", nil},
	} {
		require.Equal(t, c.want, readIdeas(c.answer, 4), name)
	}
}

func FuzzReadIdeas(f *testing.F) {
	f.Add(fourIdeas)
	f.Add("1. a line of some words (p=.1)\n{")
	f.Fuzz(func(t *testing.T, answer string) {
		found := readIdeas(answer, 4)
		require.LessOrEqual(t, len(found), 4)
		for _, one := range found {
			require.NotEmpty(t, strings.TrimSpace(one.Text))
			require.True(t, one.Probability == nil || *one.Probability >= 0 && *one.Probability <= 1)
		}
		require.Equal(t, found, readIdeas(answer, 4))
	})
}
