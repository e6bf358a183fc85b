package localmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// misread tells which field is not what it should be, in the client's words and not in ours.
func misread(err error) *inference.RelayResponse {
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) || kind.Field == "" {
		return wrong("", "The body is not a JSON object that holds a chat.")
	}
	field := kind.Field
	if kind.Type.Kind() == reflect.Struct {
		return wrong(field,
			fmt.Sprintf("%s holds a %s where there must be an object.", field, kind.Value))
	}
	return wrong(field,
		fmt.Sprintf("%s is a %s; it must be a %s.", field, kind.Value, wireKind(kind.Type.Kind())))
}

func wireKind(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "bool"
	case reflect.String:
		return "string"
	case reflect.Slice:
		return "array"
	case reflect.Float64:
		return "number"
	}
	return "whole number"
}
