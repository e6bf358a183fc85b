package openaigw

import (
	"encoding/json"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/inference"
)

// steer makes a request one for the steered model: by another name of the model, by fields of its own, or by both. It
// gives the name on the wire, and what was really asked for; a model whose entry says nothing of steering is asked as
// it is.
func (g *Gateway) steer(spec inference.Spec, s *inference.Steering,
	fields map[string]json.RawMessage,
) (wire, steered string, err error) {
	if s == nil || spec.Steers == nil {
		return spec.Wire, "", nil
	}
	if err := s.Validate(); err != nil {
		return "", "", badRequest("%v", err)
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
			badRequest(
				"model %q is steered by the vector %q, and neither fields nor an alias say how; add one under steering",
				spec.Name, s.Vector)
	}
	for name, template := range templates {
		filled, err := s.Fill(template)
		if err != nil {
			return "", "", badRequest("steering field %q: %v", name, err)
		}
		if slices.Contains(g.profile.Reserved(), name) {
			return "", "",
				badRequest("steering field %q is written with every request already; give the field another name", name)
		}
		fields[name] = filled
	}
	return wire, s.String(), nil
}

// Reserved are the fields of a request that this kind of server is sent anyway, and that steering cannot use.
func (p Profile) Reserved() []string {
	n := p.named()
	names := append([]string{n.Temperature, n.TopP, n.MinP, n.Seed, n.Stop, n.MaxTokens, n.MaxThinking, n.LogProbs},
		ours...)
	for name := range p.Extra {
		names = append(names, name)
	}
	return names
}
