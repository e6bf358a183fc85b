package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// At most mostQuoted characters of a value are quoted, and at most mostFaults wrong arguments reported.
const (
	mostQuoted = 60
	mostFaults = 8
)

// argumentFaults says what is wrong with the arguments of a tool, in sentences that name each field, its value and
// what would be right; empty when they fit. The library's own messages speak of schemas.
func argumentFaults(tool string, s *jsonschema.Schema, arguments json.RawMessage) string {
	var given map[string]json.RawMessage
	if len(arguments) > 0 {
		if json.Unmarshal(arguments, &given) != nil || given == nil {
			return fmt.Sprintf("the arguments are %s; they must be an object", quote(arguments))
		}
	}
	var faults []string
	for _, name := range s.Required {
		if _, ok := given[name]; !ok {
			faults = append(faults, fmt.Sprintf("%s is missing; it must be %s", name, right(s.Properties[name])))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		property, found := s.Properties[name]
		switch {
		case !found:
			faults = append(faults,
				fmt.Sprintf("%s is no argument of %s, which takes %s", quote(json.RawMessage(strconv.Quote(name))),
					tool, listed(slices.Sorted(maps.Keys(s.Properties)), "and")))
		case property.Items != nil && itemFault(name, property, given[name]) != "":
			faults = append(faults, itemFault(name, property, given[name]))
		case !fits(property, given[name]):
			must := right(property)
			if !slices.Contains(s.Required, name) {
				must += ", or be left out"
			}
			faults = append(faults, fmt.Sprintf("%s is %s; it must be %s", name, quoteValue(given[name]), must))
		}
	}
	if n := len(faults) - mostFaults; n > 0 {
		faults = append(faults[:mostFaults], fmt.Sprintf("%d more do not fit", n))
	}
	return strings.Join(faults, ". ")
}

// fits reports whether a value fits a property, for the kinds of properties that tools here have.
func fits(s *jsonschema.Schema, value json.RawMessage) bool {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return false
	}
	switch v := v.(type) {
	case string:
		return fitsText(s, v)
	case float64:
		whole := v == math.Trunc(v) && math.Abs(v) <= 1<<53
		return (s.Type == "number" || s.Type == "integer" && whole) && (s.Minimum == nil || v >= *s.Minimum) &&
			(s.Maximum == nil || v <= *s.Maximum) &&
			(s.ExclusiveMinimum == nil || v > *s.ExclusiveMinimum)
	case bool:
		return s.Type == "boolean"
	case []any:
		return s.Type == "array" && (s.MinItems == nil || len(v) >= *s.MinItems) &&
			(s.MaxItems == nil || len(v) <= *s.MaxItems)
	case map[string]any:
		return s.Type == "object"
	}
	return false
}

func fitsText(s *jsonschema.Schema, v string) bool {
	n := utf8.RuneCountInString(v)
	return s.Type == "string" && (s.MinLength == nil || n >= *s.MinLength) &&
		(s.MaxLength == nil || n <= *s.MaxLength) &&
		(s.Enum == nil || slices.Contains(s.Enum, any(v)))
}

// itemFault says what is wrong with the first wrong value inside of a list or an object, at its path; empty when
// nothing is.
func itemFault(path string, s *jsonschema.Schema, value json.RawMessage) string {
	var items []json.RawMessage
	if s.Items != nil && json.Unmarshal(value, &items) == nil {
		for i, item := range items {
			at := fmt.Sprintf("%s[%d]", path, i)
			if !fits(s.Items, item) {
				return fmt.Sprintf("%s is %s; it must be %s", at, quoteValue(item), right(s.Items))
			}
			if text := itemFault(at, s.Items, item); text != "" {
				return text
			}
		}
	}
	var members map[string]json.RawMessage
	if s.Type != "object" || json.Unmarshal(value, &members) != nil {
		return ""
	}
	for _, name := range s.Required {
		if _, ok := members[name]; !ok {
			return fmt.Sprintf("%s.%s is missing; it must be %s", path, name, right(s.Properties[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		member, property := members[name], s.Properties[name]
		if member == nil || property.Type == "" {
			continue
		}
		if !fits(property, member) {
			return fmt.Sprintf("%s.%s is %s; it must be %s", path, name, quoteValue(member), right(property))
		}
		if text := itemFault(path+"."+name, property, member); text != "" {
			return text
		}
	}
	return ""
}

// right describes what a property requires.
func right(s *jsonschema.Schema) string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	switch {
	case s == nil:
		return "given"
	case s.Enum != nil:
		each := make([]string, 0, len(s.Enum))
		for _, v := range s.Enum {
			each = append(each, fmt.Sprintf("%q", v))
		}
		return listed(each, "or")
	case s.Type == "string":
		switch least, most := s.MinLength != nil && *s.MinLength > 0, s.MaxLength != nil; {
		case least && most:
			return fmt.Sprintf("text of %d to %d characters", *s.MinLength, *s.MaxLength)
		case least:
			return "text that is not empty"
		case most:
			return fmt.Sprintf("text of at most %d characters", *s.MaxLength)
		}
		return "text"
	case s.Type == "boolean":
		return "true or false"
	case s.Type == "object":
		return "an object"
	case s.Type == "array" && s.MaxItems != nil:
		return fmt.Sprintf("a list of %d to %d objects", valueOr(s.MinItems, 0), *s.MaxItems)
	case s.Type == "array":
		return "a list"
	}
	kind := "a number"
	if s.Type == "integer" {
		kind = "a whole number"
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("%s from %s to %s", kind, number(*s.Minimum), number(*s.Maximum))
	case s.ExclusiveMinimum != nil && s.Maximum != nil:
		return fmt.Sprintf("%s above %s and at most %s", kind, number(*s.ExclusiveMinimum), number(*s.Maximum))
	case s.Minimum != nil:
		return fmt.Sprintf("%s of at least %s", kind, number(*s.Minimum))
	}
	return kind
}

func valueOr(v *int, otherwise int) int {
	if v == nil {
		return otherwise
	}
	return *v
}

// quoteValue quotes a value; of a long text it states the length.
func quoteValue(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && string(value) != "null" {
		switch n := utf8.RuneCountInString(text); {
		case n == 0:
			return "empty"
		case n > mostQuoted:
			return fmt.Sprintf("text of %d characters", n)
		}
	}
	return quote(value)
}

func quote(value json.RawMessage) string {
	var flat bytes.Buffer
	if json.Compact(&flat, value) != nil {
		return "no JSON"
	}
	if runes := []rune(flat.String()); len(runes) > mostQuoted {
		return string(runes[:mostQuoted]) + "…"
	}
	return flat.String()
}

// listed is "a, b and c".
func listed(words []string, and string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + and + " " + words[len(words)-1]
}
