package llama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// form is the supported part of JSON Schema: types, properties in their order, items, enum and const, lengths, and
// bounds of numbers. $ref into $defs and the first branch of anyOf and oneOf are followed. Patterns and formats are
// ignored.
type form struct {
	kind     formKind
	parts    []part // of an object: what is written, one after the other
	item     *form
	least    int // items of an array, letters of a text
	most     int // -1: none
	low      float64
	high     float64
	words    [][]byte // of a choice: each as JSON
	shortest int      // bytes of the shortest value
}

type formKind int

const (
	anObject formKind = iota
	anArray
	aText
	aNumber
	aWhole
	aChoice
)

// part is a piece of an object: fixed letters, or a value.
type part struct {
	given []byte // gap stands for a blank that may be left out
	value *form
}

// gap is where one blank may stand.
const gap = 0

const (
	deepestForm = 12
	mostForms   = 10_000 // parts of one schema, those of a $ref counted each time
	mostItems   = 12     // of an array without a bound: small models do not end one by themselves
	unbounded   = 1e15
)

type rawForm struct {
	Type             json.RawMessage            `json:"type"`
	Properties       json.RawMessage            `json:"properties"`
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
	Ref              string                     `json:"$ref"`
	AnyOf            []json.RawMessage          `json:"anyOf"`
	OneOf            []json.RawMessage          `json:"oneOf"`
	Defs             map[string]json.RawMessage `json:"$defs"`
	Definitions      map[string]json.RawMessage `json:"definitions"`
}

// readForm compiles a schema.
func readForm(schema json.RawMessage) (*form, error) {
	var root rawForm
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, fmt.Errorf("it is no JSON Schema: %w", err)
	}
	left := mostForms
	return formOf(schema, root, 0, &left)
}

func formOf(schema json.RawMessage, root rawForm, depth int, left *int) (*form, error) {
	*left--
	if *left < 0 {
		return nil, fmt.Errorf("it has more than %d parts, with those that it points at", mostForms)
	}
	var r rawForm
	if err := json.Unmarshal(schema, &r); err != nil {
		return nil, fmt.Errorf("a part of it is no JSON Schema: %w", err)
	}
	if depth > deepestForm {
		return nil, fmt.Errorf("it is nested deeper than %d levels", deepestForm)
	}
	follow := func(to json.RawMessage) (*form, error) { return formOf(to, root, depth+1, left) }
	switch {
	case r.Ref != "":
		name := r.Ref[strings.LastIndex(r.Ref, "/")+1:]
		if def, ok := root.Defs[name]; ok {
			return follow(def)
		}
		if def, ok := root.Definitions[name]; ok {
			return follow(def)
		}
		return nil, fmt.Errorf("$ref %q points nowhere in it", r.Ref)
	case len(r.AnyOf) > 0:
		return follow(r.AnyOf[0])
	case len(r.OneOf) > 0:
		return follow(r.OneOf[0])
	case r.Const != nil:
		return choiceOf([]json.RawMessage{r.Const})
	case len(r.Enum) > 0:
		return choiceOf(r.Enum)
	}
	switch kind := typeOf(r); kind {
	case "object":
		return objectOf(r, follow)
	case "array":
		f := &form{
			kind: anArray, least: or(r.MinItems, 0), most: or(r.MaxItems, max(mostItems, or(r.MinItems, 0))),
			shortest: 2,
		}
		items := r.Items
		if len(items) == 0 {
			items = json.RawMessage(`{"type":"string"}`)
		}
		var err error
		f.item, err = follow(items)
		if err != nil {
			return nil, err
		}
		if f.most < f.least {
			return nil, fmt.Errorf("an array of at least %d and at most %d items cannot be", f.least, f.most)
		}
		f.shortest += f.least*(f.item.shortest+1) - min(f.least, 1)
		return f, nil
	case "string":
		least := max(0, or(r.MinLength, 0))
		if most := or(r.MaxLength, -1); most >= 0 && most < least {
			return nil, fmt.Errorf("a text of at least %d and at most %d letters cannot be", least, most)
		}
		return &form{kind: aText, least: least, most: or(r.MaxLength, -1), shortest: 2 + least}, nil
	case "number", "integer":
		return numberOf(r, kind == "integer")
	case "boolean":
		return choiceOf([]json.RawMessage{json.RawMessage("true"), json.RawMessage("false")})
	case "null":
		return choiceOf([]json.RawMessage{json.RawMessage("null")})
	default:
		return nil, fmt.Errorf("type %q is none of JSON", kind)
	}
}

// typeOf reads a type; of several it takes the first that is not null.
func typeOf(r rawForm) string {
	var one string
	if json.Unmarshal(r.Type, &one) == nil {
		return one
	}
	var several []string
	if json.Unmarshal(r.Type, &several) == nil {
		for _, kind := range several {
			if kind != "null" {
				return kind
			}
		}
		return "null"
	}
	switch {
	case len(r.Properties) > 0:
		return "object"
	case len(r.Items) > 0:
		return "array"
	}
	return "string"
}

func or(v *int, usual int) int {
	if v != nil {
		return *v
	}
	return usual
}

func choiceOf(values []json.RawMessage) (*form, error) {
	f := &form{kind: aChoice}
	for _, v := range values {
		var tidy bytes.Buffer
		if err := json.Compact(&tidy, v); err != nil {
			return nil, fmt.Errorf("a choice in it is no JSON: %w", err)
		}
		f.words = append(f.words, tidy.Bytes())
		if f.shortest == 0 || tidy.Len() < f.shortest {
			f.shortest = tidy.Len()
		}
	}
	return f, nil
}

func numberOf(r rawForm, whole bool) (*form, error) {
	f := &form{kind: aNumber, low: -unbounded, high: unbounded, shortest: 1}
	if whole {
		f.kind = aWhole
	}
	for _, b := range []struct {
		v    *float64
		into *float64
	}{{r.Minimum, &f.low}, {r.Maximum, &f.high}, {r.ExclusiveMinimum, &f.low}, {r.ExclusiveMaximum, &f.high}} {
		if b.v != nil {
			*b.into = *b.v
		}
	}
	if f.low > f.high {
		return nil, fmt.Errorf("a number from %v to %v cannot be", f.low, f.high)
	}
	f.shortest = f.ending(nil)
	if f.shortest >= longestNumber {
		return nil, fmt.Errorf("no number from %v to %v can be written in %d letters", f.low, f.high, longestNumber)
	}
	return f, nil
}

func objectOf(r rawForm, follow func(json.RawMessage) (*form, error)) (*form, error) {
	f := &form{kind: anObject, shortest: 2}
	given := []byte("{")
	d := json.NewDecoder(bytes.NewReader(r.Properties))
	if len(r.Properties) > 0 {
		if open, err := d.Token(); err != nil || open != json.Delim('{') {
			return nil, fmt.Errorf("properties must be an object")
		}
	}
	for i := 0; len(r.Properties) > 0 && d.More(); i++ {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("properties: %w", err)
		}
		var schema json.RawMessage
		if err := d.Decode(&schema); err != nil {
			return nil, fmt.Errorf("properties: %w", err)
		}
		value, err := follow(schema)
		if err != nil {
			return nil, err
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("properties: %w", err)
		}
		if i > 0 {
			given = append(given, ',', gap)
			f.shortest++
		}
		given = append(append(given, key...), ':', gap)
		f.parts = append(f.parts, part{given: given}, part{value: value})
		f.shortest += len(key) + 1 + value.shortest
		given = nil
	}
	f.parts = append(f.parts, part{given: append(given, '}')})
	return f, nil
}
