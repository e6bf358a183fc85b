package openaigw

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/sashabaranov/go-openai"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
)

// written is a generation request ready to be sent, with the sampling that it really contains.
type written struct {
	body     []byte
	sampling inference.Sampling
	bytes    int      // of the prompt
	fields   []string // of the body that a model may refuse, by their names in the request
	steered  string   // as Answer.Steered
	most     int64    // tokens of the answer that were asked for, for a provider that does not say that it cut one
}

// write renders a request: what the model or the provider refuses is left out.
func (g *Gateway) write(spec inference.Spec, r inference.Request) (written, error) {
	if err := exchange.Check(spec, r); err != nil {
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
	fields[limit] = encode(exchange.LimitOf(spec, r))
	var err error
	request.Model, w.steered, err = g.steer(spec, r.Steering, fields)
	if err != nil {
		return written{}, err
	}
	body, err := json.Marshal(request)
	if err != nil {
		return written{}, exchange.BadRequest("request cannot be written as JSON: %v", err)
	}
	w.body, w.fields = splice(body, fields), slices.Sorted(maps.Keys(fields))
	if request.ResponseFormat != nil {
		w.fields = append(w.fields, responseFormat)
	}
	return w, nil
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

// encode is for values that are always valid JSON; exchange.Check has refused others.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}
