package serve

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// steering reads the steering of a request, from our field or from the name of a steered model.
func (s *Server) steering(q question) (*inference.Steering, *fault) {
	refusal := func(param, format string, args ...any) (*inference.Steering, *fault) {
		return nil, wrong(param, fmt.Sprintf(format, args...))
	}
	_, alias, _ := strings.Cut(q.Model, aliasMark)
	if q.Steering == nil && alias == "" {
		return nil, nil
	}
	take := s.options.Steer
	take.Vector, take.Depth = alias, s.options.Engine.Shape().Layers
	if w := q.Steering; w != nil {
		if w.Vector != "" {
			take.Vector = w.Vector
		}
		if w.Alpha != nil {
			take.Alpha = w.Alpha
		}
		switch len(w.Layers) {
		case 0:
		case 1, 2:
			take.From, take.To = w.Layers[0], w.Layers[len(w.Layers)-1]
			if take.From < 1 || take.To < take.From {
				return refusal("steering.layers", "layers %v must be one layer from 1 up, or the first and the last",
					w.Layers)
			}
		default:
			return refusal("steering.layers",
				"layers has %d numbers; it must be one layer, or the first and the last", len(w.Layers))
		}
	}
	if take.Vector == "" {
		return refusal("steering.vector", "steering names no vector")
	}
	ask := take.Ask(inference.SteerLayer, inference.SteerAlpha)
	if ask == nil { // strength 0 is no steering
		return nil, nil
	}
	if err := ask.Validate(); err != nil {
		return refusal("steering", "%v", err)
	}
	return ask, nil
}
