package params

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"
)

// Object reads a body into the struct that into points to, by the names in its json tags. Fields without such a name
// are not read, but those of an embedded struct are. The error is that of Read, and names fields within fields, such as
// "post.content".
func Object(r *http.Request, into any) error {
	return read(r, fieldsOf(reflect.ValueOf(into).Elem(), ""), false)
}

// OptionalObject is Object of a body that may be left out.
func OptionalObject(r *http.Request, into any) error {
	return read(r, fieldsOf(reflect.ValueOf(into).Elem(), ""), true)
}

// fieldsOf are the fields of a struct, whose names stand behind a prefix in errors.
func fieldsOf(v reflect.Value, prefix string) []Field {
	var fields []Field
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if v.Type().Field(i).Anonymous {
			fields = append(fields, fieldsOf(v.Field(i), prefix)...)
		}
		if name == "" || name == "-" {
			continue
		}
		fields = append(fields, Field{name, reader(v.Field(i), prefix+name)})
	}
	return fields
}

var (
	timeType   = reflect.TypeFor[time.Time]()
	numberType = reflect.TypeFor[json.Number]()
	errObject  = errors.New("must be an object")
)

// reader parses a value of the type of into. path names it in errors.
func reader(into reflect.Value, path string) func(json.RawMessage) error {
	kind := into.Type()
	switch {
	case kind.Kind() == reflect.Pointer:
		return func(value json.RawMessage) error {
			at := reflect.New(kind.Elem())
			into.Set(at)
			return reader(at.Elem(), path)(value)
		}
	case kind.Kind() == reflect.Struct && kind != timeType:
		return func(value json.RawMessage) error {
			if !bytes.HasPrefix(value, []byte("{")) {
				return errObject
			}
			return readObject(value, path+".", fieldsOf(into, path+"."))
		}
	case kind.Kind() == reflect.Slice:
		return func(value json.RawMessage) error { return readList(into, path, value) }
	}
	return func(value json.RawMessage) error {
		if json.Unmarshal(value, into.Addr().Interface()) == nil {
			return nil
		}
		var text string
		if kind == timeType && json.Unmarshal(value, &text) == nil {
			return fmt.Errorf("is %s; it %w", Quoted(text), mustBe(kind))
		}
		return mustBe(kind)
	}
}

func readList(into reflect.Value, path string, value json.RawMessage) error {
	var each []json.RawMessage
	if json.Unmarshal(value, &each) != nil {
		return errors.New("must be a list")
	}
	list := reflect.MakeSlice(into.Type(), len(each), len(each))
	for i, value := range each {
		at := fmt.Sprintf("%s[%d]", path, i)
		read := reader(list.Index(i), at)
		if string(value) == "null" {
			read = func(json.RawMessage) error { return mustBe(list.Index(i).Type()) }
		}
		if fault, param := faultOf(at, value, read); fault != "" {
			return Wrong(firstOf("", param), fault)
		}
	}
	into.Set(list)
	return nil
}

// mustBe says what is right for a type.
func mustBe(kind reflect.Type) error {
	switch {
	case kind == timeType:
		return errors.New("must be a time of RFC 3339, such as 2026-11-23T08:00:00Z")
	case kind == numberType:
		return errors.New("must be a whole number, or its digits")
	case kind.Kind() == reflect.String:
		return errors.New("must be a string")
	case kind.Kind() == reflect.Bool:
		return errors.New("must be true or false")
	case kind.Kind() == reflect.Map:
		return errors.New("must be an object of strings")
	case kind.Kind() == reflect.Struct, kind.Kind() == reflect.Pointer:
		return errObject
	case kind.Kind() == reflect.Float64:
		return errors.New("must be a number")
	}
	return errors.New("must be a whole number")
}
