// Package conform compares answers with the types of an official library, which are made from its provider's published
// description of the wire.
package conform

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Faults are what a value that such a library has read lacks, or has beside what the library knows: each as a path and
// what is wrong there. beside names members that are no fault, as Type.member: those that a library does not know
// although its provider sends them, or calls required although its provider leaves them out.
func Faults(v any, beside ...string) []string {
	c := &check{beside: beside}
	c.value(reflect.ValueOf(v), "")
	return c.faults
}

type check struct {
	beside []string
	faults []string
}

func (c *check) fault(at, kind, member, what string) {
	if !slices.Contains(c.beside, kind+"."+member) {
		c.faults = append(c.faults, fmt.Sprintf("%s.%s of %s %s", at, member, kind, what))
	}
}

func (c *check) value(v reflect.Value, at string) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			c.value(v.Index(i), fmt.Sprintf("%s[%d]", at, i))
		}
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			c.value(v.Elem(), at)
		}
	case reflect.Struct:
		if variant := v.MethodByName("AsAny"); variant.IsValid() {
			c.variant(v, variant.Call(nil)[0], at)
			return
		}
		c.members(v, at, nil)
	}
}

// variant checks one form of a union.
func (c *check) variant(union, v reflect.Value, at string) {
	if v.IsNil() {
		c.faults = append(c.faults, fmt.Sprintf("%s of %s is of a type that the library does not know", at, union.Type()))
		return
	}
	c.value(v.Elem(), at)
}

// members checks a struct against its JSON member, which says of each field how it came. elsewhere are members that
// another struct has read.
func (c *check) members(v reflect.Value, at string, elsewhere []string) {
	state := v.FieldByName("JSON")
	if !state.IsValid() {
		return
	}
	kind := v.Type().Name()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous && field.Type.Kind() == reflect.Struct {
			elsewhere = append(elsewhere, c.embedded(v, field.Type, at)...)
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		status := state.FieldByName(field.Name)
		if field.Name == "JSON" || !field.IsExported() || !status.IsValid() {
			continue
		}
		raw := status.MethodByName("Raw").Call(nil)[0].String()
		required := field.Tag.Get("api") == "required" || field.Tag.Get("default") != "" ||
			strings.Contains(options, "required")
		valid := status.MethodByName("Valid").Call(nil)[0].Bool()
		constant := field.Tag.Get("default")
		switch {
		case raw == "" && required:
			c.fault(at, kind, name, "is missing")
		case raw == "" || raw == "null":
		case !valid:
			c.fault(at, kind, name, "cannot be read: "+raw)
		case constant != "" && raw != quoted(constant):
			c.fault(at, kind, name, "is "+raw+" and must be "+constant)
		default:
			c.value(v.Field(i), at+"."+name)
		}
	}
	extra := state.FieldByName("ExtraFields")
	if !extra.IsValid() {
		return
	}
	for _, key := range extra.MapKeys() {
		if slices.Contains(elsewhere, key.String()) {
			continue
		}
		c.fault(at, kind, key.String(), "is not known to the library")
	}
}

// embedded checks the part of a struct that is of an embedded one, which the library does not fill, and returns the
// names of its members.
func (c *check) embedded(v reflect.Value, kind reflect.Type, at string) []string {
	part := reflect.New(kind)
	raw := v.FieldByName("JSON").FieldByName("raw").String()
	if err := json.Unmarshal([]byte(raw), part.Interface()); err != nil {
		c.faults = append(c.faults, fmt.Sprintf("%s cannot be read as %s: %v", at, kind.Name(), err))
		return nil
	}
	c.members(part.Elem(), at, namesOf(v.Type()))
	return namesOf(kind)
}

// namesOf are the names of the members of a struct's own fields.
func namesOf(kind reflect.Type) (names []string) {
	for field := range kind.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func quoted(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}
