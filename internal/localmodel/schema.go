package localmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// shape is the part of JSON Schema that can be filled: type, properties, items, enum, const, bounds and lengths.
// References into $defs and the first branch of anyOf or oneOf are followed; what is not known is left out.
type shape struct {
	kind      string // object, array, string, number, integer, boolean, null
	hint      string // the description
	props     []property
	item      *shape
	choices   []json.RawMessage // enum or const
	minItems  int
	maxItems  int // -1: none
	minLength int
	maxLength int // -1: none
	minimum   *float64
	maximum   *float64
	exclusive bool // the minimum itself is not allowed
	pattern   *regexp.Regexp
}

// property is one named part of an object, in the schema's order.
type property struct {
	name  string
	shape *shape
	must  bool
}

const deepest = 12 // nested levels of a schema

type rawShape struct {
	Type             json.RawMessage   `json:"type"`
	Description      string            `json:"description"`
	Properties       json.RawMessage   `json:"properties"`
	Required         []string          `json:"required"`
	Items            json.RawMessage   `json:"items"`
	Enum             []json.RawMessage `json:"enum"`
	Const            json.RawMessage   `json:"const"`
	MinItems         *int              `json:"minItems"`
	MaxItems         *int              `json:"maxItems"`
	MinLength        *int              `json:"minLength"`
	MaxLength        *int              `json:"maxLength"`
	Minimum          *float64          `json:"minimum"`
	Maximum          *float64          `json:"maximum"`
	ExclusiveMinimum *float64          `json:"exclusiveMinimum"`
	Pattern          string            `json:"pattern"`
	Ref              string            `json:"$ref"`
	AnyOf            []json.RawMessage `json:"anyOf"`
	OneOf            []json.RawMessage `json:"oneOf"`
	Defs             json.RawMessage   `json:"$defs"`
}

func readSchema(raw json.RawMessage) (*shape, error) {
	var root rawShape
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	defs := map[string]json.RawMessage{}
	if len(root.Defs) > 0 {
		if err := json.Unmarshal(root.Defs, &defs); err != nil {
			return nil, fmt.Errorf("$defs: %w", err)
		}
	}
	return shapeOf(raw, defs, 0)
}

func shapeOf(raw json.RawMessage, defs map[string]json.RawMessage, depth int) (*shape, error) {
	if depth > deepest {
		return nil, fmt.Errorf("nested deeper than %d levels", deepest)
	}
	var r rawShape
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	switch {
	case r.Ref != "":
		def, ok := defs[strings.TrimPrefix(r.Ref, "#/$defs/")]
		if !ok {
			return nil, fmt.Errorf("$ref %q does not point into $defs", r.Ref)
		}
		return shapeOf(def, defs, depth+1)
	case len(r.AnyOf) > 0:
		return shapeOf(r.AnyOf[0], defs, depth+1)
	case len(r.OneOf) > 0:
		return shapeOf(r.OneOf[0], defs, depth+1)
	}
	s := &shape{
		kind:      kindOf(r),
		hint:      r.Description,
		choices:   r.Enum,
		maxItems:  -1,
		maxLength: -1,
		minimum:   r.Minimum,
		maximum:   r.Maximum,
	}
	if r.Const != nil {
		s.choices = []json.RawMessage{r.Const}
	}
	if r.ExclusiveMinimum != nil {
		s.minimum, s.exclusive = r.ExclusiveMinimum, true
	}
	for _, b := range []struct {
		from *int
		to   *int
	}{{r.MinItems, &s.minItems}, {r.MaxItems, &s.maxItems}, {r.MinLength, &s.minLength}, {r.MaxLength, &s.maxLength}} {
		if b.from != nil && *b.from >= 0 {
			*b.to = *b.from
		}
	}
	if r.Pattern != "" {
		p, err := regexp.Compile(r.Pattern)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", r.Pattern, err)
		}
		s.pattern = p
	}
	return s, s.readParts(r, defs, depth)
}

// readParts reads properties in the order they are written, and items.
func (s *shape) readParts(r rawShape, defs map[string]json.RawMessage, depth int) error {
	if s.kind == "array" {
		s.item = &shape{kind: "string", maxItems: -1, maxLength: -1}
		if len(r.Items) > 0 {
			item, err := shapeOf(r.Items, defs, depth+1)
			if err != nil {
				return fmt.Errorf("items: %w", err)
			}
			s.item = item
		}
	}
	if s.kind != "object" || len(r.Properties) == 0 {
		return nil
	}
	must := map[string]bool{}
	for _, name := range r.Required {
		must[name] = true
	}
	d := json.NewDecoder(bytes.NewReader(r.Properties))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("properties is not an object")
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return errors.New("properties has a name that is no string")
		}
		var part json.RawMessage
		if err := d.Decode(&part); err != nil {
			return fmt.Errorf("property %q: %w", name, err)
		}
		inner, err := shapeOf(part, defs, depth+1)
		if err != nil {
			return fmt.Errorf("property %q: %w", name, err)
		}
		s.props = append(s.props, property{name, inner, must[name]})
	}
	return nil
}

// kindOf takes the first type that is not null, and guesses where none is given.
func kindOf(r rawShape) string {
	var one string
	if json.Unmarshal(r.Type, &one) == nil && one != "" {
		return one
	}
	var several []string
	if json.Unmarshal(r.Type, &several) == nil {
		for _, k := range several {
			if k != "null" {
				return k
			}
		}
	}
	switch {
	case len(r.Properties) > 0:
		return "object"
	case len(r.Items) > 0:
		return "array"
	}
	return "string"
}
