package openaihttp

import (
	"encoding/json"
	"testing"
)

// FuzzTold holds the reader of outermost fields to encoding/json: what is valid JSON is read the same, whatever else is
// never read as something it is not.
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
			return // twice, or no string
		}
		for name, value := range map[string]string{"model": got.Model, "user": got.User} {
			var s string
			if want[name] != nil && json.Unmarshal(want[name], &s) != nil || s != value {
				t.Fatalf("%s of %q is %q, read as %q", name, body, s, value)
			}
		}
	})
}
