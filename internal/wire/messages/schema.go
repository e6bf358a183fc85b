package messages

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonobject"
)

// Members of a schema that Anthropic's structured output enforces. Bounds of numbers, of lengths and of sizes are not
// among them: there a schema that has one is refused, and it is said in the description.
var enforced = strings.Fields(`
	type properties required additionalProperties items anyOf allOf $ref $defs definitions enum const default
	description title format`)

// schemaDepth is how deep a schema may be nested.
const schemaDepth = 32

// PlainSchema is a schema as Anthropic's structured output takes it: objects are closed, and constraints that it does
// not enforce become part of the description, where the model reads them.
func PlainSchema(raw json.RawMessage) (json.RawMessage, error) {
	var schema map[string]any
	if err := json.Unmarshal(raw, &schema); err != nil || schema == nil {
		return nil, errors.New("it must be a JSON object")
	}
	plain, err := plainSchema(schema, 0)
	if err != nil {
		return nil, err
	}
	return jsonobject.Marshalled(plain), nil
}

func plainSchema(s map[string]any, depth int) (map[string]any, error) {
	if depth > schemaDepth {
		return nil, fmt.Errorf("it is nested deeper than %d levels", schemaDepth)
	}
	out := map[string]any{}
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		v := s[name]
		var err error
		switch {
		case name == "properties" || name == "$defs" || name == "definitions":
			out[name], err = plainSchemas(v, depth)
		case name == "items" || name == "anyOf" || name == "allOf":
			out[name], err = plainAny(v, depth)
		case name == "oneOf":
			out["anyOf"], err = plainAny(v, depth)
		case name == "minItems" && (v == 0.0 || v == 1.0), slices.Contains(enforced, name):
			out[name] = v
		case name == "$schema" || name == "$id" || name == "$comment":
		default:
			notes = append(notes, name+": "+string(jsonobject.Marshalled(v)))
		}
		if err != nil {
			return nil, err
		}
	}
	if _, object := out["properties"]; object || s["type"] == "object" {
		out["additionalProperties"] = false
	}
	if len(notes) > 0 {
		about, _ := out["description"].(string)
		out["description"] = strings.TrimSpace(about + " {" + strings.Join(notes, ", ") + "}")
	}
	return out, nil
}

func plainSchemas(v any, depth int) (any, error) {
	all, ok := v.(map[string]any)
	if !ok {
		return v, nil
	}
	out := map[string]any{}
	for name, each := range all {
		plain, err := plainAny(each, depth)
		if err != nil {
			return nil, err
		}
		out[name] = plain
	}
	return out, nil
}

func plainAny(v any, depth int) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		return plainSchema(v, depth+1)
	case []any:
		out := make([]any, len(v))
		for i, each := range v {
			plain, err := plainAny(each, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = plain
		}
		return out, nil
	}
	return v, nil
}
