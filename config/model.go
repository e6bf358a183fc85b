package config

import (
	"errors"
	"fmt"

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
	r.checkLong(m, profile)
	return m, errors.Join(r.faults...)
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
	if m.Context != nil && (*m.Context < 256 || *m.Context > mostTokens) {
		r.fault("%s.context is %d; it must lie between 256 and %d tokens", r.at, *m.Context, mostTokens)
	}
}

func pick[T any](r *reader, key string, sort Sort) *T {
	if v, ok := r.value(key, sort).(T); ok {
		return &v
	}
	return nil
}
