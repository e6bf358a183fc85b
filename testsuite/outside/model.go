package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// The models of this program, by their names in its catalogue.
const (
	Writer   = "echo/writer"
	Embedder = "echo/embedder"
)

// dimensions is the length of a vector, and space the name of the vectors' space.
const (
	dimensions = 64
	space      = "echo/embedder/64"
)

// Catalog describes the models. Both are free, so every call is granted by a cap of zero.
func Catalog() inference.Table {
	return inference.Table{
		Writer: {
			Name:           Writer,
			Provider:       "echo",
			Wire:           "writer",
			Price:          &budget.Price{},
			Context:        32_000,
			MaxTemperature: 2,
			Seed:           true,
			Stop:           true,
			JSON:           inference.JSONSchema,
		},
		Embedder: {
			Name:     Embedder,
			Provider: "echo",
			Wire:     "embedder",
			Price:    &budget.Price{},
			Context:  32_000,
			Embeds:   true,
			Space:    space,
		},
	}
}

// Model writes sentences from the words of its prompt, and fills the schema that a request names. A real program calls
// its provider here.
type Model struct{}

// Generate streams the answer word by word.
func (Model) Generate(ctx context.Context, r inference.Request, token func(string) bool) (inference.Answer, error) {
	a := inference.Answer{
		Finish: inference.Stopped, UsageFrom: inference.ByProvider, Provider: "echo", Model: "writer",
		Effective: inference.Sampling{Temperature: r.Sampling.Temperature, Seed: r.Sampling.Seed}.String(),
	}
	if ctx.Err() != nil {
		a.Finish = inference.Cut
		return a, fmt.Errorf("generate: %w", context.Cause(ctx))
	}
	if r.Model != Writer {
		return a, unknown(r.Model)
	}
	prompt := words(r.Messages)
	a.Tokens.In = int64(len(prompt)) * 2
	for _, piece := range answer(r, prompt) {
		switch {
		case stops(r.Stop, a.Text+piece):
			return a, nil
		case a.Visible == r.MaxTokens:
			a.Finish = inference.Length
			return a, nil
		case ctx.Err() != nil:
			a.Finish = inference.Cut
			return a, fmt.Errorf("generate: %w", context.Cause(ctx))
		}
		a.Text += piece
		a.Visible++
		a.Tokens.Out++
		if token != nil && !token(piece) {
			a.Finish = inference.Halted
			return a, nil
		}
	}
	return a, nil
}

// Embed returns one unit vector per text: the words of the text, each at a place of its own.
func (Model) Embed(ctx context.Context, model string, texts []string, _ string) (inference.Vectors, error) {
	v := inference.Vectors{Space: space, UsageFrom: inference.ByProvider}
	if ctx.Err() != nil {
		return v, fmt.Errorf("embed: %w", context.Cause(ctx))
	}
	if model != Embedder {
		return v, unknown(model)
	}
	for _, text := range texts {
		vector := make([]float32, dimensions)
		vector[0] = .1 // a text without words has a direction, too
		for _, word := range strings.Fields(strings.ToLower(text)) {
			vector[hash(word)%dimensions]++
			v.Tokens.In++
		}
		v.V = append(v.V, unit(vector))
	}
	return v, nil
}

func unknown(model string) error {
	return &inference.Failure{Kind: inference.Unknown, Message: fmt.Sprintf("this program has no model %q", model)}
}

func unit(v []float32) []float32 {
	sum := 0.
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}

func words(messages []inference.Message) []string {
	var all []string
	for _, m := range messages {
		all = append(all, strings.Fields(m.Content)...)
	}
	return all
}

func stops(stop []string, text string) bool {
	for _, s := range stop {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// answer returns the pieces of an answer. The same request gets the same answer.
func answer(r inference.Request, prompt []string) []string {
	w := writer{prompt: prompt, dice: rand.New(rand.NewPCG(hash(strings.Join(prompt, " ")), 1))}
	if r.Schema == nil {
		return strings.SplitAfter(w.sentence(40), " ")
	}
	var s schema
	if err := json.Unmarshal(r.Schema.JSON, &s); err != nil {
		return nil // an answer that cannot be parsed is repaired or left out by the dream
	}
	body, err := json.Marshal(w.fill(s, s))
	if err != nil {
		return nil
	}
	return strings.SplitAfter(string(body), " ")
}

type writer struct {
	prompt []string
	dice   *rand.Rand
}

// sentence returns n words of the prompt.
func (w writer) sentence(n int) string {
	var out []string
	for range n {
		out = append(out, strings.Trim(w.prompt[w.dice.IntN(len(w.prompt))], `"'[](){}:;,.`))
	}
	return strings.Join(out, " ") + "."
}

// schema is the part of JSON Schema that the requests of a dream use.
type schema struct {
	Type       string            `json:"type"`
	Ref        string            `json:"$ref"`
	Defs       map[string]schema `json:"$defs"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
	MinItems   int               `json:"minItems"`
	Enum       []any             `json:"enum"`
	Minimum    float64           `json:"minimum"`
	Maximum    *float64          `json:"maximum"`
}

// fill returns a value of a schema; root holds its definitions.
func (w writer) fill(s, root schema) any {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		s = root.Defs[name]
	}
	if len(s.Enum) > 0 {
		return s.Enum[w.dice.IntN(len(s.Enum))]
	}
	switch s.Type {
	case "object":
		object := map[string]any{}
		for name, property := range s.Properties {
			object[name] = w.fill(property, root)
		}
		return object
	case "array":
		list := []any{}
		for range max(1, s.MinItems) {
			list = append(list, w.fill(*s.Items, root))
		}
		return list
	case "number", "integer":
		top := s.Minimum + 1
		if s.Maximum != nil {
			top = *s.Maximum
		}
		middle := (s.Minimum + top) / 2
		if s.Type == "integer" {
			return math.Ceil(middle)
		}
		return middle
	case "boolean":
		return true
	}
	return w.sentence(12)
}
