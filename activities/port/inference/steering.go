package inference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// The defaults of steering: layer 16 of 32 at strength 1.5 (Layer 3).
const (
	SteerLayer = 16
	SteerOf    = 32
	SteerAlpha = 1.5
)

// Steering adds a vector to the output of layers while a prompt is read and an answer is made.
type Steering struct {
	Vector string  `json:"vector"` // the name by which the provider knows it
	From   int     `json:"from"`   // first layer, from 1
	To     int     `json:"to"`     // last layer, itself included
	Alpha  float64 `json:"alpha"`  // strength: the vector is of length 1 in each layer
}

// String is a stable rendering such as "creativity x 0.25 at layers 6-18".
func (s Steering) String() string {
	if s.From == s.To {
		return fmt.Sprintf("%s x %g at layer %d", s.Vector, s.Alpha, s.From)
	}
	return fmt.Sprintf("%s x %g at layers %d-%d", s.Vector, s.Alpha, s.From, s.To)
}

// Validate refuses what no provider could do.
func (s Steering) Validate() error {
	switch {
	case s.Vector == "":
		return fmt.Errorf("steering names no vector")
	case s.From < 1 || s.To < s.From:
		return fmt.Errorf(
			"steering of %q is for layers %d to %d; the first must be at least 1 and not above the last", s.Vector,
			s.From, s.To)
	case math.IsNaN(s.Alpha) || math.Abs(s.Alpha) > 100:
		return fmt.Errorf("steering of %q has alpha %v; it must lie between -100 and 100", s.Vector, s.Alpha)
	}
	return nil
}

// Steers is how a model is steered where it is served. Of the two shapes that servers have, Fields is the one and Alias
// the other; a provider in this process needs neither.
type Steers struct {
	Vector string `json:"vector"`          // the name by which the provider knows it
	Depth  int    `json:"depth,omitempty"` // layers of the model; 0: 32
	// first layer; 0: SteerLayer of SteerOf, scaled to the depth
	From   int                        `json:"from,omitempty"`
	To     int                        `json:"to,omitempty"`     // last layer; 0: the first
	Alpha  *float64                   `json:"alpha,omitempty"`  // nil: the deployment's strength
	Fields map[string]json.RawMessage `json:"fields,omitempty"` // of the request, with the places that Fill fills
	Alias  string                     `json:"alias,omitempty"`  // the name of the steered model on the wire
}

// Ask is the steering of this model for a strength at a layer of SteerOf that a deployment wants. Nil when the model
// is not steered, or with strength 0.
func (s *Steers) Ask(layer int, alpha float64) *Steering {
	if s == nil || s.Vector == "" {
		return nil
	}
	if s.Alpha != nil {
		alpha = *s.Alpha
	}
	if alpha == 0 {
		return nil
	}
	if layer <= 0 {
		layer = SteerLayer
	}
	depth := s.Depth
	if depth <= 0 {
		depth = SteerOf
	}
	from, to := s.From, s.To
	if from <= 0 {
		from = max(1, int(math.Round(float64(layer)*float64(depth)/SteerOf)))
	}
	if to < from {
		to = from
	}
	return &Steering{Vector: s.Vector, From: from, To: to, Alpha: alpha}
}

// places are what a template of request fields may hold, each in two pairs of braces.
func (s Steering) places() map[string]any {
	layers := make([]int, 0, s.To-s.From+1)
	for layer := s.From; layer <= s.To; layer++ {
		layers = append(layers, layer)
	}
	return map[string]any{
		"{{vector}}": s.Vector, "{{alpha}}": s.Alpha, "{{layer}}": s.From, "{{from}}": s.From, "{{to}}": s.To,
		"{{layers}}": layers, "{{span}}": []int{s.From, s.To},
	}
}

// Fill writes a steering into a template of JSON. A text that is only a place, such as "{{alpha}}", becomes the value
// itself; inside a longer text the value's JSON stands for it, the vector's name without its quotes. So a field that is
// JSON in a text can be written too.
func (s Steering) Fill(template json.RawMessage) (json.RawMessage, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(template))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("steering template is no JSON: %w", err)
	}
	raw, err := json.Marshal(filled(v, s.places()))
	if err != nil {
		return nil, fmt.Errorf("fill the steering template: %w", err)
	}
	return raw, nil
}

func filled(v any, places map[string]any) any {
	switch x := v.(type) {
	case string:
		if value, ok := places[x]; ok {
			return value
		}
		for place, value := range places {
			raw, err := json.Marshal(value)
			if name, ok := value.(string); ok {
				raw = bytes.Trim(raw, `"`)
				if !strings.HasPrefix(strings.TrimSpace(x), "{") && !strings.HasPrefix(strings.TrimSpace(x), "[") {
					raw = []byte(name) // no JSON around it
				}
			}
			if err == nil {
				x = strings.ReplaceAll(x, place, string(raw))
			}
		}
		return x
	case []any:
		for i := range x {
			x[i] = filled(x[i], places)
		}
	case map[string]any:
		for key := range x {
			x[key] = filled(x[key], places)
		}
	}
	return v
}

// Validate says what of a steered model's entry cannot be. reserved are the request's fields that are written already.
func (s Steers) Validate(reserved ...string) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if s.Vector == "" {
		fault("vector is missing; it is the name by which the server knows it")
	}
	if strings.ContainsAny(s.Vector, "{}\"\\\n") {
		fault("vector %q must hold no braces, quotes or backslashes", s.Vector)
	}
	if s.Depth < 0 || s.Depth > 1000 {
		fault("depth is %d; it is the number of the model's layers, at most 1000", s.Depth)
	}
	if s.From < 0 || s.To < s.From || s.Depth > 0 && s.To >= s.Depth {
		fault("layers %d to %d must begin at 1 or above, and end below the depth (%d)", s.From, s.To, s.Depth)
	}
	if s.Alpha != nil && (math.IsNaN(*s.Alpha) || math.Abs(*s.Alpha) > 100) {
		fault("alpha is %v; it must lie between -100 and 100", *s.Alpha)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		if slices.Contains(reserved, name) {
			fault("fields.%s is written with every request already; it cannot carry steering", name)
		}
		if _, err := (Steering{Vector: s.Vector, From: 1, To: 1}).Fill(s.Fields[name]); err != nil {
			fault("fields.%s: %v", name, err)
		}
	}
	return errors.Join(faults...)
}
