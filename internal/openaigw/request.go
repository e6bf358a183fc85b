package openaigw

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sashabaranov/go-openai"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// written is a generation request ready to be sent, with the sampling that it really contains.
type written struct {
	body     []byte
	sampling inference.Sampling
	bytes    int      // of the prompt
	fields   []string // of the body that a model may refuse, by their names in the request
	steered  string   // as Answer.Steered
}

// pricedModel finds a model of this provider that has a price.
func (g *Gateway) pricedModel(model string) (inference.Spec, error) {
	spec, err := g.catalog.Lookup(model)
	if err != nil {
		return spec, err
	}
	if spec.Provider != g.name {
		return spec, &inference.Failure{
			Kind:    inference.Unknown,
			Message: fmt.Sprintf("model %q belongs to provider %q, not to %q", model, spec.Provider, g.name),
		}
	}
	if spec.Price == nil {
		return spec, &inference.Failure{Kind: inference.Unpriced, Message: fmt.Sprintf(
			"model %q has no price; add price: {in, cached_in, out} in dollars per million tokens to its entry under providers.%s.models",
			model, g.name)}
	}
	return spec, nil
}

// write renders a request: what the model or the provider refuses is left out.
func (g *Gateway) write(spec inference.Spec, r inference.Request) (written, error) {
	if err := check(spec, r); err != nil {
		return written{}, err
	}
	messages := r.MessagesFor(spec.JSON)
	request := openai.ChatCompletionRequest{Model: spec.Wire, Stream: true, ResponseFormat: format(spec, r.Schema)}
	w := written{sampling: g.accepted(spec, r.Sampling)}
	for _, m := range messages {
		request.Messages = append(request.Messages, openai.ChatCompletionMessage{Role: m.Role, Content: m.Content})
		w.bytes += len(m.Content)
	}
	if !g.profile.NoUsage {
		request.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	fields := maps.Clone(g.profile.Extra)
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	g.sample(fields, w.sampling)
	if spec.Stop && len(r.Stop) > 0 && g.profile.Stop != Never {
		fields[g.profile.Stop] = encode(r.Stop)
	}
	if r.LogProbs && spec.LogProbs && g.profile.LogProbs != Never {
		fields[g.profile.LogProbs] = encode(true)
	}
	limit := g.profile.MaxTokens
	if spec.Reasoning {
		limit = g.profile.MaxThinking
	}
	fields[limit] = encode(limitOf(spec, r))
	var err error
	request.Model, w.steered, err = g.steer(spec, r.Steering, fields)
	if err != nil {
		return written{}, err
	}
	body, err := json.Marshal(request)
	if err != nil {
		return written{}, badRequest("request cannot be written as JSON: %v", err)
	}
	w.body, w.fields = splice(body, fields), slices.Sorted(maps.Keys(fields))
	if request.ResponseFormat != nil {
		w.fields = append(w.fields, responseFormat)
	}
	return w, nil
}

// limitOf is the most tokens of any sort that the provider may generate.
func limitOf(spec inference.Spec, r inference.Request) int {
	if spec.Reasoning {
		return r.MaxTokens + r.Reasoning
	}
	return r.MaxTokens
}

// accepted is the part of the sampling that this model of this provider accepts.
func (g *Gateway) accepted(spec inference.Spec, s inference.Sampling) inference.Sampling {
	var out inference.Sampling
	if s.Temperature != nil && spec.MaxTemperature > 0 && g.profile.Temperature != Never {
		temperature := min(*s.Temperature, spec.MaxTemperature)
		out.Temperature = &temperature
	}
	if spec.MinP && g.profile.MinP != Never {
		out.MinP = s.MinP
	}
	if spec.TopP && g.profile.TopP != Never {
		out.TopP = s.TopP
	}
	if spec.Seed && g.profile.Seed != Never {
		out.Seed = s.Seed
	}
	return out
}

func (g *Gateway) sample(fields map[string]json.RawMessage, s inference.Sampling) {
	if s.Temperature != nil {
		fields[g.profile.Temperature] = encode(*s.Temperature)
	}
	if s.MinP != nil {
		fields[g.profile.MinP] = encode(*s.MinP)
	}
	if s.TopP != nil {
		fields[g.profile.TopP] = encode(*s.TopP)
	}
	if s.Seed != nil {
		fields[g.profile.Seed] = encode(*s.Seed)
	}
}

// splice adds fields to a JSON object, sorted by name. The object must not contain them.
func splice(object []byte, fields map[string]json.RawMessage) []byte {
	out := object[:len(object)-1]
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		out = append(out, ',')
		out = append(out, encode(name)...)
		out = append(out, ':')
		out = append(out, fields[name]...)
	}
	return append(out, '}')
}

// encode is for values that are always valid JSON; check has refused others.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// check refuses what no provider could answer; nothing is sent then.
func check(spec inference.Spec, r inference.Request) error {
	if spec.Embeds {
		return badRequest("model %q is an embedding model; it cannot generate", r.Model)
	}
	if r.MaxTokens <= 0 || r.Reasoning < 0 {
		return badRequest("max tokens is %d and reasoning %d; the first must be above 0, the second not below",
			r.MaxTokens, r.Reasoning)
	}
	if len(r.Messages) == 0 {
		return badRequest("request has no messages; it needs at least one")
	}
	for i, m := range r.Messages {
		if m.Role != "system" && m.Role != "user" && m.Role != "assistant" {
			return badRequest("message %d has role %q; it must be system, user or assistant", i+1, m.Role)
		}
		if m.Content == "" {
			return badRequest("message %d (%s) is empty", i+1, m.Role)
		}
	}
	for _, f := range []struct {
		name string
		v    *float64
	}{{"temperature", r.Sampling.Temperature}, {"min_p", r.Sampling.MinP}, {"top_p", r.Sampling.TopP}} {
		if f.v != nil && (math.IsNaN(*f.v) || math.IsInf(*f.v, 0) || *f.v < 0) {
			return badRequest("%s is %v; it must be a number from 0 up", f.name, *f.v)
		}
	}
	if r.Schema != nil && !json.Valid(r.Schema.JSON) {
		return badRequest("schema %q is not JSON", r.Schema.Name)
	}
	return nil
}

func badRequest(format string, a ...any) error {
	return &inference.Failure{Kind: inference.BadRequest, Message: fmt.Sprintf(format, a...)}
}
