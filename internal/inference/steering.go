package inference

import (
	"encoding/json"
	"fmt"
	"math"
)

// The defaults of steering: layer 16 of 32 at strength 1.5 (S4, Layer 3).
const (
	SteerLayer = 16
	SteerOf    = 32
	SteerAlpha = 1.5
)

// Steering asks that a vector be added to what layers put out while an answer is made, and while its prompt is read.
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

// Validate says what no provider could do.
func (s Steering) Validate() error {
	switch {
	case s.Vector == "":
		return fmt.Errorf("steering names no vector")
	case s.From < 1 || s.To < s.From:
		return fmt.Errorf("steering of %q is for layers %d to %d; the first must be at least 1 and not above the last", s.Vector, s.From, s.To)
	case math.IsNaN(s.Alpha) || math.Abs(s.Alpha) > 100:
		return fmt.Errorf("steering of %q has alpha %v; it must lie between -100 and 100", s.Vector, s.Alpha)
	}
	return nil
}

// Steers is how a model is steered where it is served. Of the two shapes that servers have, Fields is the one and Alias
// the other; a provider in this process needs neither.
type Steers struct {
	Vector string                     `json:"vector"`           // the name by which the provider knows it
	Depth  int                        `json:"depth,omitempty"`  // layers of the model; 0: 32
	From   int                        `json:"from,omitempty"`   // first layer; 0: SteerLayer of SteerOf, scaled to the depth
	To     int                        `json:"to,omitempty"`     // last layer; 0: the first
	Alpha  *float64                   `json:"alpha,omitempty"`  // nil: what the deployment asks for
	Fields map[string]json.RawMessage `json:"fields,omitempty"` // of the request, with the places that Fill fills
	Alias  string                     `json:"alias,omitempty"`  // the name of the steered model on the wire
}

// Ask is what to ask of this model where a deployment wants a strength at a layer of SteerOf. Nil when the model is not
// steered, or with strength 0.
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
