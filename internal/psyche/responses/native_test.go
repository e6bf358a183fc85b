package responses_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/internal/psyche/responses"
)

// TestANativeRequestIsEditedAndNotRebuilt draws requests with members in any order and form. Nothing but what this server
// keeps is changed in them.
func TestANativeRequestIsEditedAndNotRebuilt(t *testing.T) {
	t.Parallel()
	items := []string{
		`{"role":"user","content":"a\u002eb"}`, `{ "type":"message","role":"user","content":[{"type":"input_text","text":"x"}] }`,
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"Zm9v"}`, `{"type":"web_search_call","id":"ws_1"}`,
		`{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1.50}"}`,
		`{"type":"reasoning","summary":[]}`, `{"type":"reasoning","encrypted_content":"oneiros1.e30"}`,
		`{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}],"encrypted_content":"oneiros1.e30"}`,
		`{"type":"reasoning","id":"rs_2","content":[{"type":"reasoning_text","text":"so"}]}`,
	}
	fields := []string{
		`"stream":true`, `"temperature":0.70`, `"fresh":[1.50, {"a":null}]`, `"store":false`, `"store":null`, `"store":true`,
		`"include":[]`, `"include":null`, `"include":["message.output_text.logprobs"]`,
		`"include":["reasoning.encrypted_content"]`, `"tools":[{"type":"function","name":"f"}, {"type":"web_search"}]`,
		`"tools":[{"type":"mcp"},{"type":"function","name":"f"}]`, `"instructions":"be brief"`,
	}
	before := []responses.Item{{ID: "msg_x_0", Raw: json.RawMessage(`{"id":"msg_x_0","type":"message","role":"user"}`)}}
	rapid.Check(t, func(r *rapid.T) {
		space := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(r, "space")
		input := rapid.SampledFrom([]string{"list", "text", "nothing"}).Draw(r, "input")
		drawn := rapid.SliceOfN(rapid.SampledFrom(items), 0, 5).Draw(r, "items")
		goesOn := input == "nothing" || rapid.Bool().Draw(r, "goes on")
		members := rapid.SliceOfNDistinct(rapid.SampledFrom(fields), 0, 5, func(f string) string {
			name, _, _ := strings.Cut(f, ":")
			return name
		}).Draw(r, "fields")
		members = append(members, `"model":"echo"`)
		switch input {
		case "list":
			members = append(members, `"input":`+space+"["+strings.Join(drawn, ","+space)+space+"]")
		case "text":
			members = append(members, `"input":"Hi\u0021"`)
		}
		if goesOn {
			members = append(members, `"previous_response_id":"resp_x"`)
		}
		raw := "{" + strings.Join(rapid.Permutation(members).Draw(r, "order"), space+",") + "}"
		q, err := responses.Scan([]byte(raw))
		require.NoError(r, err)
		history := before
		if !goesOn {
			history = nil
		}
		reasons := rapid.Bool().Draw(r, "reasons")
		got, err := q.Native(history, responses.NativeOptions{Reasons: reasons, BuiltIn: rapid.Bool().Draw(r,
			"built in")})
		require.NoError(r, err)
		var was, is map[string]any
		require.NoError(r, json.Unmarshal([]byte(raw), &was))
		require.NoError(r, json.Unmarshal(got, &is), "%s became %s", raw, got)
		require.Equal(r, false, is["store"], "the provider keeps nothing")
		require.Nil(r, is["previous_response_id"])
		var want []any
		if goesOn {
			want = append(want, map[string]any{"type": "message", "role": "user"})
		}
		switch input {
		case "list":
			for _, text := range drawn {
				if strings.Contains(text, "oneiros1.") || text == `{"type":"reasoning","summary":[]}` {
					continue
				}
				var item any
				require.NoError(r, json.Unmarshal([]byte(text), &item))
				require.Contains(r, string(got), text, "an item that stays has its bytes")
				want = append(want, item)
			}
		case "text":
			want = append(want, map[string]any{"role": "user", "content": "Hi!"})
		}
		require.ElementsMatch(r, want, is["input"])
		if want != nil {
			require.Equal(r, want, is["input"])
		}
		if reasons && q.Store {
			require.Contains(r, is["include"], "reasoning.encrypted_content")
		}
		require.Equal(r, len(q.LeftOut) == 0 || was["tools"] == nil,
			fmt.Sprint(was["tools"]) == fmt.Sprint(is["tools"]))
		for _, name := range []string{"store", "previous_response_id", "input", "include", "tools"} {
			delete(was, name)
			delete(is, name)
		}
		require.Equal(r, was, is)
	})
}

// FuzzNativeRequest reads requests; what is passed on is JSON, and the provider is asked to keep nothing.
func FuzzNativeRequest(f *testing.F) {
	f.Add([]byte(`{"model":"echo","input":[{"role":"user","content":"x"},{"type":"reasoning"}],"tools":[{"type":"mcp"},{"type":"custom"}]}`))
	f.Add([]byte(`{"input":"x","previous_response_id":"resp_x","store":null,"include":["a"]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		q, err := responses.Scan(raw)
		if err != nil {
			return
		}
		got, err := q.Native([]responses.Item{{Raw: json.RawMessage(`{"role":"user","content":"y"}`)}},
			responses.NativeOptions{Reasons: true})
		if err != nil {
			return
		}
		var body map[string]any // exact names: psyche refuses others
		if json.Unmarshal(got, &body) != nil || body["store"] != false {
			t.Fatalf("%q became %q", raw, got)
		}
	})
}

// FuzzRenamed edits answers of providers. An answer without ids comes back as it was.
func FuzzRenamed(f *testing.F) {
	raw, err := os.ReadFile("../testdata/answers/responses.events")
	require.NoError(f, err)
	for event := range strings.SplitAfterSeq(string(raw), "\n\n") {
		f.Add([]byte(event))
	}
	q, err := responses.Scan([]byte(`{"model":"echo","input":"x"}`))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, event []byte) {
		edits := q.Renamed("resp_" + strings.Repeat("a", 26))
		got := edits.Event(event, func() {})
		if !bytes.Contains(event, []byte(`"id"`)) && !bytes.Contains(event, []byte(`\u`)) &&
			!bytes.Contains(event, []byte("response")) && !bytes.EqualFold(got, event) {
			t.Fatalf("%q became %q", event, got)
		}
		data, found := strings.CutPrefix(string(event), "data:")
		if found && !strings.ContainsAny(data, "\r\n") && json.Valid([]byte(data)) &&
			!json.Valid([]byte(strings.TrimPrefix(string(got), "data:"))) {
			t.Fatalf("%q became %q", event, got)
		}
	})
}
