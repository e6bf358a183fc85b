package llama

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	yl "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// MaxTemperature is the highest temperature an engine takes.
const MaxTemperature = 5

// AnswerRequest is one generation.
type AnswerRequest struct {
	Messages  []inference.Message
	Sampling  inference.Sampling
	MaxTokens int // > 0
	Stop      []string
	Schema    *inference.Schema // the answer follows it, token by token
	Idle      time.Duration     // longest silence while it works; 0 for none
	Steering  *inference.Steering
	Top       int // how many of the likeliest alternatives to return with each token; 0 for none
}

// Generation is the result of a generation. Its Text is the pieces that were emitted, joined.
type Generation struct {
	Text     string
	Finish   inference.Finish
	Read     int      // tokens of the prompt
	Reused   int      // of them, reused from the prompt before
	Made     int      // tokens generated
	Pieces   int      // emitted
	LogProb  *float64 // mean over the emitted tokens; nil when there were none
	Sampling inference.Sampling
	Steered  string
}

// Answer makes one answer. say is called with each piece in order; false ends the answer at that piece. Failures are
// those of inference.Model.
func (e *Engine) Answer(ctx context.Context, a AnswerRequest, say func(Piece) bool) (Generation, error) {
	generation := Generation{Finish: inference.Cut, Sampling: a.Sampling}
	if ctx.Err() != nil {
		return generation, cut(ctx, 0)
	}
	leave, err := e.enter()
	if err != nil {
		return generation, err
	}
	defer leave()
	job, err := e.prepare(a)
	if err != nil {
		return generation, err
	}
	d, err := e.sit(ctx)
	if err != nil {
		return generation, err
	}
	defer e.rise(d)
	release := d.watch(ctx, a.Idle, e.closing)
	defer release()
	if a.Steering != nil {
		generation.Steered = a.Steering.String()
	}
	generation.Read = len(job.prompt)
	return d.answer(ctx, job, say, generation)
}

// job is a validated request.
type job struct {
	AnswerRequest
	prompt []yl.Token
	taste  taste
	form   *form
	room   int // tokens that the answer may have
}

func (e *Engine) prepare(a AnswerRequest) (job, error) {
	j := job{AnswerRequest: a}
	if a.MaxTokens <= 0 {
		return j, bad("max_tokens is %d; it must be above 0", a.MaxTokens)
	}
	if len(a.Messages) == 0 {
		return j, bad("the request has no messages; it needs at least one")
	}
	for i, m := range a.Messages {
		if m.Role != "system" && m.Role != "user" && m.Role != "assistant" {
			return j, bad("message %d has role %q; it must be system, user or assistant", i+1, m.Role)
		}
	}
	seed, err := seedOf(a.Sampling)
	if err == nil {
		j.taste, err = tasteOf(a.Sampling, seed)
	}
	if err != nil {
		return j, bad("%v", err)
	}
	if err := e.steers(a.Steering); err != nil {
		return j, err
	}
	if a.Schema != nil {
		j.form, err = readForm(a.Schema.JSON)
		if err != nil {
			return j, bad("schema %q: %v", a.Schema.Name, err)
		}
	}
	text, err := e.render(a.Messages, true)
	if err != nil {
		return j, bad("%v", err)
	}
	j.prompt = e.tokens(text)
	j.room = min(a.MaxTokens, e.shape.Context-len(j.prompt))
	if len(j.prompt) == 0 || j.room <= 0 {
		return j,
			bad(
				"the prompt has %d tokens and the model's context %d; shorten what is shown, or give the model more context",
				len(j.prompt), e.shape.Context)
	}
	if j.form != nil && j.form.shortest > j.room {
		return j,
			bad(
				"an answer to the schema %q has at least %d letters, and %d tokens are left for it; raise max_tokens or shorten the prompt",
				a.Schema.Name, j.form.shortest, j.room)
	}
	return j, nil
}

// steers says why a request cannot be steered as it asks.
func (e *Engine) steers(s *inference.Steering) error {
	if s == nil {
		return nil
	}
	if err := s.Validate(); err != nil {
		return bad("%v", err)
	}
	v, ok := e.vectors[s.Vector]
	if !ok {
		return bad("there is no vector %q here; %s", s.Vector, e.vectorNames())
	}
	for layer := s.From; layer <= s.To; layer++ {
		if v.Layers[layer] != nil && layer < e.shape.Layers {
			return nil
		}
	}
	first, last := v.Span()
	return bad("vector %q has no direction from layer %d to %d; it has layers %d to %d of the model's %d", s.Vector,
		s.From, s.To, first, last, e.shape.Layers)
}

func seedOf(s inference.Sampling) (uint64, error) {
	if s.Seed != nil {
		return uint64(*s.Seed), nil
	}
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("draw a seed: %w", err)
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

func bad(format string, args ...any) error {
	return &inference.Failure{Kind: inference.BadRequest, Message: fmt.Sprintf(format, args...)}
}

func cut(ctx context.Context, n int) error {
	return fmt.Errorf("llama, after %d tokens: %w", n, context.Cause(ctx))
}

// answer reads the prompt and generates tokens until the answer ends.
func (d *llamaContext) answer(ctx context.Context, j job, say func(Piece) bool,
	generation Generation,
) (Generation, error) {
	v := &voice{stops: j.Stop, say: say, over: func() bool { return ctx.Err() != nil }}
	alive := func() bool { d.sign(); return ctx.Err() == nil && !d.stop.Load() }
	err := d.steer(j.Steering)
	defer d.straighten()
	var raw []float32
	if err == nil {
		raw, generation.Reused, err = d.read(j.prompt, alive)
	}
	if err == nil {
		generation.Finish, generation.Made, err = d.speak(ctx, j, v, raw)
	}
	generation.Text, generation.Pieces = v.text.String(), v.pieces
	if v.tokens > 0 {
		mean := v.sum / float64(v.tokens)
		generation.LogProb = &mean
	}
	if err == nil {
		return generation, nil
	}
	generation.Finish = inference.Cut
	switch {
	case ctx.Err() != nil:
		return generation, cut(ctx, generation.Made)
	case d.idle.Load():
		return generation,
			&inference.Failure{
				Kind: inference.Broken, Message: fmt.Sprintf("the model was silent for %s", j.Idle),
				Err: err,
			}
	case errors.Is(err, errStopped):
		return generation,
			&inference.Failure{Kind: inference.Unavailable, Message: "the model is being closed", Err: err}
	}
	return generation, &inference.Failure{Kind: inference.Broken, Message: err.Error(), Err: err}
}
