package responses

import (
	"encoding/json"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// elements are the elements of a list; false when it is none.
func elements(v []byte) (all []json.RawMessage, ok bool) {
	all, err := jsonscan.Elements(v)
	return all, err == nil
}

// head are the members of an object that say what it is. Those that are no strings are empty.
type head struct{ id, kind, role string }

// headOf reads the head of an object; false when it is none.
func headOf(v []byte) (h head, ok bool) {
	err := jsonscan.Members(v, func(key, value []byte) error {
		switch string(key) {
		case `"id"`:
			h.id = jsonscan.Unquoted(value)
		case `"type"`:
			h.kind = jsonscan.Unquoted(value)
		case `"role"`:
			h.role = jsonscan.Unquoted(value)
		}
		return nil
	})
	return h, err == nil
}
