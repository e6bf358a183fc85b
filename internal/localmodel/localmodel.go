// Package localmodel is the built-in model and embedder for a machine with no provider. The model recombines clauses of
// the memories in its prompt, by a seed, and claims the regularities that the prompt says were counted. It knows
// nothing else.
package localmodel

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/embedder/minilm"
	"github.com/seed-56a03226/oneiros/internal/jsonshape"
)

// The names of the catalogue under which the built-in model is known.
const (
	Provider    = "builtin"
	Associative = "builtin/associative" // the generator
	Static      = "builtin/static"      // the embedder that knows what words mean
	MiniLM      = "builtin/minilm"      // the embedder that reads sentences, where its files are
	Lexical     = "builtin/lexical"     // the embedder that compares spellings
)

// Bounds of the built-in model: 2 is the highest temperature of the OpenAI wire, 32768 a window that holds the
// largest prompt a dream makes with its default knobs several times over.
const (
	maxTemperature = 2
	window         = 32_768
)

// Specs are the catalogue's entries for the built-in models. They state a price of zero.
func Specs() []inference.Spec {
	generator := inference.Spec{
		Name:           Associative,
		Provider:       Provider,
		Wire:           "associative",
		Price:          &budget.Price{},
		Context:        window,
		MaxTemperature: maxTemperature,
		MinP:           true,
		TopP:           true,
		Seed:           true,
		Stop:           true,
		JSON:           inference.JSONSchema,
		BuiltIn:        true,
	}
	specs := []inference.Spec{generator}
	for _, e := range embedders {
		specs = append(specs, inference.Spec{
			Name:        e.name,
			Provider:    Provider,
			Wire:        strings.TrimPrefix(e.name, Provider+"/"),
			Price:       &budget.Price{},
			Context:     window,
			JSON:        inference.JSONPrompt,
			Embeds:      true,
			BuiltIn:     true,
			Space:       e.space,
			Lexical:     e.lexical,
			Calibration: e.calibration,
		})
	}
	return specs
}

// Model is the built-in model. It calls nobody and is safe for concurrent use.
type Model struct {
	minilm func() (*minilm.Model, error) // reads it once; nil where its folder is not known
}

var _ inference.Model = (*Model)(nil)

// New gives the built-in model, without builtin/minilm.
func New() *Model { return &Model{} }

// Generate answers from the bulleted lines of the prompt (all of it when there are none). One token is one streamed
// piece: a word with its space, or a mark of punctuation. Without a seed the prompt is the seed.
func (m *Model) Generate(ctx context.Context, r inference.Request,
	token func(piece string) bool,
) (inference.Answer, error) {
	if err := admit(r); err != nil {
		return inference.Answer{}, err
	}
	temperature := settingsOf(r.Sampling)
	seed := seedOf(r)
	prompt, request := promptOf(r.Messages)
	answer := inference.Answer{
		UsageFrom: inference.ByProvider, Effective: temperature.effective(seed), Model: Associative,
		Provider: fmt.Sprintf("builtin-%016x", uint64(seed)), Tokens: budget.Tokens{In: request},
	}
	if request+int64(r.MaxTokens) > window {
		return inference.Answer{},
			badRequest("prompt of %d tokens and max_tokens %d are more than the window of %d", request, r.MaxTokens,
				window)
	}
	if ctx.Err() != nil {
		return cut(ctx, answer)
	}
	pieces, finish, err := compose(read(prompt), r, temperature, seed)
	if err != nil {
		return inference.Answer{}, err
	}
	return stream(ctx, answer, pieces, finish, token)
}

// Embed gives one unit vector per text in the space of the embedder that model names.
func (m *Model) Embed(ctx context.Context, model string, texts []string, _ string) (inference.Vectors, error) {
	e, unknown := embedderOf(model)
	if unknown != nil {
		return inference.Vectors{}, unknown
	}
	place, err := m.vectors(e)
	if err != nil {
		return inference.Vectors{}, err
	}
	out := inference.Vectors{V: make([][]float32, 0, len(texts)), Space: e.space, UsageFrom: inference.ByProvider}
	for _, text := range texts {
		if ctx.Err() != nil {
			return inference.Vectors{}, fmt.Errorf("embed %d texts: %w", len(texts), context.Cause(ctx))
		}
		vector, tokens := place(text)
		out.V = append(out.V, vector)
		out.Tokens.In += int64(tokens)
	}
	return out, nil
}

// compose writes the whole answer ahead of the stream: it takes milliseconds, and stop sequences may span pieces.
func compose(m *material, r inference.Request, set settings, seed int64) ([]string, inference.Finish, error) {
	var pieces []string
	finish := inference.Stopped
	if r.Schema != nil {
		shape, err := jsonshape.Read(r.Schema.JSON)
		if err != nil {
			return nil, "", badRequest("schema %q: %v", r.Schema.Name, err)
		}
		pieces = fill(m, shape, r.MaxTokens, set, seed)
	} else {
		pieces = m.quote()
		if pieces == nil {
			pieces = newWriter(m, set, diceOf(seed), r.MaxTokens).weave(1)
		}
	}
	if len(pieces) > r.MaxTokens {
		pieces, finish = pieces[:r.MaxTokens], inference.Length
	} else if r.Schema == nil && len(pieces) == r.MaxTokens && !endsSentence(pieces) {
		finish = inference.Length
	}
	if halted := stopAt(pieces, r.Stop); halted != nil {
		pieces, finish = halted, inference.Stopped
	}
	return pieces, finish, nil
}

func diceOf(seed int64) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 0x6f6e6569726f73)) }

func endsSentence(pieces []string) bool {
	return len(pieces) > 0 && strings.ContainsAny(pieces[len(pieces)-1], ".!?")
}

// stopAt cuts the pieces before the earliest stop sequence; nil when there is none.
func stopAt(pieces []string, stops []string) []string {
	text := strings.Join(pieces, "")
	at := -1
	for _, s := range stops {
		if i := strings.Index(text, s); s != "" && i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	kept := []string{}
	for _, p := range pieces {
		if len(p) >= at {
			if at > 0 {
				kept = append(kept, p[:at])
			}
			break
		}
		kept, at = append(kept, p), at-len(p)
	}
	return kept
}

// stream hands out the pieces one by one and stops where it is told.
func stream(ctx context.Context, a inference.Answer, pieces []string, finish inference.Finish,
	token func(string) bool,
) (inference.Answer, error) {
	a.Finish = finish
	var text strings.Builder
	note := func() {
		a.Text, a.Tokens.Out = text.String(), int64(a.Visible)
	}
	for _, p := range pieces {
		if ctx.Err() != nil {
			note()
			return cut(ctx, a)
		}
		text.WriteString(p)
		a.Visible++
		if token != nil && !token(p) {
			a.Finish = inference.Halted
			break
		}
	}
	note()
	return a, nil
}

func cut(ctx context.Context, a inference.Answer) (inference.Answer, error) {
	a.Finish = inference.Cut
	return a, fmt.Errorf("built-in model, after %d tokens: %w", a.Visible, context.Cause(ctx))
}

func admit(r inference.Request) error {
	if r.Model != Associative {
		return &inference.Failure{
			Kind:    inference.Unknown,
			Message: fmt.Sprintf("the built-in generator is called %q, not %q", Associative, r.Model),
		}
	}
	if r.MaxTokens <= 0 {
		return badRequest("max_tokens is %d; it must be above 0", r.MaxTokens)
	}
	for _, f := range []struct {
		name string
		v    *float64
		high float64
	}{
		{"temperature", r.Sampling.Temperature, maxTemperature},
		{"min_p", r.Sampling.MinP, 1},
		{"top_p", r.Sampling.TopP, 1},
	} {
		if f.v != nil && (math.IsNaN(*f.v) || *f.v < 0 || *f.v > f.high) {
			return badRequest("%s is %v; it must lie between 0 and %v", f.name, *f.v, f.high)
		}
	}
	return nil
}

func badRequest(format string, args ...any) *inference.Failure {
	return &inference.Failure{Kind: inference.BadRequest, Message: fmt.Sprintf(format, args...)}
}

// settings are the sampling in force: a temperature of 1 and no cuts unless asked for.
type settings struct {
	T, minP, topP float64
	sampling      inference.Sampling
}

func settingsOf(s inference.Sampling) settings {
	set := settings{T: 1, topP: 1, sampling: s}
	if s.Temperature != nil {
		set.T = *s.Temperature
	}
	if s.MinP != nil {
		set.minP = *s.MinP
	}
	if s.TopP != nil {
		set.topP = *s.TopP
	}
	return set
}

func (s settings) effective(seed int64) string {
	answer := s.sampling
	answer.Temperature, answer.Seed = &s.T, &seed
	return answer.String()
}

func seedOf(r inference.Request) int64 {
	if r.Sampling.Seed != nil {
		return *r.Sampling.Seed
	}
	h := fnv.New64a()
	for _, m := range r.Messages {
		_, _ = h.Write([]byte(m.Role + "\x00" + m.Content + "\x00"))
	}
	return int64(h.Sum64() >> 1)
}

// promptOf joins what the system and the user say and counts its tokens: the words, and three for each message.
func promptOf(messages []inference.Message) (string, int64) {
	var b strings.Builder
	var n int64
	for _, m := range messages {
		n += int64(len(strings.Fields(m.Content))) + 3
		if m.Role != "assistant" {
			b.WriteString(m.Content)
			b.WriteByte('\n')
		}
	}
	return strings.ToValidUTF8(b.String(), " "), n
}
