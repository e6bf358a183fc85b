package inference

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// JSONMode says how a provider can be made to follow a schema.
type JSONMode string

// The modes.
const (
	JSONSchema JSONMode = "json_schema" // response_format json_schema
	JSONObject JSONMode = "json_object" // response_format json_object
	JSONPrompt JSONMode = "prompt"      // only by the prompt
)

// Spec describes a model: who serves it, what it costs, what it refuses.
type Spec struct {
	Name     string        `json:"name"`     // the catalogue's name: "provider/model"
	Provider string        `json:"provider"` // which Model serves it
	Wire     string        `json:"wire"`     // the name the provider knows it by
	Price    *budget.Price `json:"price"`    // nil: unpriced, every call is refused
	Context  int           `json:"context"`  // tokens of prompt and answer together
	// Context is what such servers often have: the model's own is not known
	Guessed bool `json:"-"`
	// Wires are those that the provider speaks; none: chat completions alone.
	Wires Wires `json:"-"`
	// CacheFrom is from how many tokens on the provider keeps a prompt in its cache that asks for it; 0: it keeps
	// prompts unasked, or not at all.
	CacheFrom int `json:"-"`
	// "o200k_base", "cl100k_base"; empty: unknown, bytes are the bound
	Tokenizer      string   `json:"tokenizer,omitempty"`
	MaxTemperature float64  `json:"max_temperature"` // highest temperature accepted; 0: temperature is refused
	MinP           bool     `json:"min_p"`
	TopP           bool     `json:"top_p"`
	Seed           bool     `json:"seed"`
	Stop           bool     `json:"stop"`
	JSON           JSONMode `json:"json"`
	Reasoning      bool     `json:"reasoning"` // thinks before it answers; wants max_completion_tokens
	Embeds         bool     `json:"embeds"`    // an embedding model
	// its scores in JSON mean something; false: measure with the embedder
	Judges   bool    `json:"judges"`
	BuiltIn  bool    `json:"built_in"`            // marked as built-in on every screen
	Space    string  `json:"space,omitempty"`     // of its vectors; empty: "<provider>/<wire>/<dimensions>"
	LogProbs bool    `json:"log_probs,omitempty"` // returns the log-probability of each token when requested
	Steers   *Steers `json:"steers,omitempty"`    // how it is steered; nil: it is not

	Lexical bool `json:"lexical,omitempty"` // an embedder that compares spellings and not meanings

	// Calibration says what cosines in the space of an embedder mean; zero where it was not measured.
	Calibration Calibration `json:"calibration,omitzero"`
}

// Makes says whether the vectors of a space come from this embedder.
func (s Spec) Makes(space string) bool {
	if s.Space != "" {
		return space == s.Space
	}
	return strings.HasPrefix(space, s.Provider+"/"+s.Wire+"/")
}

// Fit returns why a model cannot take a role that embeds, or one that writes, with the line of configuration that
// would be right.
func (s Spec) Fit(embeds bool) error {
	switch {
	case embeds == s.Embeds:
		return nil
	case !embeds:
		return fmt.Errorf("%q is the wrong sort of model: it is an embedder, and the role needs a model that writes",
			s.Name)
	case s.BuiltIn:
		return fmt.Errorf(
			"%q is the wrong sort of model: it writes, and the role needs an embedder, such as builtin/static", s.Name)
	}
	price, from := "", ""
	if s.Price == nil {
		price, from = ", price: {in: IN, out: \"0\"}", ", with "+fromPricePage
	}
	return fmt.Errorf(
		"%q is the wrong sort of model: it is not known as an embedder; if it is one, add under providers.%s.models: {name: %s, embeds: true%s}%s",
		s.Name, s.Provider, s.listed(), price, from)
}

// fromPricePage says where the figures of a suggested line come from. None is suggested: one of another model is no
// bound.
const fromPricePage = "the dollars per million tokens of the provider's own price page"

// listed is the name of the model's entry under providers.<name>.models.
func (s Spec) listed() string { return strings.TrimPrefix(s.Name, s.Provider+"/") }

// WithoutPrice says that the model has no price, with the line of configuration to add.
func (s Spec) WithoutPrice() string {
	return fmt.Sprintf(
		"model %q has no price; add it under providers.%s.models: {name: %s, price: {in: IN, out: OUT}}, with %s",
		s.Name, s.Provider, s.listed(), fromPricePage)
}

// NamedBy returns the catalogue's name of the embedder that a space names: a built-in one for "builtin-static/1/256",
// "house/gte" for "house/gte/384"; empty when it names none.
func NamedBy(space string) string {
	name, _, found := cutLast(space, "/")
	if rest, builtIn := strings.CutPrefix(name, "builtin-"); found && builtIn {
		name, _, found = cutLast(rest, "/")
		if found {
			return "builtin/" + name
		}
	}
	if !found || !strings.Contains(name, "/") {
		return ""
	}
	return name
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// EmbedderIn finds the embedder that serves an agent whose vectors lie in space: the one it names itself, if it does;
// else the deployment's usual one, or, where the agent's vectors are of another space, the one that this space names,
// until the memory was embedded anew. A change of what is usual thus leaves no agent without a memory.
func EmbedderIn(c Catalog, own, usual, space string) (Spec, error) {
	if own != "" {
		return c.Lookup(own)
	}
	spec, err := c.Lookup(usual)
	if space == "" || err == nil && spec.Makes(space) {
		return spec, err
	}
	if named := NamedBy(space); named != "" {
		if other, fault := c.Lookup(named); fault == nil && other.Embeds && other.Makes(space) {
			return other, nil
		}
	}
	return spec, err
}

// Clip cuts a text to what the model's window surely holds: no tokenizer makes more tokens than there are bytes.
func (s Spec) Clip(text string) string {
	if s.Context <= 0 || len(text) <= s.Context {
		return text
	}
	cut := s.Context
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}

// Catalog has every model of a deployment.
type Catalog interface {
	// Lookup returns a *Failure of kind Unknown, with the line of configuration to add, when there is none.
	Lookup(model string) (Spec, error)
}

// Table is a Catalog made of a map by name.
type Table map[string]Spec

// Lookup finds a model.
func (t Table) Lookup(model string) (Spec, error) {
	if s, ok := t[model]; ok {
		return s, nil
	}
	return Spec{},
		&Failure{
			Kind:    Unknown,
			Message: fmt.Sprintf("model %q is not configured; add it under providers.<name>.models", model),
		}
}

// CachedCatalog is a Catalog that looks each model up once, for callers that look up at every request. The underlying
// catalog must not change.
func CachedCatalog(c Catalog) Catalog { return &remembered{from: c} }

type remembered struct {
	from Catalog
	all  sync.Map // of *Spec, by name
}

// Lookup finds a model. One that is not configured is looked for again.
func (r *remembered) Lookup(model string) (Spec, error) {
	if existing, ok := r.all.Load(model); ok {
		return *existing.(*Spec), nil
	}
	spec, err := r.from.Lookup(model)
	if err == nil {
		r.all.Store(model, &spec)
	}
	return spec, err
}

// Switchboard is a Model that hands each call to the provider its model belongs to.
type Switchboard struct {
	Catalog   Catalog
	Providers map[string]Model // by Spec.Provider
}

// Generate asks the provider of r.Model.
func (s Switchboard) Generate(ctx context.Context, r Request, token func(string) bool) (Answer, error) {
	m, err := s.find(r.Model)
	if err != nil {
		return Answer{}, err
	}
	return m.Generate(ctx, r, token)
}

// Embed asks the provider of the model.
func (s Switchboard) Embed(ctx context.Context, model string, texts []string, key string) (Vectors, error) {
	m, err := s.find(model)
	if err != nil {
		return Vectors{}, err
	}
	return m.Embed(ctx, model, texts, key)
}

func (s Switchboard) find(model string) (Model, error) {
	spec, err := s.Catalog.Lookup(model)
	if err != nil {
		return nil, err
	}
	m, ok := s.Providers[spec.Provider]
	if !ok {
		return nil,
			&Failure{
				Kind:    Unknown,
				Message: fmt.Sprintf("model %q belongs to provider %q, which is not configured", model, spec.Provider),
			}
	}
	return m, nil
}
