package llama

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Provider makes an engine a provider of a catalogue. Each of its names is the engine's one model.
type Provider struct {
	Name    string // in the catalogue
	Engine  *Engine
	Catalog inference.Catalog
}

var _ inference.Model = (*Provider)(nil)

// Generate answers with the engine. Sampling that the model's entry refuses is left out.
func (p *Provider) Generate(ctx context.Context, r inference.Request,
	token func(piece string) bool,
) (inference.Answer, error) {
	spec, err := p.find(r.Model)
	if err != nil {
		return inference.Answer{}, err
	}
	if spec.Embeds {
		return inference.Answer{}, bad("model %q is listed as an embedding model; it cannot generate", r.Model)
	}
	ask := AnswerRequest{
		Messages:  r.MessagesFor(spec.JSON),
		Sampling:  accepted(spec, r.Sampling),
		MaxTokens: r.MaxTokens,
		Idle:      r.IdleToken,
		Steering:  r.Steering,
	}
	if spec.Stop {
		ask.Stop = r.Stop
	}
	if spec.JSON == inference.JSONSchema {
		ask.Schema = r.Schema
	}
	var say func(Piece) bool
	if token != nil {
		say = func(piece Piece) bool { return token(piece.Text) }
	}
	generation, err := p.Engine.Answer(ctx, ask, say)
	return generation.answer(p.Engine.shape.Name, r.LogProbs), err
}

// answer translates the result into the port's types.
func (t Generation) answer(model string, odds bool) inference.Answer {
	a := inference.Answer{
		Text:      t.Text,
		Finish:    t.Finish,
		UsageFrom: inference.ByProvider,
		Visible:   t.Pieces,
		Effective: t.Sampling.String(),
		Model:     model,
		Tokens:    budget.Tokens{In: int64(t.Read), Cached: int64(t.Reused), Out: int64(t.Made)},
		Steered:   t.Steered,
	}
	if odds {
		a.LogProb = t.LogProb
	}
	return a
}

// Embed refuses: these models only generate.
func (p *Provider) Embed(ctx context.Context, model string, texts []string, _ string) (inference.Vectors, error) {
	if _, err := p.find(model); err != nil {
		return inference.Vectors{}, err
	}
	if ctx.Err() != nil {
		return inference.Vectors{}, fmt.Errorf("embed %d texts: %w", len(texts), context.Cause(ctx))
	}
	return inference.Vectors{},
		bad("model %q cannot embed; give the embedder's role to another, such as builtin/lexical", model)
}

func (p *Provider) find(model string) (inference.Spec, error) {
	spec, err := p.Catalog.Lookup(model)
	if err != nil {
		return spec, err
	}
	if spec.Provider != p.Name {
		return spec,
			&inference.Failure{
				Kind:    inference.Unknown,
				Message: fmt.Sprintf("model %q belongs to provider %q, not to %q", model, spec.Provider, p.Name),
			}
	}
	if spec.Price == nil {
		return spec,
			&inference.Failure{
				Kind:    inference.Unpriced,
				Message: fmt.Sprintf("model %q has no price; a model in this process costs 0", model),
			}
	}
	return spec, nil
}

// accepted is the part of a sampling that the entry accepts.
func accepted(spec inference.Spec, s inference.Sampling) inference.Sampling {
	var out inference.Sampling
	if s.Temperature != nil && spec.MaxTemperature > 0 {
		temperature := min(*s.Temperature, spec.MaxTemperature, MaxTemperature)
		out.Temperature = &temperature
	}
	if spec.MinP {
		out.MinP = s.MinP
	}
	if spec.TopP {
		out.TopP = s.TopP
	}
	if spec.Seed {
		out.Seed = s.Seed
	}
	return out
}
