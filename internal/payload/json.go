package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
)

// OpenJSON opens every sealed payload in JSON as Temporal's tools print it (a payload, a history, a description) and
// replaces it by its content: JSON as JSON, anything else as a payload. It returns how many there were. The input may
// hold several documents.
func OpenJSON(keys Keys, in io.Reader, out io.Writer) (int, error) {
	read := json.NewDecoder(in)
	read.UseNumber()
	opened := 0
	for documents := 0; ; documents++ {
		var document any
		switch err := read.Decode(&document); {
		case errors.Is(err, io.EOF) && documents > 0:
			return opened, nil
		case errors.Is(err, io.EOF):
			return 0, errors.New("read the JSON to open: there is none")
		case err != nil:
			return opened, fmt.Errorf("read the JSON to open: %w", err)
		}
		document, n, err := openWithin(keys, document)
		opened += n
		if err != nil {
			return opened, err
		}
		write := json.NewEncoder(out)
		write.SetEscapeHTML(false)
		write.SetIndent("", "  ")
		if err := write.Encode(document); err != nil {
			return opened, fmt.Errorf("write the opened JSON: %w", err)
		}
	}
}

func openWithin(keys Keys, value any) (any, int, error) {
	opened := 0
	switch v := value.(type) {
	case []any:
		for i := range v {
			inner, n, err := openWithin(keys, v[i])
			v[i], opened = inner, opened+n
			if err != nil {
				return v, opened, err
			}
		}
	case map[string]any:
		if p := asPayload(v); p != nil {
			inner, err := openOne(keys, p)
			return inner, 1, err
		}
		for name := range v {
			inner, n, err := openWithin(keys, v[name])
			v[name], opened = inner, opened+n
			if err != nil {
				return v, opened, err
			}
		}
	}
	return value, opened, nil
}

// asPayload returns the sealed payload that an object represents, or nil.
func asPayload(object map[string]any) *commonpb.Payload {
	if _, is := object["metadata"].(map[string]any); !is {
		return nil
	}
	body, err := json.Marshal(object)
	if err != nil {
		return nil
	}
	p := &commonpb.Payload{}
	if protojson.Unmarshal(body, p) != nil || !isSealed(p) {
		return nil
	}
	return p
}

func openOne(keys Keys, sealed *commonpb.Payload) (any, error) {
	plain, err := keys.open(sealed)
	if err != nil {
		return nil, err
	}
	body := plain.GetData()
	if string(plain.GetMetadata()[converter.MetadataEncoding]) != converter.MetadataEncodingJSON {
		body, err = protojson.Marshal(plain)
		if err != nil {
			return nil, fmt.Errorf("write an opened payload: %w", err)
		}
	}
	var value any
	read := json.NewDecoder(bytes.NewReader(body))
	read.UseNumber()
	if err := read.Decode(&value); err != nil {
		return nil, fmt.Errorf("read an opened payload: %w", err)
	}
	return value, nil
}
