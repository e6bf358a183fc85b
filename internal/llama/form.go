package llama

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/jsonshape"
)

// form is what an answer is held to while it is written, letter by letter. Patterns and formats are ignored.
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
	mostItems = 12 // of an array without a bound: small models do not end one by themselves
	unbounded = 1e15
)

// readForm compiles a schema.
func readForm(schema json.RawMessage) (*form, error) {
	shape, err := jsonshape.Read(schema)
	if err != nil {
		return nil, err
	}
	return formOf(shape)
}

func formOf(s *jsonshape.Shape) (*form, error) {
	if len(s.Choices) > 0 {
		return choiceOf(s.Choices)
	}
	switch s.Kind {
	case "object":
		return objectOf(s)
	case "array":
		return arrayOf(s)
	case "string":
		if s.MaxLength >= 0 && s.MaxLength < s.MinLength {
			return nil, fmt.Errorf("a text of at least %d and at most %d letters cannot be", s.MinLength, s.MaxLength)
		}
		return &form{kind: aText, least: s.MinLength, most: s.MaxLength, shortest: 2 + s.MinLength}, nil
	case "number", "integer":
		return numberOf(s)
	case "boolean":
		return choiceOf([]json.RawMessage{json.RawMessage("true"), json.RawMessage("false")})
	case "null":
		return choiceOf([]json.RawMessage{json.RawMessage("null")})
	}
	return nil, fmt.Errorf("type %q is none of JSON", s.Kind)
}

func arrayOf(s *jsonshape.Shape) (*form, error) {
	f := &form{kind: anArray, least: s.MinItems, most: s.MaxItems, shortest: 2}
	if f.most < 0 {
		f.most = max(mostItems, f.least)
	}
	if f.most < f.least {
		return nil, fmt.Errorf("an array of at least %d and at most %d items cannot be", f.least, f.most)
	}
	var err error
	f.item, err = formOf(s.Item)
	if err == nil {
		f.shortest += f.least*(f.item.shortest+1) - min(f.least, 1)
	}
	return f, err
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

func numberOf(s *jsonshape.Shape) (*form, error) {
	f := &form{kind: aNumber, low: -unbounded, high: unbounded, shortest: 1}
	if s.Kind == "integer" {
		f.kind = aWhole
	}
	if s.Minimum != nil {
		f.low = *s.Minimum
	}
	if s.Maximum != nil {
		f.high = *s.Maximum
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

func objectOf(s *jsonshape.Shape) (*form, error) {
	f := &form{kind: anObject, shortest: 2}
	given := []byte("{")
	for i, p := range s.Properties {
		value, err := formOf(p.Shape)
		if err != nil {
			return nil, err
		}
		key, err := json.Marshal(p.Name)
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
