package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
)

// InProcess is the profile of a provider whose model the worker runs itself.
const InProcess = "llama"

var steeringKeys = []string{"vector", "layers", "depth", "alpha", "fields", "alias"}

// steering reads the steering of a model, or of all models of a provider; nil when it is not set. profile is the kind
// of server, whose own fields cannot be used.
func (r *reader) steering(profile string) *inference.Steers {
	raw, ok := r.fields["steering"]
	if !ok || raw == nil {
		return nil
	}
	at := r.at + ".steering"
	fields, ok := raw.(map[string]any)
	if !ok {
		r.fault("%s is %s; it must be a section with a vector", at, quoted(raw))
		return nil
	}
	in := reader{at: at, fields: fields}
	in.onlyKnown(steeringKeys)
	s := &inference.Steers{
		Vector: in.text("vector"), Alias: in.text("alias"),
		Alpha: pick[float64](&in, "alpha", Number),
	}
	if n := pick[int64](&in, "depth", Whole); n != nil {
		s.Depth = int(*n)
	}
	in.layers(s)
	in.templates(s)
	if len(in.faults) == 0 {
		in.checkSteering(profile, *s)
	}
	r.faults = append(r.faults, in.faults...)
	return s
}

// checkSteering checks that a kind of server supports the steering.
func (r *reader) checkSteering(profile string, s inference.Steers) {
	var reserved []string
	switch profile {
	case InProcess:
		if len(s.Fields) > 0 || s.Alias != "" {
			r.fault("%s has fields or an alias; a model in this process needs neither", r.at)
		}
	case Messages:
		if len(s.Fields) > 0 || s.Alias == "" {
			r.fault("%s must have an alias and no fields: Messages has no field by which a model is steered", r.at)
		}
	default:
		if profile == "generic" {
			profile = ""
		}
		kind, err := openaigw.ProfileOf(profile)
		if err != nil {
			return // the profile itself is invalid
		}
		reserved = kind.Reserved()
		if len(s.Fields) == 0 && s.Alias == "" && len(kind.Steer) == 0 {
			r.fault(
				"%s has neither fields of a request nor an alias by which the server is steered; add fields or alias",
				r.at)
		}
	}
	if err := s.Validate(reserved...); err != nil {
		r.fault("%s: %w", r.at, err)
	}
}

// layers reads a layer or a range of layers: 11, or 6-18.
func (r *reader) layers(s *inference.Steers) {
	raw, ok := r.fields["layers"]
	if !ok {
		return
	}
	text := fmt.Sprint(raw)
	first, last, span := strings.Cut(text, "-")
	from, err := strconv.Atoi(strings.TrimSpace(first))
	to := from
	if err == nil && span {
		to, err = strconv.Atoi(strings.TrimSpace(last))
	}
	if err != nil || from < 1 || to < from {
		r.fault("%s.layers is %s; it must be one layer such as 11, or the first and the last such as 6-18", r.at,
			quoted(raw))
		return
	}
	s.From, s.To = from, to
}

// templates reads the additional fields of a steered request: a section, or JSON in a text, which keeps the case of its
// keys.
func (r *reader) templates(s *inference.Steers) {
	raw, ok := r.fields["fields"]
	if !ok || raw == nil {
		return
	}
	body, err := json.Marshal(raw)
	if text, isText := raw.(string); isText {
		body = []byte(text)
	}
	if err == nil {
		err = json.Unmarshal(body, &s.Fields)
	}
	if err != nil {
		r.fault("%s.fields must be a section of request fields, or the same as a JSON object in a text", r.at)
	}
}

// steered returns the steering of a model: its own, otherwise the provider's.
func (p Provider) steered(own *inference.Steers) *inference.Steers {
	if own != nil {
		return own
	}
	return p.Steering
}

// steeringText formats a steering on one line; empty for none.
func steeringText(s *inference.Steers) string {
	if s == nil {
		return ""
	}
	text := s.Vector
	if s.Alpha != nil {
		text += fmt.Sprintf(" x %g", *s.Alpha)
	}
	if s.From > 0 {
		text += fmt.Sprintf(" at %d-%d", s.From, s.To)
	}
	if s.Alias != "" {
		text += " as " + s.Alias
	}
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		text += " by " + name
	}
	return text
}
