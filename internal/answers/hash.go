package answers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// hash names a request, or a text to embed, in the file.
type hash [sha256.Size]byte

// MarshalText writes a hash in hexadecimal digits.
func (h hash) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h[:])), nil }

// UnmarshalText reads hexadecimal digits.
func (h *hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("key has %d characters; it must have %d hexadecimal digits", len(text),
			hex.EncodedLen(len(h)))
	}
	if _, err := hex.Decode(h[:], text); err != nil {
		return fmt.Errorf("key %q: %w", text, err)
	}
	return nil
}

// decisive is all that decides an answer. Its JSON is hashed: a change of a name or a type here makes the answers of
// earlier files impossible to find, and needs a new version of the file.
type decisive struct {
	Kind      string              `json:"kind"` // generate or embed
	Model     string              `json:"model"`
	Accepted  accepted            `json:"accepted"`
	Messages  []inference.Message `json:"messages,omitempty"`
	Sampling  inference.Sampling  `json:"sampling,omitzero"`
	MaxTokens int                 `json:"max_tokens,omitempty"`
	Reasoning int                 `json:"reasoning,omitempty"`
	Stop      []string            `json:"stop,omitempty"`
	Schema    []string            `json:"schema,omitempty"` // its name and its text; compacting would change the prompt
	LogProbs  bool                `json:"log_probs,omitempty"`
	Steering  *inference.Steering `json:"steering,omitempty"`
	Steers    *inference.Steers   `json:"steers,omitempty"` // how the model is steered; only where it is
	Text      string              `json:"text,omitempty"`   // to embed
}

// accepted is what of a model's entry of the catalogue decides what is sent to it.
type accepted struct {
	Wire           string             `json:"wire"`
	JSON           inference.JSONMode `json:"json,omitempty"`
	MaxTemperature float64            `json:"max_temperature,omitempty"`
	MinP           bool               `json:"min_p,omitempty"`
	TopP           bool               `json:"top_p,omitempty"`
	Seed           bool               `json:"seed,omitempty"`
	Stop           bool               `json:"stop,omitempty"`
	Reasoning      bool               `json:"reasoning,omitempty"`
	LogProbs       bool               `json:"log_probs,omitempty"`
	Space          string             `json:"space,omitempty"`
}

// hashRequest fails for a request that cannot be written as JSON, such as one with a temperature of NaN.
func hashRequest(spec inference.Spec, r inference.Request) (hash, error) {
	d := decisive{
		Kind:  "generate",
		Model: r.Model,
		Accepted: accepted{
			Wire:           spec.Wire,
			JSON:           spec.JSON,
			MaxTemperature: spec.MaxTemperature,
			MinP:           spec.MinP,
			TopP:           spec.TopP,
			Seed:           spec.Seed,
			Stop:           spec.Stop,
			Reasoning:      spec.Reasoning,
			LogProbs:       spec.LogProbs,
		},
		Messages:  r.Messages,
		Sampling:  r.Sampling,
		MaxTokens: r.MaxTokens,
		Reasoning: r.Reasoning,
		Stop:      r.Stop,
		LogProbs:  r.LogProbs,
		Steering:  r.Steering,
	}
	if r.Schema != nil {
		d.Schema = []string{r.Schema.Name, string(r.Schema.JSON)}
	}
	if r.Steering != nil {
		d.Steers = spec.Steers
	}
	return d.hash()
}

func hashText(spec inference.Spec, model, text string) (hash, error) {
	return decisive{
		Kind:     "embed",
		Model:    model,
		Accepted: accepted{Wire: spec.Wire, Space: spec.Space},
		Text:     text,
	}.hash()
}

func (d decisive) hash() (hash, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return hash{}, &inference.Failure{
			Kind: inference.BadRequest, Err: err,
			Message: fmt.Sprintf("the request to %s cannot be written as JSON: %v", d.Model, err),
		}
	}
	return sha256.Sum256(text), nil
}
