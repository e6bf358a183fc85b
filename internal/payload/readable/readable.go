// Package readable converts what Temporal stores as its SDK does, but writes durations in words.
package readable

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// Converter returns the SDK's data converter with one difference: in JSON a time.Duration is words such as "15m0s", so
// that inputs can be read in Temporal's tools. It reads nanoseconds as well, which builds before contract 3 and the
// SDK's own converter write.
func Converter() converter.DataConverter {
	return converter.NewCompositeDataConverter(
		converter.NewNilPayloadConverter(),
		converter.NewByteSlicePayloadConverter(),
		converter.NewProtoJSONPayloadConverter(),
		converter.NewProtoPayloadConverter(),
		durations{converter.NewJSONPayloadConverter()},
	)
}

// durations is the SDK's converter to JSON with durations in words.
type durations struct{ converter.PayloadConverter }

// The JSON is encoding/json's, so that what was written before is read as it was. What a type writes by a method of its
// own stays as the method writes it.
var (
	writing = json.JoinOptions(jsonv1.DefaultOptionsV1(), json.WithMarshalers(json.MarshalToFunc(write)))
	reading = json.JoinOptions(jsonv1.DefaultOptionsV1(), json.WithUnmarshalers(json.UnmarshalFromFunc(read)))
)

// ToPayload writes a value.
func (d durations) ToPayload(value any) (*commonpb.Payload, error) {
	body, err := json.Marshal(value, writing)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", converter.ErrUnableToEncode, err)
	}
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(d.Encoding())}, Data: body,
	}, nil
}

// FromPayload reads a value.
func (d durations) FromPayload(p *commonpb.Payload, value any) error {
	if err := json.Unmarshal(p.GetData(), value, reading); err != nil {
		return fmt.Errorf("%w: %w", converter.ErrUnableToDecode, err)
	}
	return nil
}

func write(out *jsontext.Encoder, long time.Duration) error {
	return out.WriteToken(jsontext.String(long.String()))
}

func read(in *jsontext.Decoder, into *time.Duration) error {
	if in.PeekKind() != jsontext.KindString {
		return errors.ErrUnsupported // a number, as without this function
	}
	words, err := in.ReadToken()
	if err != nil {
		return err
	}
	long, err := time.ParseDuration(words.String())
	if err != nil {
		return fmt.Errorf("read a duration such as 15m or 1h30m: %w", err)
	}
	*into = long
	return nil
}
