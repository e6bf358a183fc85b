package openaihttp

import (
	"encoding/json"
	"testing"
)

// FuzzTold compares the reader of outermost fields with encoding/json: valid JSON is read the same, and nothing is
// read as something else.
func FuzzTold(f *testing.F) {
	for _, seed := range []string{
		`{"model":"iris","user":"ada"}`, `{"messages":[{"content":"\\\""}],"model":"x"}`,
		`{}`, ` {"a":{"model":"y"}} `, `{"a":1,"a":2}`, `{"model":"\u0000"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := parseFields(body)
		if !json.Valid(body) {
			return
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(body, &want) != nil {
			if err == nil {
				t.Fatalf("%q is no object and was read", body)
			}
			return
		}
		if err != nil {
			return // duplicate, or no string
		}
		for name, value := range map[string]string{"model": got.Model, "user": got.User} {
			var s string
			if want[name] != nil && json.Unmarshal(want[name], &s) != nil || s != value {
				t.Fatalf("%s of %q is %q, read as %q", name, body, s, value)
			}
		}
	})
}
