package openaigw

import (
	"encoding/json"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// format requests a schema as far as the model supports it; otherwise it is described in the prompt (Request.Asked).
func format(spec inference.Spec, schema *inference.Schema) *openai.ChatCompletionResponseFormat {
	if schema == nil {
		return nil
	}
	switch spec.JSON {
	case inference.JSONSchema:
		return &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: schemaName(schema.Name), Schema: schema.JSON, Strict: strict(schema.JSON, 0),
			},
		}
	case inference.JSONObject:
		return &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	case inference.JSONPrompt:
	}
	return nil
}

// schemaName reduces a name to what OpenAI accepts: letters, digits, _ and -, at most 64.
func schemaName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if clean == "" {
		return "answer"
	}
	return clean[:min(len(clean), 64)]
}

// strict reports whether a schema may be sent as strict: every object closed and every property required. OpenAI
// answers 400 to a strict schema that is not; others ignore the mark.
func strict(raw json.RawMessage, depth int) bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Closed     json.RawMessage            `json:"additionalProperties"`
		Items      json.RawMessage            `json:"items"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		Defs       map[string]json.RawMessage `json:"$defs"`
		OneOf      json.RawMessage            `json:"oneOf"`
		AllOf      json.RawMessage            `json:"allOf"`
		Type       json.RawMessage            `json:"type"`
	}
	if depth > 16 || json.Unmarshal(raw, &s) != nil || s.OneOf != nil || s.AllOf != nil {
		return false
	}
	object := strings.Contains(string(s.Type), `"object"`)
	if object && (string(s.Closed) != "false" || len(s.Required) != len(s.Properties)) {
		return false
	}
	if depth == 0 && !object {
		return false
	}
	parts := s.AnyOf
	if s.Items != nil {
		parts = append(parts, s.Items)
	}
	for _, more := range []map[string]json.RawMessage{s.Properties, s.Defs} {
		for _, part := range more {
			parts = append(parts, part)
		}
	}
	for _, part := range parts {
		if !strict(part, depth+1) {
			return false
		}
	}
	return true
}
