// Package inferencetest is the contract suite of inference.Model.
package inferencetest

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Stage is a model under test, fresh for each test of the suite.
type Stage struct {
	Model inference.Model
	// of a priced model of its catalogue that generates at least 20 tokens when asked for a story
	Spec     inference.Spec
	Embedder string     // the catalogue's name of an embedding model; empty when it has none
	Unpriced string     // the catalogue's name of a model without a price; empty when it has none
	Calls    func() int // how many calls really reached the other side; nil when there is no other side
	Break    func()     // makes the next call fail on the other side; nil when it cannot fail
}

// Run runs the suite on the models that open returns.
func Run(t *testing.T, open func(t *testing.T) Stage) {
	t.Helper()
	for _, promise := range []struct {
		name string
		hold func(t *testing.T, s Stage)
	}{
		{"pieces come in order and make the text", piecesMakeTheText},
		{"no more pieces come than were asked for", lengthIsKept},
		{"a caller who has enough halts at that piece", enoughHalts},
		{"an ended context keeps the pieces read", cutKeepsPieces},
		{"a context that has ended sends nothing", deadContextIsCut},
		{"temperature zero is sent and repeats itself", zeroIsZero},
		{"only what was asked for is reported as effective", effectiveIsTrue},
		{"many at once get their own answers", manyAtOnce},
		{"an unknown model is refused before anything is sent", unknownIsRefused},
		{"an unpriced model is refused before anything is sent", unpricedIsRefused},
		{"a failed call is made once", failureIsNotRepeated},
		{"a schema is answered with JSON", schemaIsFilled},
		{"stop words do not appear", stopIsKept},
		{"vectors are units, in order, and name their space", vectorsAreUnits},
	} {
		t.Run(promise.name, func(t *testing.T) {
			t.Parallel()
			promise.hold(t, open(t))
		})
	}
}

// Story is a request that every model can answer at length.
func Story(model string) inference.Request {
	return inference.Request{
		Model:     model,
		MaxTokens: 60,
		Reasoning: 200,
		Key:       "inferencetest#1",
		IdleToken: 30 * time.Second,
		Messages: []inference.Message{
			{Role: "system", Content: "You are falling asleep. Let memories that never met drift beside each other."},
			{Role: "user", Content: "Memories, in no order:\n" +
				"- [r1] The harbour was closed all winter and the boats stood on the quay.\n" +
				"- [r2] Wages came late in March, and the baker gave credit.\n" +
				"- [r3] A letter from the orchard said that the bees had come back.\n" +
				"- [r4] The clock in the hall stopped when the bridge was opened.\n" +
				"Follow the image in many sentences until you are woken."},
		},
	}
}

func ptr[T any](v T) *T { return &v }

func generate(t *testing.T, s Stage, r inference.Request) inference.Answer {
	t.Helper()
	a, err := s.Model.Generate(t.Context(), r, nil)
	require.NoError(t, err)
	return a
}

func piecesMakeTheText(t *testing.T, s Stage) {
	var pieces []string
	a, err := s.Model.Generate(t.Context(), Story(s.Spec.Name),
		func(p string) bool { pieces = append(pieces, p); return true })
	require.NoError(t, err)
	require.NotEmpty(t, pieces)
	require.NotContains(t, pieces, "")
	require.Equal(t, strings.Join(pieces, ""), a.Text)
	require.Equal(t, len(pieces), a.Visible)
	require.Contains(t, []inference.Finish{inference.Stopped, inference.Length}, a.Finish)
	require.Positive(t, a.Tokens.In)
	require.GreaterOrEqual(t, a.Tokens.Out, int64(a.Visible))
	require.Contains(t, []inference.UsageFrom{inference.ByProvider, inference.ByCount}, a.UsageFrom)
}

func lengthIsKept(t *testing.T, s Stage) {
	r := Story(s.Spec.Name)
	r.MaxTokens = 9
	n := 0
	a, err := s.Model.Generate(t.Context(), r, func(string) bool { n++; return true })
	require.NoError(t, err)
	require.LessOrEqual(t, n, 9)
	require.Equal(t, inference.Length, a.Finish)
}

func enoughHalts(t *testing.T, s Stage) {
	var pieces []string
	a, err := s.Model.Generate(t.Context(), Story(s.Spec.Name), func(p string) bool {
		pieces = append(pieces, p)
		return len(pieces) < 5
	})
	require.NoError(t, err)
	require.Equal(t, inference.Halted, a.Finish)
	require.Len(t, pieces, 5)
	require.Equal(t, strings.Join(pieces, ""), a.Text)
}

func cutKeepsPieces(t *testing.T, s Stage) {
	connect := errors.New("a client connects")
	ctx, wake := context.WithCancelCause(t.Context())
	defer wake(nil)
	var pieces []string
	a, err := s.Model.Generate(ctx, Story(s.Spec.Name), func(p string) bool {
		pieces = append(pieces, p)
		if len(pieces) == 4 {
			wake(connect)
		}
		return true
	})
	require.ErrorIs(t, err, connect)
	_, failed := inference.AsFailure(err)
	require.False(t, failed, "an interruption is no failure of the provider")
	require.Equal(t, inference.Cut, a.Finish)
	require.Len(t, pieces, 4, "a woken stream is cut, not drained")
	require.Equal(t, strings.Join(pieces, ""), a.Text)
}

func deadContextIsCut(t *testing.T, s Stage) {
	connect := errors.New("a client connects")
	ctx, wake := context.WithCancelCause(t.Context())
	wake(connect)
	a, err := s.Model.Generate(ctx, Story(s.Spec.Name), func(string) bool {
		t.Error("a piece came after the end")
		return true
	})
	require.ErrorIs(t, err, connect)
	require.Equal(t, inference.Cut, a.Finish)
	require.Empty(t, a.Text)
	calls(t, s, 0)
	if s.Embedder != "" {
		_, err := s.Model.Embed(ctx, s.Embedder, []string{"a"}, "")
		require.ErrorIs(t, err, connect)
	}
}

func zeroIsZero(t *testing.T, s Stage) {
	if s.Spec.MaxTemperature <= 0 {
		t.Skip("the model refuses a temperature")
	}
	r := Story(s.Spec.Name)
	r.Sampling.Temperature = ptr(0.0)
	first := generate(t, s, r)
	require.Equal(t, "temperature=0", first.Effective)
	require.Equal(t, first.Text, generate(t, s, r).Text)
}

func effectiveIsTrue(t *testing.T, s Stage) {
	require.Empty(t, generate(t, s, Story(s.Spec.Name)).Effective)
	r := Story(s.Spec.Name)
	r.Sampling = inference.Sampling{Temperature: ptr(1.31), MinP: ptr(.1), TopP: ptr(.9), Seed: ptr(int64(7))}
	want := inference.Sampling{}
	if s.Spec.MaxTemperature > 0 {
		want.Temperature = ptr(min(1.31, s.Spec.MaxTemperature))
	}
	if s.Spec.MinP {
		want.MinP = r.Sampling.MinP
	}
	if s.Spec.TopP {
		want.TopP = r.Sampling.TopP
	}
	if s.Spec.Seed {
		want.Seed = r.Sampling.Seed
	}
	require.Equal(t, want.String(), generate(t, s, r).Effective)
}

func manyAtOnce(t *testing.T, s Stage) {
	ask := func(i int) inference.Request {
		r := Story(s.Spec.Name)
		r.Key = "inferencetest#" + strconv.Itoa(i)
		r.Messages = append(r.Messages,
			inference.Message{Role: "user", Content: "This is drift " + strconv.Itoa(i) + "."})
		if s.Spec.MaxTemperature > 0 {
			r.Sampling.Temperature = ptr(0.0)
		}
		return r
	}
	const many = 16
	answers, errs := make([]inference.Answer, many), make([]error, many)
	var group sync.WaitGroup
	for i := range many {
		group.Go(func() { answers[i], errs[i] = s.Model.Generate(t.Context(), ask(i), nil) })
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	calls(t, s, many)
	if s.Spec.MaxTemperature <= 0 {
		return // nothing promises that it repeats itself
	}
	for i := range 4 {
		require.Equal(t, generate(t, s, ask(i)).Text, answers[i].Text)
	}
}

func unknownIsRefused(t *testing.T, s Stage) {
	_, err := s.Model.Generate(t.Context(), Story("nobody/nothing"), nil)
	refused(t, err, inference.Unknown)
	_, err = s.Model.Embed(t.Context(), "nobody/nothing", []string{"a"}, "")
	refused(t, err, inference.Unknown)
	calls(t, s, 0)
}

func unpricedIsRefused(t *testing.T, s Stage) {
	if s.Unpriced == "" {
		t.Skip("every model has a price")
	}
	_, err := s.Model.Generate(t.Context(), Story(s.Unpriced), nil)
	refused(t, err, inference.Unpriced)
	calls(t, s, 0)
}

func refused(t *testing.T, err error, kind inference.Kind) {
	t.Helper()
	f, ok := inference.AsFailure(err)
	require.True(t, ok, "%v is no failure", err)
	require.Equal(t, kind, f.Kind)
	require.False(t, f.Billed)
	require.False(t, f.Again())
	require.NotEmpty(t, f.Message)
}

func failureIsNotRepeated(t *testing.T, s Stage) {
	if s.Break == nil || s.Calls == nil {
		t.Skip("it has no other side that could fail")
	}
	s.Break()
	_, err := s.Model.Generate(t.Context(), Story(s.Spec.Name), nil)
	_, failed := inference.AsFailure(err)
	require.True(t, failed, "%v is no failure", err)
	calls(t, s, 1)
	generate(t, s, Story(s.Spec.Name))
	calls(t, s, 2)
}

func calls(t *testing.T, s Stage, want int) {
	t.Helper()
	if s.Calls != nil {
		require.Equal(t, want, s.Calls(), "calls that reached the other side")
	}
}

func schemaIsFilled(t *testing.T, s Stage) {
	r := Story(s.Spec.Name)
	r.MaxTokens = 600
	r.Schema = &inference.Schema{
		Name: "fragments",
		JSON: json.RawMessage(`{"type":"object","additionalProperties":false,` +
			`"required":["text","sources"],"properties":{"text":{"type":"string"},"sources":{"type":"array","minItems":1,"maxItems":4,"items":{"type":"string"}}}}`),
	}
	a := generate(t, s, r)
	require.Equal(t, inference.Stopped, a.Finish)
	var v struct {
		Text    *string   `json:"text"`
		Sources *[]string `json:"sources"`
	}
	require.NoError(t, json.Unmarshal([]byte(a.Text), &v), a.Text)
	require.NotNil(t, v.Text)
	require.NotNil(t, v.Sources)
}

func stopIsKept(t *testing.T, s Stage) {
	if !s.Spec.Stop {
		t.Skip("the model refuses stop words")
	}
	r := Story(s.Spec.Name)
	r.Stop = []string{"."}
	require.NotContains(t, generate(t, s, r).Text, ".")
}

func vectorsAreUnits(t *testing.T, s Stage) {
	if s.Embedder == "" {
		t.Skip("it has no embedder")
	}
	texts := []string{"the harbour in winter", "wages came late", "the harbour in winter"}
	got, err := s.Model.Embed(t.Context(), s.Embedder, texts, "inferencetest#vectors")
	require.NoError(t, err)
	require.Len(t, got.V, len(texts))
	for _, v := range got.V {
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		require.InDelta(t, 1, math.Sqrt(sum), 1e-4)
		require.Len(t, v, len(got.V[0]))
	}
	require.Equal(t, got.V[0], got.V[2])
	require.NotEqual(t, got.V[0], got.V[1])
	require.Contains(t, got.Space, strconv.Itoa(len(got.V[0])))
	require.Positive(t, got.Tokens.In)
	again, err := s.Model.Embed(t.Context(), s.Embedder, texts[1:2], "inferencetest#again")
	require.NoError(t, err)
	require.Equal(t, got.Space, again.Space)
	require.Equal(t, got.V[1], again.V[0])
}
