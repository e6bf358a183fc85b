package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// Raw is JSON from outside, kept byte for byte. An archive holds it as an object when encoding/json would write the
// same bytes, and as a string otherwise.
type Raw []byte

// MarshalJSON writes the form that UnmarshalJSON reads.
func (r Raw) MarshalJSON() ([]byte, error) {
	if len(r) > 0 && r[0] == '{' {
		if plain, err := json.Marshal(json.RawMessage(r)); err == nil && bytes.Equal(plain, r) {
			return r, nil
		}
	}
	if !utf8.Valid(r) {
		return nil, errors.New("a text is not UTF-8, which JSON cannot carry")
	}
	return json.Marshal(string(r))
}

// UnmarshalJSON reads an object or a string.
func (r *Raw) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		*r = bytes.Clone(b)
		return nil
	}
	var text *string
	if err := json.Unmarshal(b, &text); err != nil || text == nil {
		return errors.New("expected a JSON object, or a string that contains one")
	}
	*r = Raw(*text)
	return nil
}
