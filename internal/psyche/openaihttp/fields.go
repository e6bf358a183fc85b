package openaihttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// parsed are the fields of a body that this package needs. All others are the provider's.
type parsed struct {
	Model            string
	User             string
	SafetyIdentifier string // OpenAI's replacement for user
	PromptCacheKey   string
}

// parseFields reads the outermost fields of a body without parsing the others, which may be megabytes. A duplicate
// field is refused: this server must read the same value as the provider.
func parseFields(body []byte) (parsed, error) {
	var s parsed
	seen := make(map[string]bool, 8)
	err := members(body, func(name string, value []byte) error {
		if seen[name] {
			return &psyche.Fault{
				Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "duplicate_field", Param: name,
				Message: fmt.Sprintf("%s is in the body twice.", name),
			}
		}
		seen[name] = true
		var to *string
		switch name {
		case "model":
			to = &s.Model
		case "user":
			to = &s.User
		case "safety_identifier":
			to = &s.SafetyIdentifier
		case "prompt_cache_key":
			to = &s.PromptCacheKey
		}
		if to == nil || string(value) == "null" {
			return nil
		}
		if clear, ok := literal(value); ok {
			*to = clear
			return nil
		}
		if json.Unmarshal(value, to) != nil {
			return wrong(name, "%s must be a string.", name)
		}
		return nil
	})
	return s, err
}

// members calls each for the outermost fields of a JSON object, in order. Of nested values it finds the end, and does
// not check them.
func members(body []byte, each func(name string, value []byte) error) error {
	at := blank(body, 0)
	if at == len(body) || body[at] != '{' {
		return illFormed("it must be one JSON object")
	}
	at = blank(body, at+1)
	for first := true; at < len(body) && body[at] != '}'; first = false {
		if !first {
			if body[at] != ',' {
				return broken(at)
			}
			at = blank(body, at+1)
		}
		key := at
		at = ending(body, at)
		if at < 0 || body[key] != '"' {
			return broken(key)
		}
		name, ok := literal(body[key:at])
		if !ok && json.Unmarshal(body[key:at], &name) != nil {
			return broken(key)
		}
		at = blank(body, at)
		if at == len(body) || body[at] != ':' {
			return broken(at)
		}
		value := blank(body, at+1)
		at = ending(body, value)
		if at < 0 {
			return broken(value)
		}
		if err := each(name, body[value:at]); err != nil {
			return err
		}
		at = blank(body, at)
	}
	if at == len(body) {
		return broken(at)
	}
	if rest := blank(body, at+1); rest != len(body) {
		return broken(rest)
	}
	return nil
}

// literal is the value of a string in ASCII without escapes; false for any other value.
func literal(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	value = value[1 : len(value)-1]
	for _, c := range value {
		if c < ' ' || c > '~' || c == '\\' || c == '"' {
			return "", false
		}
	}
	return string(value), true
}

func blank(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\n' || b[at] == '\r' || b[at] == '\t') {
		at++
	}
	return at
}

// ending is where the value that begins at a place ends; -1 when it does not.
func ending(b []byte, at int) int {
	began, depth := at, 0
	for at < len(b) {
		switch b[at] {
		case '"':
			at = quoted(b, at)
			if at < 0 {
				return -1
			}
			if depth == 0 {
				return at
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return plain(b, began, at)
			}
			depth--
			if depth == 0 {
				return at + 1
			}
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return plain(b, began, at)
			}
		}
		at++
	}
	return -1
}

// plain is the end of a number or a word; -1 when it is neither.
func plain(b []byte, began, at int) int {
	if !json.Valid(b[began:at]) {
		return -1
	}
	return at
}

// quoted is where the string that begins at a place ends.
func quoted(b []byte, at int) int {
	at++
	for {
		next := bytes.IndexByte(b[at:], '"')
		if next < 0 {
			return -1
		}
		at += next + 1
		slashes := 0
		for i := at - 2; b[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 0 {
			return at
		}
	}
}

func broken(at int) error {
	return illFormed(fmt.Sprintf("it breaks at byte %d", at))
}

func illFormed(how string) error {
	return &psyche.Fault{
		Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_json",
		Message: "The body cannot be read as JSON: " + how + ".",
	}
}
