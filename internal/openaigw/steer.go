package openaigw

import (
	"encoding/json"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
)

// steer turns a request into one for the steered model: by another model name, by fields of its own, or by both. It
// returns the model name and what was really requested; a model without steering in its entry is asked unchanged.
func (g *Gateway) steer(spec inference.Spec, s *inference.Steering,
	fields map[string]json.RawMessage,
) (wire, steered string, err error) {
	if s == nil || spec.Steers == nil {
		return spec.Wire, "", nil
	}
	if err := s.Validate(); err != nil {
		return "", "", exchange.BadRequest("%v", err)
	}
	wire = spec.Wire
	if spec.Steers.Alias != "" {
		wire = spec.Steers.Alias
	}
	templates := spec.Steers.Fields
	if len(templates) == 0 && spec.Steers.Alias == "" {
		templates = g.profile.Steer
	}
	if len(templates) == 0 && spec.Steers.Alias == "" {
		return "", "",
			exchange.BadRequest(
				"model %q is steered by the vector %q, and neither fields nor an alias say how; add one under steering",
				spec.Name, s.Vector)
	}
	for name, template := range templates {
		filled, err := s.Fill(template)
		if err != nil {
			return "", "", exchange.BadRequest("steering field %q: %v", name, err)
		}
		if slices.Contains(g.profile.Reserved(), name) {
			return "", "",
				exchange.BadRequest("steering field %q is written with every request already; give the field another name", name)
		}
		fields[name] = filled
	}
	return wire, s.String(), nil
}

// Reserved are the fields that requests to this kind of server already contain, and that steering cannot use.
func (p Profile) Reserved() []string {
	n := p.named()
	names := append([]string{n.Temperature, n.TopP, n.MinP, n.Seed, n.Stop, n.MaxTokens, n.MaxThinking, n.LogProbs},
		ownFields...)
	for name := range p.Extra {
		names = append(names, name)
	}
	return names
}
