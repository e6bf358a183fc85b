package payload

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// plain converts values as the SDK does by itself, but reads durations in words as well. It goes on writing them in
// nanoseconds, which workers of every build read (docs/decisions/0075-durations-are-read-in-words.md).
func plain() converter.DataConverter {
	return converter.NewCompositeDataConverter(
		converter.NewNilPayloadConverter(),
		converter.NewByteSlicePayloadConverter(),
		converter.NewProtoJSONPayloadConverter(),
		converter.NewProtoPayloadConverter(),
		durations{converter.NewJSONPayloadConverter()},
	)
}

// durations reads JSON in which a time.Duration is a number of nanoseconds, or words such as "15m0s".
type durations struct{ converter.PayloadConverter }

// FromPayload reads a value.
func (d durations) FromPayload(p *commonpb.Payload, value any) error {
	err := d.PayloadConverter.FromPayload(p, value)
	if err == nil {
		return nil
	}
	body, ok := inNanoseconds(p.GetData(), value)
	if !ok {
		return err
	}
	return d.PayloadConverter.FromPayload(&commonpb.Payload{Metadata: p.GetMetadata(), Data: body}, value)
}

// inNanoseconds is JSON for a value with every duration that is in words as a number; false where there is none.
func inNanoseconds(body []byte, value any) ([]byte, bool) {
	read := json.NewDecoder(bytes.NewReader(body))
	read.UseNumber()
	var tree any
	if value == nil || read.Decode(&tree) != nil {
		return nil, false
	}
	some := false
	tree = counted(tree, reflect.TypeOf(value), &some)
	if !some {
		return nil, false
	}
	out, err := json.Marshal(tree)
	return out, err == nil
}

var (
	durationType  = reflect.TypeFor[time.Duration]()
	readsItselfAs = reflect.TypeFor[json.Unmarshaler]()
)

// counted is a value of a type with its durations as numbers. some is set where one was in words.
func counted(value any, t reflect.Type, some *bool) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if words, ok := value.(string); ok && t == durationType {
		if long, err := time.ParseDuration(words); err == nil {
			*some = true
			return int64(long)
		}
		return value
	}
	if reflect.PointerTo(t).Implements(readsItselfAs) {
		return value
	}
	switch v := value.(type) {
	case []any:
		if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
			for i := range v {
				v[i] = counted(v[i], t.Elem(), some)
			}
		}
	case map[string]any:
		switch t.Kind() {
		case reflect.Map:
			for name := range v {
				v[name] = counted(v[name], t.Elem(), some)
			}
		case reflect.Struct:
			countFields(v, t, some)
		}
	}
	return value
}

// countFields does it for the fields of a struct, those of embedded ones included.
func countFields(fields map[string]any, t reflect.Type, some *bool) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if inner, ok := fields[name]; ok && f.IsExported() {
			fields[name] = counted(inner, f.Type, some)
		}
	}
}
