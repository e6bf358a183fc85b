package dreamhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/jsonscan"
)

// field is a field of a body with the function that parses its value.
type field struct {
	name string
	read func(value json.RawMessage) error
}

// text parses a string. Its error says what would be right.
func text(into *string) func(json.RawMessage) error {
	return func(value json.RawMessage) error {
		if json.Unmarshal(value, into) != nil {
			return errors.New("must be a string")
		}
		return nil
	}
}

// readRequest reads a request for a dream, with the additional fields of its route.
func readRequest(r *http.Request, beside ...field) (psyche.DreamRequest, error) {
	var w psyche.DreamRequest
	var instructions, theme, tier, model string
	fields := append(beside,
		field{"instructions", text(&instructions)}, field{"theme", text(&theme)}, field{"tier", text(&tier)},
		field{"model", text(&model)},
		field{"models", models(&w)}, field{"budget_micros", sum(&w)}, field{"seed", seed(&w)})
	if err := readFields(r, fields); err != nil {
		return w, err
	}
	if instructions != "" && theme != "" && instructions != theme {
		return w, badParam("theme", "theme and instructions are two names of one thing; keep one")
	}
	w.Theme = instructions
	if theme != "" {
		w.Theme = theme
	}
	if strings.ContainsFunc(w.Theme, unprintable) {
		return w, badParam("instructions", "instructions hold control characters; they must be printable text")
	}
	w.Tier = dream.Tier(tier)
	if model != "" {
		chosen := map[dream.Role]string{}
		for _, role := range dream.Roles {
			if role != dream.Embedder {
				chosen[role] = model
			}
		}
		maps.Copy(chosen, w.Models)
		w.Models = chosen
	}
	return w, nil
}

func unprintable(c rune) bool {
	return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == utf8.RuneError
}

func models(w *psyche.DreamRequest) func(json.RawMessage) error {
	return func(value json.RawMessage) error {
		if json.Unmarshal(value, &w.Models) != nil {
			return errors.New(`must be an object of model names by role, such as {"generator": "house/large"}`)
		}
		return nil
	}
}

func sum(w *psyche.DreamRequest) func(json.RawMessage) error {
	return func(value json.RawMessage) error {
		var amount budget.Micros
		if json.Unmarshal(value, (*int64)(&amount)) != nil {
			return errors.New("must be a whole number of micro-dollars, such as 250000 for $0.25")
		}
		w.Budget = &amount
		return nil
	}
}

func seed(w *psyche.DreamRequest) func(json.RawMessage) error {
	return func(value json.RawMessage) error {
		digits := string(value)
		if strings.HasPrefix(digits, `"`) {
			if err := json.Unmarshal(value, &digits); err != nil {
				return errors.New("must be a whole number, or its digits")
			}
		}
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil {
			return errors.New("must be a whole number from 0 to 18446744073709551615, or its digits")
		}
		w.Seed = &n
		return nil
	}
}

// readFields reads an object that has only the given fields. null is as if the field were absent. The error names
// every field that is wrong or unknown, and its parameter is the first one.
func readFields(r *http.Request, fields []field) error {
	body, err := front.Body(r)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(body)) == 0 && len(fields) == 0 {
		return nil
	}
	return readBody(body, fields)
}

// readOptional is readFields of a body that may be left out.
func readOptional(r *http.Request, fields []field) error {
	body, err := front.Body(r)
	if err != nil || len(bytes.TrimSpace(body)) == 0 {
		return err
	}
	return readBody(body, fields)
}

func readBody(body []byte, fields []field) error {
	if !utf8.Valid(body) {
		return unreadable("the body is not UTF-8")
	}
	given, err := membersOf(body)
	if err != nil {
		return err
	}
	var faults []string
	first := ""
	for _, name := range slices.Sorted(maps.Keys(given)) {
		fault := ""
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		switch {
		case at < 0:
			fault = unknown(name, fields)
		case string(given[name]) == "null":
		default:
			if err := fields[at].read(given[name]); err != nil {
				fault = name + " " + err.Error()
			}
		}
		if fault != "" && len(faults) < 5 {
			faults = append(faults, fault)
			first = firstOf(first, name)
		}
	}
	if len(faults) > 0 {
		return badParam(first, strings.Join(faults, "; "))
	}
	return nil
}

// membersOf are the outermost fields of a body that is one JSON object and nothing else, without duplicates.
func membersOf(body []byte) (map[string]json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	err := jsonscan.Members(body, func(key, value []byte) error {
		name := jsonscan.Unquoted(key)
		if _, twice := given[name]; twice {
			return badParam(firstOf("", name), "field "+quoted(name)+" is given twice; give it once")
		}
		given[name] = value
		return nil
	})
	var fault *psyche.Fault
	if err != nil && !errors.As(err, &fault) {
		return nil, unreadable("the body is no JSON object: " + err.Error() + "; send one object")
	}
	return given, err
}

func unknown(name string, fields []field) string {
	if len(fields) == 0 {
		return fmt.Sprintf("field %s is unknown; this takes none", quoted(name))
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	slices.Sort(names)
	return fmt.Sprintf("field %s is unknown; fields are %s", quoted(name), strings.Join(names, ", "))
}

// quoted shows the beginning of what a caller wrote.
func quoted(name string) string {
	const most = 40
	if r := []rune(name); len(r) > most {
		name = string(r[:most]) + "…"
	}
	return strconv.Quote(name)
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	if len(b) > 64 {
		return ""
	}
	return b
}

func unreadable(message string) *psyche.Fault {
	return psyche.Refuse(http.StatusBadRequest, "invalid_json", "", "%s", message)
}

func badParam(param, message string) *psyche.Fault {
	return psyche.Refuse(http.StatusBadRequest, "invalid_value", param, "%s", message)
}
