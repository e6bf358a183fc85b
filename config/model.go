package config

import (
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// models reads the list of models of a provider.
func (r *reader) models(profile string) []Model {
	raw, ok := r.fields["models"]
	if !ok || raw == nil {
		return nil
	}
	list, ok := raw.([]any)
	if !ok {
		r.fault(
			"%s.models must be a list, each with a name: names of models hold dots and capitals, which keys cannot",
			r.at)
		return nil
	}
	var models []Model
	seen := map[string]bool{}
	for i, entry := range list {
		m, err := readModel(fmt.Sprintf("%s.models[%d]", r.at, i+1), profile, entry)
		if err != nil {
			r.faults = append(r.faults, err)
			continue
		}
		if seen[m.Name] {
			r.fault("%s.models names %q twice", r.at, m.Name)
		}
		seen[m.Name] = true
		models = append(models, m)
	}
	return models
}

func readModel(at, profile string, raw any) (Model, error) {
	if name, ok := raw.(string); ok && name != "" {
		return Model{Name: name}, nil
	}
	fields, ok := raw.(map[string]any)
	if !ok {
		return Model{}, fmt.Errorf("%s is %s; it must be the name of a model, or a section with a name", at,
			quoted(raw))
	}
	r := reader{at: at, fields: fields}
	var m Model
	r.read(&m, modelFields)
	if m.Name == "" {
		r.fault("%s.name is missing", at)
	}
	m.Price, m.Steering = r.price(), r.steering(profile)
	r.checkModel(m)
	return m, errors.Join(r.faults...)
}

// price reads dollars per million tokens, as in price lists.
func (r *reader) price() *budget.Price {
	raw, ok := r.fields["price"]
	if !ok {
		return nil
	}
	fields, ok := raw.(map[string]any)
	if !ok {
		r.fault(
			`%s.price is %s; it must say dollars per million tokens, such as {in: "0.15", cached_in: "0.075", out: "0.60"}`,
			r.at, quoted(raw))
		return nil
	}
	inner := reader{at: r.at + ".price", fields: fields}
	inner.onlyKnown([]string{"in", "cached_in", "out"})
	in, out, cached := inner.value("in", Dollars), inner.value("out", Dollars), inner.value("cached_in", Dollars)
	if (in == nil || out == nil) && len(inner.faults) == 0 {
		inner.fault("%s.price needs both in and out, in dollars per million tokens", r.at)
	}
	r.faults = append(r.faults, inner.faults...)
	if len(inner.faults) > 0 {
		return nil
	}
	p := budget.Price{In: in.(budget.Micros), Out: out.(budget.Micros)}
	p.CachedIn = p.In
	if cached != nil {
		p.CachedIn = cached.(budget.Micros)
	}
	return &p
}

func (r *reader) checkModel(m Model) {
	if m.JSON != nil {
		switch inference.JSONMode(*m.JSON) {
		case inference.JSONSchema, inference.JSONObject, inference.JSONPrompt:
		default:
			r.fault("%s.json is %q; it must be one of json_schema, json_object, prompt", r.at, *m.JSON)
		}
	}
	if m.MaxTemperature != nil && (*m.MaxTemperature < 0 || *m.MaxTemperature > 5) {
		r.fault("%s.max_temperature is %v; it must lie between 0 (temperature is refused) and 5", r.at, *m.MaxTemperature)
	}
	if m.Context != nil && (*m.Context < 256 || *m.Context > 100_000_000) {
		r.fault("%s.context is %d; it must lie between 256 and 100000000 tokens", r.at, *m.Context)
	}
}

func pick[T any](r *reader, key string, sort Sort) *T {
	if v, ok := r.value(key, sort).(T); ok {
		return &v
	}
	return nil
}
