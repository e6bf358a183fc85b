package jsonscan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzMembers compares the scanner with encoding/json: it takes the same objects, and finds the same members.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{"model":"iris","user":"ada"}`, `{"messages":[{"content":"\\\""}],"model":"x"}`, `{"a":-0.5e+3,"b":01}`,
		`{}`, ` {"a":{"model":"y"}} `, `{"a":1,"a":2}`, `{"model":"\u0000"}`, `{"a":1}x`, `[1]`, `{"a":tru}`, "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		found := map[string]json.RawMessage{}
		err := Members(body, func(key, value []byte) error {
			found[Unquoted(key)] = value
			return nil
		})
		var want map[string]json.RawMessage
		object := json.Unmarshal(body, &want) == nil && want != nil
		if err != nil {
			require.True(t, !object || strings.Contains(err.Error(), "deep"), "%q is refused: %v", body, err)
			return
		}
		require.True(t, object, "%q is taken", body)
		require.Len(t, found, len(want))
		for name, value := range want {
			require.Equal(t, string(value), string(found[name]), name)
		}
	})
}

// FuzzQuoted: what is quoted is read back as it was, and encoding/json reads the same.
func FuzzQuoted(f *testing.F) {
	for _, seed := range []string{"", "plain", "a \"quotation\"\n", "\u2028 ü <b>", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted := Quoted(text)
		var want string
		require.NoError(t, json.Unmarshal(quoted, &want))
		require.Equal(t, want, Unquoted(quoted))
		require.Equal(t, string([]rune(text)), want, "each invalid byte is a replacement character")
	})
}

// Strings are read eight bytes at once.
func TestEveryByteEndsAStringWhereItShould(t *testing.T) {
	t.Parallel()
	for at := range 20 {
		for c := range 256 {
			text := []byte(`{"k":"` + strings.Repeat("\xe9", 20) + `"}`)
			text[len(`{"k":"`)+at] = byte(c)
			err := Members(text, func(_, _ []byte) error { return nil })
			require.Equal(t, json.Valid(text), err == nil, "byte %#x at %d: %v", c, at, err)
			require.Equal(t, json.Valid(text), Valid(text))
		}
	}
}
