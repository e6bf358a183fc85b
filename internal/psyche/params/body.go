// Package params reads the bodies and query strings of HTTP requests, and refuses what is wrong in them by name.
package params

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

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// Field is a field of a body with the function that parses its value. The error of Read says what would be right, such
// as "must be a string".
type Field struct {
	Name string
	Read func(value json.RawMessage) error
}

// Read reads an object that has only the given fields. null is as if the field were absent. The error names every
// field that is wrong or unknown, and its parameter is the first one. With no fields the body may be left out.
func Read(r *http.Request, fields []Field) error { return read(r, fields, len(fields) == 0) }

func read(r *http.Request, fields []Field, optional bool) error {
	body, err := front.Body(r)
	if err != nil || optional && len(bytes.TrimSpace(body)) == 0 {
		return err
	}
	if !utf8.Valid(body) {
		return unreadable("the body is not UTF-8")
	}
	return readObject(body, "", fields)
}

// readObject reads an object whose fields are named with a prefix, such as "post.".
func readObject(body []byte, prefix string, fields []Field) error {
	given, err := membersOf(body, prefix)
	if err != nil {
		return err
	}
	var faults []string
	first := ""
	for _, name := range slices.Sorted(maps.Keys(given)) {
		fault, param := "", prefix+name
		at := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
		switch {
		case at < 0:
			fault = unknown(prefix+name, fields)
		case string(given[name]) == "null":
		default:
			fault, param = faultOf(prefix+name, given[name], fields[at].Read)
		}
		if fault != "" && len(faults) < 5 {
			faults = append(faults, fault)
			first = firstOf(first, param)
		}
	}
	if len(faults) > 0 {
		return Wrong(first, strings.Join(faults, "; "))
	}
	return nil
}

// faultOf is what is wrong with the value of a field, and the name of what is; both empty when it was read.
func faultOf(name string, value json.RawMessage, read func(json.RawMessage) error) (fault, param string) {
	err := read(value)
	if err == nil {
		return "", ""
	}
	var within *psyche.Fault
	if errors.As(err, &within) {
		return within.Message, within.Param
	}
	return name + " " + err.Error(), name
}

// membersOf are the outermost fields of a text that is one JSON object and nothing else, without duplicates.
func membersOf(body []byte, prefix string) (map[string]json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	err := jsonscan.Members(body, func(key, value []byte) error {
		name := jsonscan.Unquoted(key)
		if _, twice := given[name]; twice {
			return Wrong(firstOf("", prefix+name), "field "+Quoted(prefix+name)+" is given twice; give it once")
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

func unknown(name string, fields []Field) string {
	if len(fields) == 0 {
		return fmt.Sprintf("field %s is unknown; this takes none", Quoted(name))
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	slices.Sort(names)
	return fmt.Sprintf("field %s is unknown; fields are %s", Quoted(name), strings.Join(names, ", "))
}

// Quoted shows the beginning of what a caller wrote.
func Quoted(name string) string {
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

// Wrong is the fault of a parameter, with the sentence that says what would be right.
func Wrong(param, message string) *psyche.Fault {
	return psyche.Refuse(http.StatusBadRequest, "invalid_value", param, "%s", message)
}
