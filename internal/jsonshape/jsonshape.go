// Package jsonshape reads the part of JSON Schema that models within this process can write.
package jsonshape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Shape is what a schema asks for: a type, properties in their order, items, enum or const, bounds and lengths.
// References into $defs and the first branch of anyOf and oneOf are followed; what is not known is left out.
type Shape struct {
	Kind                string            // object, array, string, number, integer, boolean or null
	Choices             []json.RawMessage // enum or const; empty: any value
	Properties          []Property        // of an object, in the order of the schema
	Item                *Shape            // of an array; a string where the schema has none
	MinItems, MinLength int
	MaxItems, MaxLength int // -1: none
	Minimum, Maximum    *float64
	OpenLow, OpenHigh   bool   // the bound itself is not allowed
	Pattern             string // of a string
}

// Property is a named part of an object.
type Property struct {
	Name     string
	Shape    *Shape
	Required bool
}

const (
	deepest   = 12     // nested levels
	mostParts = 10_000 // of one schema, those of a $ref counted each time
)

// raw is a schema as it is written.
type raw struct {
	Type             json.RawMessage            `json:"type"`
	Properties       json.RawMessage            `json:"properties"`
	Required         []string                   `json:"required"`
	Items            json.RawMessage            `json:"items"`
	Enum             []json.RawMessage          `json:"enum"`
	Const            json.RawMessage            `json:"const"`
	MinItems         *int                       `json:"minItems"`
	MaxItems         *int                       `json:"maxItems"`
	MinLength        *int                       `json:"minLength"`
	MaxLength        *int                       `json:"maxLength"`
	Minimum          *float64                   `json:"minimum"`
	Maximum          *float64                   `json:"maximum"`
	ExclusiveMinimum *float64                   `json:"exclusiveMinimum"`
	ExclusiveMaximum *float64                   `json:"exclusiveMaximum"`
	Pattern          string                     `json:"pattern"`
	Ref              string                     `json:"$ref"`
	AnyOf            []json.RawMessage          `json:"anyOf"`
	OneOf            []json.RawMessage          `json:"oneOf"`
	Defs             map[string]json.RawMessage `json:"$defs"`
	Definitions      map[string]json.RawMessage `json:"definitions"`
}

// reader reads the parts of one schema.
type reader struct {
	defs map[string]json.RawMessage
	left int // parts that may still be read
}

// Read reads a schema.
func Read(schema json.RawMessage) (*Shape, error) {
	var root raw
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, fmt.Errorf("it is no JSON Schema: %w", err)
	}
	r := &reader{defs: map[string]json.RawMessage{}, left: mostParts}
	maps.Copy(r.defs, root.Definitions)
	maps.Copy(r.defs, root.Defs)
	return r.shape(schema, 0)
}

func (r *reader) shape(schema json.RawMessage, depth int) (*Shape, error) {
	r.left--
	if r.left < 0 {
		return nil, fmt.Errorf("it has more than %d parts, with those that it points at", mostParts)
	}
	if depth > deepest {
		return nil, fmt.Errorf("it is nested deeper than %d levels", deepest)
	}
	var in raw
	if err := json.Unmarshal(schema, &in); err != nil {
		return nil, fmt.Errorf("a part of it is no JSON Schema: %w", err)
	}
	if in.Ref != "" {
		def, ok := r.defs[in.Ref[strings.LastIndex(in.Ref, "/")+1:]]
		if !ok {
			return nil, fmt.Errorf("$ref %q points nowhere in it", in.Ref)
		}
		return r.shape(def, depth+1)
	}
	if branches := append(in.AnyOf, in.OneOf...); len(branches) > 0 {
		return r.shape(branches[0], depth+1)
	}
	s := &Shape{Kind: in.kind(), Choices: in.Enum, Pattern: in.Pattern}
	if in.Const != nil {
		s.Choices = []json.RawMessage{in.Const}
	}
	s.bound(in)
	var err error
	switch s.Kind {
	case "array":
		s.Item = &Shape{Kind: "string", MaxItems: -1, MaxLength: -1}
		if len(in.Items) > 0 {
			s.Item, err = r.shape(in.Items, depth+1)
		}
	case "object":
		s.Properties, err = r.properties(in, depth)
	}
	return s, err
}

// bound takes the bounds of a schema. Lengths below 0 are none.
func (s *Shape) bound(in raw) {
	s.MaxItems, s.MaxLength = -1, -1
	for from, to := range map[*int]*int{
		in.MinItems: &s.MinItems, in.MaxItems: &s.MaxItems, in.MinLength: &s.MinLength, in.MaxLength: &s.MaxLength,
	} {
		if from != nil && *from >= 0 {
			*to = *from
		}
	}
	s.Minimum, s.Maximum = in.Minimum, in.Maximum
	if in.ExclusiveMinimum != nil {
		s.Minimum, s.OpenLow = in.ExclusiveMinimum, true
	}
	if in.ExclusiveMaximum != nil {
		s.Maximum, s.OpenHigh = in.ExclusiveMaximum, true
	}
}

// properties reads the parts of an object in the order in which they are written.
func (r *reader) properties(in raw, depth int) ([]Property, error) {
	if len(in.Properties) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(in.Properties))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("properties must be an object")
	}
	var all []Property
	for d.More() {
		name, err := d.Token()
		var part json.RawMessage
		if err == nil {
			err = d.Decode(&part)
		}
		if err != nil {
			return nil, fmt.Errorf("properties: %w", err)
		}
		p := Property{Name: fmt.Sprint(name)}
		p.Required = slices.Contains(in.Required, p.Name)
		p.Shape, err = r.shape(part, depth+1)
		if err != nil {
			return nil, fmt.Errorf("property %q: %w", p.Name, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// kind is the type; of several it is the first that is not null, and where none is given it follows from the rest.
func (in raw) kind() string {
	var one string
	if json.Unmarshal(in.Type, &one) == nil {
		return one
	}
	var several []string
	if json.Unmarshal(in.Type, &several) == nil {
		several = slices.DeleteFunc(several, func(k string) bool { return k == "null" })
		return append(several, "null")[0]
	}
	switch {
	case len(in.Properties) > 0:
		return "object"
	case len(in.Items) > 0:
		return "array"
	}
	return "string"
}
