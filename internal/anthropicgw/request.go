package anthropicgw

import (
	"encoding/json"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
	"github.com/seed-56a03226/oneiros/internal/wire/messages"
)

// written is a request ready to be sent, with the sampling that it really contains.
type written struct {
	body     []byte
	sampling inference.Sampling
	bytes    int      // of the prompt
	fields   []string // of the body that a model may refuse
	steered  string   // as Answer.Steered
}

type generation struct {
	Model       string        `json:"model"`
	MaxTokens   int           `json:"max_tokens"`
	System      string        `json:"system,omitempty"`
	Messages    []roleText    `json:"messages"`
	Temperature *float64      `json:"temperature,omitempty"`
	TopP        *float64      `json:"top_p,omitempty"`
	Stop        []string      `json:"stop_sequences,omitempty"`
	Output      *outputConfig `json:"output_config,omitempty"`
	Stream      bool          `json:"stream"`
}

type roleText struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type outputConfig struct {
	Format struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	} `json:"format"`
}

// write renders a request: what the model refuses is left out. max_tokens bounds thinking and answer together.
// Whether a model thinks is left to it: what the field for that may say differs from model to model.
func write(spec inference.Spec, r inference.Request) (written, error) {
	if err := exchange.Check(spec, r); err != nil {
		return written{}, err
	}
	q := generation{Model: spec.Wire, MaxTokens: exchange.LimitOf(spec, r), Stream: true}
	var w written
	q.System, q.Messages = prompt(r.MessagesFor(spec.JSON))
	w.bytes = len(q.System)
	for _, m := range q.Messages {
		w.bytes += len(m.Content)
	}
	if t := r.Sampling.Temperature; t != nil && spec.MaxTemperature > 0 {
		q.Temperature = new(min(*t, spec.MaxTemperature))
		w.fields = append(w.fields, "temperature")
	}
	if spec.TopP && r.Sampling.TopP != nil {
		q.TopP = r.Sampling.TopP
		w.fields = append(w.fields, "top_p")
	}
	w.sampling = inference.Sampling{Temperature: q.Temperature, TopP: q.TopP}
	if spec.Stop {
		q.Stop = stops(r.Stop)
	}
	if len(q.Stop) > 0 {
		w.fields = append(w.fields, "stop_sequences")
	}
	if r.Schema != nil && spec.JSON == inference.JSONSchema {
		schema, err := messages.PlainSchema(r.Schema.JSON)
		if err != nil {
			return written{}, exchange.BadRequest("schema %q: %v", r.Schema.Name, err)
		}
		q.Output = &outputConfig{}
		q.Output.Format.Type, q.Output.Format.Schema = "json_schema", schema
		w.fields = append(w.fields, "output_config")
	}
	if err := w.steer(spec, r.Steering, &q); err != nil {
		return written{}, err
	}
	var err error
	w.body, err = json.Marshal(q)
	if err != nil {
		return written{}, exchange.BadRequest("request cannot be written as JSON: %v", err)
	}
	return w, nil
}

// prompt divides messages into the system prompt and the turns. Turns of one role that follow one another become one,
// as the API would read them. A prompt of system messages alone is said as the user's.
func prompt(all []inference.Message) (system string, turns []roleText) {
	var systems []string
	for _, m := range all {
		last := len(turns) - 1
		switch {
		case m.Role == "system":
			systems = append(systems, m.Content)
		case last >= 0 && turns[last].Role == m.Role:
			turns[last].Content += "\n\n" + m.Content
		default:
			turns = append(turns, roleText{m.Role, m.Content})
		}
	}
	system = strings.Join(systems, "\n\n")
	if len(turns) == 0 {
		return "", []roleText{{"user", system}}
	}
	return system, turns
}

// stops are the stop sequences that the API takes: those of white space alone are refused there.
func stops(all []string) []string {
	var taken []string
	for _, s := range all {
		if strings.TrimSpace(s) != "" {
			taken = append(taken, s)
		}
	}
	return taken
}

// steer turns a request into one for the steered model, by another model name. A request has no field for it.
func (w *written) steer(spec inference.Spec, s *inference.Steering, q *generation) error {
	if s == nil || spec.Steers == nil {
		return nil
	}
	if err := s.Validate(); err != nil {
		return exchange.BadRequest("%v", err)
	}
	if spec.Steers.Alias == "" || len(spec.Steers.Fields) > 0 {
		return exchange.BadRequest(
			"model %q is steered by the vector %q; a provider that speaks Messages is steered by an alias alone",
			spec.Name, s.Vector)
	}
	q.Model, w.steered = spec.Steers.Alias, s.String()
	return nil
}
