package event_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/event"
)

const module = "github.com/seed-56a03226/oneiros/activities/port/"

// document is the order in which the schema is written.
type document struct {
	Schema      string            `json:"$schema"`
	ID          string            `json:"$id"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Type        string            `json:"type"`
	Properties  map[string]any    `json:"properties"`
	Required    []string          `json:"required"`
	AllOf       []rule            `json:"allOf"`
	Definitions map[string]schema `json:"$defs"`
}

type schema = json.RawMessage

// rule is the data schema of an event type.
type rule struct {
	If   object `json:"if"`
	Then object `json:"then"`
}

type object struct {
	Properties map[string]any `json:"properties"`
}

// reflector reads the types, with their comments as descriptions.
func reflector(t *testing.T) *jsonschema.Reflector {
	t.Helper()
	r := &jsonschema.Reflector{Anonymous: true, AllowAdditionalProperties: true}
	for _, folder := range []string{"event", "dream", "budget", "mood"} {
		require.NoError(t, r.AddGoComments(module+"event", filepath.Join("..", folder), jsonschema.WithFullComment()))
	}
	return r
}

// generated is the schema of the current types.
func generated(t *testing.T) []byte {
	t.Helper()
	r := reflector(t)
	d := document{
		Schema: "https://json-schema.org/draft/2020-12/schema", ID: event.SchemaID, Type: "object",
		Definitions: map[string]schema{},
		Title:       "An event of Oneiros",
		Description: "The envelope is the same for all; data depend on type. Fields and types are only added: ignore what you do not know.",
	}
	take := func(v any) *jsonschema.Schema {
		s := r.Reflect(v)
		for name, definition := range s.Definitions {
			body, err := json.Marshal(definition)
			require.NoError(t, err)
			require.True(t, d.Definitions[name] == nil || bytes.Equal(d.Definitions[name], body),
				"two types are called %s", name)
			d.Definitions[name] = body
		}
		return s
	}
	envelope := take(event.Event{}).Definitions["Event"]
	delete(d.Definitions, "Event")
	body, err := json.Marshal(envelope.Properties)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body, &d.Properties))
	for name, text := range map[string]string{
		"id":        "Derived from what it announces: a repetition has the same id and is ignored.",
		"seq":       "1, 2, 3, … for each agent, without gaps.",
		"schema":    "The version of the schema that the event was written by.",
		"subsystem": "The announcing subsystem; hypnagogia is the dream engine.",
		"agent":     "The id of the agent.", "dream": "The id of the dream, when the event is one of a dream.",
		"type": "One of the catalogue; later versions may add to it.", "at": "When it happened.",
		"data": "Depends on the type. Data that could not be written as JSON is replaced by an object with the fault.",
	} {
		property, ok := d.Properties[name].(map[string]any)
		if !ok { // anything at all
			property = map[string]any{}
		}
		property["description"] = text
		d.Properties[name] = property
	}
	d.Required = envelope.Required
	d.Definitions["Fault"] = schema(
		`{"type":"object","properties":{"fault":{"type":"string"}},"required":["fault"],"description":"Replaces data that JSON cannot represent, such as NaN."}`)
	for _, entry := range event.Catalogue() {
		name := reflect.TypeOf(entry.Payload).Name()
		take(entry.Payload)
		d.AllOf = append(d.AllOf, rule{
			If: object{map[string]any{"type": map[string]string{"const": entry.Type()}}},
			Then: object{
				map[string]any{
					"data": map[string]any{
						"anyOf": []map[string]string{{"$ref": "#/$defs/" + name}, {"$ref": "#/$defs/Fault"}},
					},
				},
			},
		})
	}
	var made bytes.Buffer
	e := json.NewEncoder(&made)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(d))
	return made.Bytes()
}

// The published schema is that of the types; fields are described by their comments.
func TestTheSchemaIsThatOfTheTypes(t *testing.T) {
	t.Parallel()
	made := generated(t)
	published := filepath.Join("..", "..", "..", "docs", "events.schema.json")
	if *update {
		require.NoError(t, os.WriteFile("schema.json", made, 0o644))
		require.NoError(t, os.WriteFile(published, made, 0o644))
	}
	kept, err := os.ReadFile("schema.json")
	require.NoError(t, err)
	const again = "go generate ./activities/port/event rewrites it"
	require.Equal(t, string(made), string(kept), again)
	shown, err := os.ReadFile(published)
	require.NoError(t, err)
	require.Equal(t, string(made), string(shown), again)
	require.Contains(t, string(made), fmt.Sprintf("%q", event.SchemaID))
}
