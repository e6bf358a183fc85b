package responses_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/responses"
)

// chat is the chat completion that a request is said as.
func chat(t *testing.T, body string) string {
	t.Helper()
	q, err := responses.Read([]byte(body))
	require.NoError(t, err, body)
	out, err := q.Chat(nil, responses.Options{MaxTokens: "max_tokens"})
	require.NoError(t, err, body)
	require.True(t, json.Valid(out), "%s", out)
	_, err = psyche.ReadBody(out)
	require.NoError(t, err, "a turn reads it")
	return string(out)
}

// messages are the messages of it.
func messages(t *testing.T, input string) string {
	t.Helper()
	var out struct{ Messages json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(chat(t, `{"model":"iris","input":`+input+`}`)), &out))
	return string(out.Messages)
}

func TestEveryShapeOfInputIsSaidAsMessages(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`"Hello."`:                             `[{"role":"user","content":"Hello."}]`,
		`[{"role":"user","content":"Hello."}]`: `[{"role":"user","content":"Hello."}]`,
		`[{"type":"message","id":"msg_1","status":"completed","role":"developer",
			"content":[{"type":"input_text","text":"Be brief."}]},
		  {"role":"system","content":"Be kind."},{"role":"user","content":[]}]`: `[{"role":"system",
			"content":"Be brief."},{"role":"system","content":"Be kind."},{"role":"user","content":""}]`,
		`[{"role":"user","content":[{"type":"input_text","text":"Look:"},{"type":"input_image",
			"image_url":"data:image/png;base64,AA","detail":"low","file_id":null},
		  {"type":"input_file","filename":"a.pdf",
			"file_data":"data:application/pdf;base64,AA"}]}]`: `[{"role":"user","content":[{"type":"text",
			"text":"Look:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA","detail":"low"}},
			{"type":"file","file":{"file_data":"data:application/pdf;base64,AA","filename":"a.pdf"}}]}]`,
		// the thoughts, words and calls of one answer are one message, and those of the next another
		`[{"role":"user","content":"Add."},
		  {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}]},
		  {"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text",
			"text":"I add.","annotations":[],"logprobs":[]}]},
		  {"type":"function_call","id":"fc_1","call_id":"c1","name":"add","arguments":"{\"a\":1}"},
		  {"type":"function_call","call_id":"c2","name":"add","namespace":"sums","arguments":"{}",
			"status":"completed"},
		  {"type":"function_call_output","call_id":"c1","output":"3"},
		  {"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"4"}]},
		  {"type":"custom_tool_call","call_id":"c3","name":"patch","input":"*** \"x\""},
		  {"type":"custom_tool_call_output","call_id":"c3","output":"done"},
		  {"type":"message","role":"assistant","content":[{"type":"refusal",
			"refusal":"No."}]}]`: `[{"role":"user","content":"Add."},` +
			`{"role":"assistant","content":"I add.","reasoning_content":"hm","phase":"commentary",
			"tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}},
			{"id":"c2","type":"function","function":{"name":"sums__add","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"c1","content":"3"},{"role":"tool","tool_call_id":"c2","content":"4"},` +
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c3","type":"function",
			"function":{"name":"patch","arguments":"{\"input\":\"*** \\\"x\\\"\"}"}}]},` +
			`{"role":"tool","tool_call_id":"c3","content":"done"},` +
			`{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}]`,
		// what a provider wants back with a call, which is sealed: {"extra_content":{"c1":{"google":1}}}
		`[{"role":"assistant","content":"I add."},
		  {"type":"reasoning","summary":[],
			"encrypted_content":"oneiros1.eyJleHRyYV9jb250ZW50Ijp7ImMxIjp7Imdvb2dsZSI6MX19fQ"},
		  {"type":"function_call","call_id":"c1","name":"add","arguments":"{}"},
		  {"type":"function_call_output","call_id":"c1","output":"3"}]`: `[{"role":"assistant","content":"I add.",
			"tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{}"},
			"extra_content":{"google":1}}]},{"role":"tool","tool_call_id":"c1","content":"3"}]`,
		`[{"type":"reasoning","summary":[],
			"encrypted_content":"oneiros1.eyJleHRyYV9jb250ZW50Ijp7ImMxIjp7Imdvb2dsZSI6MX19fQ"},
		  {"role":"user","content":"Go on."}]`: `[{"role":"user","content":"Go on."}]`,
		// two answers in a row stay two
		`[{"role":"assistant","content":"One."},{"role":"assistant","content":"Two."},{"type":"reasoning",
			"content":[{"type":"reasoning_text","text":"so"}],"summary":[]},{"role":"user",
			"content":"Go on."}]`: `[{"role":"assistant","content":"One."},{"role":"assistant",
			"content":"Two."},{"role":"assistant","content":"","reasoning_content":"so"},{"role":"user",
			"content":"Go on."}]`,
		// words and thoughts after a call are of the message with the call, which its output must follow
		`[{"type":"message","role":"assistant","phase":"commentary","content":"I "},
		  {"type":"function_call","call_id":"c1","name":"add","arguments":"{}"},
		  {"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},
		  {"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"add."}]},
		  {"type":"function_call","call_id":"c2","name":"add","arguments":"{}"},
		  {"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"No."}]},
		  {"type":"function_call_output","call_id":"c1","output":"3"},
		  {"type":"function_call_output","call_id":"c2","output":"4"}]`: `[{"role":"assistant","content":[
			{"type":"text","text":"I add."},{"type":"refusal","refusal":"No."}],"reasoning_content":"hm",
			"phase":"commentary","tool_calls":[
			{"id":"c1","type":"function","function":{"name":"add","arguments":"{}"}},
			{"id":"c2","type":"function","function":{"name":"add","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"3"},{"role":"tool","tool_call_id":"c2","content":"4"}]`,
		`[{"type":"message","role":"assistant","content":[]},
		  {"type":"function_call","call_id":"c1","name":"add","arguments":"{}"},
		  {"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}]`: `[{"role":"assistant","content":[
			{"type":"refusal","refusal":"No."}],"tool_calls":[
			{"id":"c1","type":"function","function":{"name":"add","arguments":"{}"}}]}]`,
	} {
		require.JSONEq(t, want, messages(t, input), input)
	}
}

func TestEveryFieldIsSaidOrPassedOn(t *testing.T) {
	t.Parallel()
	got := chat(
		t,
		`{"model":"iris","instructions":"Be brief.","input":"Hi.",
			"stream":true,"stream_options":{"include_obfuscation":false},
		"temperature":0.5,"top_p":null,"user":"ann","safety_identifier":"x","prompt_cache_key":"k",
			"service_tier":"default","top_k":7,
		"max_output_tokens":90,"metadata":{"a":"b"},"truncation":"disabled",
			"include":["reasoning.encrypted_content","message.output_text.logprobs"],
		"store":false,"background":false,"client_metadata":{"x":"y"},"max_tool_calls":3,"parallel_tool_calls":false,
		"reasoning":{"effort":"low","summary":"auto"},
		"text":{"verbosity":"low","format":{"type":"json_schema","name":"n",
			"strict":true,"schema":{"type":"object"}}},
		"tools":[{"type":"function","name":"add","description":"adds","strict":false,"parameters":{"z":1,"a":2}},
			{"type":"custom","name":"patch","description":"edits","format":{"type":"grammar","syntax":"lark",
			"definition":"start: X"}},
			{"type":"namespace","name":"team","description":"Others.","tools":[{"type":"function","name":"ask",
			"parameters":{}}]},
			{"type":"web_search","external_web_access":false}],
		"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"add"},
			{"type":"function","namespace":"team","name":"ask"}]}}`,
	)
	require.JSONEq(
		t,
		`{"model":"iris","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi."}],
		"temperature":0.5,"user":"ann","safety_identifier":"x","prompt_cache_key":"k","service_tier":"default",
			"top_k":7,
		"tools":[{"type":"function","function":{"name":"add","description":"adds","parameters":{"z":1,"a":2},
			"strict":false}},
			{"type":"function","function":{"name":"team__ask","description":"Others.","parameters":{}}}],
		"tool_choice":"auto","parallel_tool_calls":false,"reasoning_effort":"low","verbosity":"low","logprobs":true,
		"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object"}}},
		"max_tokens":90,"stream":true,"stream_options":{"include_usage":true}}`,
		got,
	)

	got = chat(
		t,
		`{"model":"iris","input":"Hi.","tools":[{"type":"custom","name":"patch","format":{"type":"grammar",
			"syntax":"lark","definition":"start: X"}}],
		"tool_choice":{"type":"custom","name":"patch"},"text":{"format":{"type":"json_object"}}}`,
	)
	require.JSONEq(
		t,
		`{"model":"iris","messages":[{"role":"user","content":"Hi."}],"response_format":{"type":"json_object"},
		"tools":[{"type":"function","function":{"name":"patch","description":"The member input must be written by this lark grammar:\nstart: X",
			"parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],
			"additionalProperties":false}}}],
		"tool_choice":{"type":"function","function":{"name":"patch"}}}`,
		got,
	)
}

func TestWhatCannotBeSaidIsRefusedByName(t *testing.T) {
	t.Parallel()
	item := func(text string) string { return `"input":[` + text + `]` }
	part := func(text string) string { return item(`{"role":"user","content":[` + text + `]}`) }
	tool := func(text string) string { return `"input":"x","tools":[` + text + `]` }
	for body, field := range map[string]string{
		`"input":"x","background":true`:                       "background",
		`"input":"x","conversation":"conv_1"`:                 "conversation",
		`"input":"x","prompt":{"id":"p"}`:                     "prompt",
		`"input":"x","truncation":"auto"`:                     "truncation",
		`"input":"x","context_management":[{}]`:               "context_management",
		`"input":"x","moderation":{}`:                         "moderation",
		`"input":"x","messages":[]`:                           "messages",
		`"input":"x","max_tokens":5`:                          "max_tokens",
		`"input":"x","n":2`:                                   "n",
		`"input":"x","max_output_tokens":0`:                   "max_output_tokens",
		`"input":"x","stream":1`:                              "stream",
		`"input":"x","stream":true,"stream":false`:            "stream",
		`"input":"x","user":5`:                                "user",
		`"input":"x","metadata":{"a":1}`:                      "metadata",
		`"input":"x","include":["all"]`:                       "include",
		`"input":"x","instructions":5`:                        "instructions",
		`"input":"x","reasoning":{"depth":1}`:                 "reasoning.depth",
		`"input":"x","reasoning":{"summary":"long"}`:          "reasoning.summary",
		`"input":"x","text":{"format":{"type":"xml"}}`:        "text.format.type",
		`"input":"x","text":{"voice":"low"}`:                  "text.voice",
		`"input":"x","text":{"format":{"type":"text","a":1}}`: "text.format.a",
		`"stream":true`:                                       "input",
		`"input":[]`:                                          "input",
		`"input":5`:                                           "input",
		item(`5`):                                             "input[0]",
		item(`{}`):                                            "input[0].type",
		item(`{"role":"user","content":"x"},{"type":"web_search_call","id":"ws_1"}`): "input[1]",
		item(`{"type":"item_reference"}`):                                            "input[0].id",
		item(`{"role":"critic","content":"x"}`):                                      "input[0].role",
		item(`{"role":"user"}`):                                                      "input[0].content",
		item(`{"role":"user","content":"x","name":"ann"}`):                           "input[0].name",
		item(`{"type":"function_call","name":"f"}`):                                  "input[0].call_id",
		item(`{"type":"function_call_output","output":"x"}`):                         "input[0].call_id",
		item(`{"type":"function_call_output","call_id":"c"}`):                        "input[0].output",
		item(`{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}`):         "input[0].encrypted_content",
		// {"content":"x"}, which is no thought
		item(`{"type":"reasoning","summary":[],
			"encrypted_content":"oneiros1.eyJjb250ZW50IjoieCJ9"}`): "input[0].encrypted_content",
		part(`{"type":"input_image",
			"file_id":"f"}`): "input[0].content[0].file_id",
		part(`{"type":"input_image"}`): "input[0].content[0].image_url",
		part(`{"type":"input_file",
			"file_url":"https://x"}`): "input[0].content[0].file_url",
		part(`{"type":"input_text","text":"x",
			"loud":true}`): "input[0].content[0].loud",
		part(`{"type":"video"}`):            "input[0].content[0].type",
		tool(`{"type":"web_search"}`):       "tools[0]",
		tool(`{"type":"spell","name":"x"}`): "tools[0]",
		tool(`{"type":"function","name":"a"},{"type":"function",
			"name":"a"}`): "tools[1].name",
		tool(`{"type":"function","name":"a",
			"price":1}`): "tools[0].price",
		tool(`{"type":"function"}`): "tools[0].name",
		tool(`{"type":"namespace","name":"n","tools":[{"type":"namespace",
			"name":"m"}]}`): "tools[0].tools[0]",
		tool(`{"type":"function","name":"a"},{"type":"mcp"}`) + `,"tool_choice":"required"`:      "tools",
		tool(`{"type":"function","name":"a"}`) + `,"tool_choice":{"type":"web_search"}`:          "tool_choice",
		tool(`{"type":"function","name":"a"}`) + `,"tool_choice":{"type":"function","name":"b"}`: "tool_choice",
		tool(``) + `,"tool_choice":"required"`:                                                   "tool_choice",
		`"input":"x","tools":null,"tool_choice":"required"`:                                      "tool_choice",
		`"input":"x","tool_choice":"required"`:                                                   "tool_choice",
		tool(`{"type":"function","name":"a"}`) + `,"tool_choice":"perhaps"`:                      "tool_choice",
	} {
		q, err := responses.Read([]byte(`{"model":"iris",` + body + `}`))
		if err == nil {
			_, err = q.Chat(nil, responses.Options{MaxTokens: "max_tokens"})
		}
		var f *psyche.Fault
		require.ErrorAs(t, err, &f, body)
		require.Equal(t, field, f.Param, "%s: %v", body, err)
		require.Equal(t, 400, f.Status)
		require.Contains(t, f.Message, field, body)
	}
	for _, body := range []string{"", "[]", `{"input":`, `{}{}`} {
		_, err := responses.Read([]byte(body))
		var f *psyche.Fault
		require.True(t, errors.As(err, &f), body)
	}
}

func TestAChoiceThatDemandsNoCallNeedsNoTools(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{"auto", "none"} {
		require.JSONEq(t, `{"model":"iris","messages":[{"role":"user","content":"x"}]}`,
			chat(t, `{"model":"iris","input":"x","tools":[],"tool_choice":"`+choice+`"}`))
	}
}

func TestABuiltInToolBesideTheClientsOwnIsLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	q, err := responses.Read(
		[]byte(`{"model":"iris","input":"x","tools":[{"type":"web_search"},{"type":"function","name":"a"}]}`),
	)
	require.NoError(t, err)
	require.Equal(t, []string{"web_search"}, q.LeftOut)
}

// FuzzRead requires that whatever is taken becomes a body that a turn reads.
func FuzzRead(f *testing.F) {
	f.Add(`{"model":"iris","input":"x"}`)
	f.Add(
		`{"model":"iris","input":[{"role":"user","content":[{"type":"input_text","text":"\u00e9"}]},
			{"type":"function_call","call_id":"a","name":"b","arguments":"{}"}],"tools":[{"type":"custom",
			"name":"p"}],"tool_choice":"auto"}`,
	)
	f.Add(
		`{"input":[{"type":"reasoning","summary":[{"text":"a"}]},{"type":"custom_tool_call","call_id":"a",
			"name":"b","input":"c"}],"text":{"format":{"type":"json_schema"}}}`,
	)
	f.Fuzz(func(t *testing.T, body string) {
		q, err := responses.Read([]byte(body))
		var fault *psyche.Fault
		if err != nil {
			require.ErrorAs(t, err, &fault)
			return
		}
		out, err := q.Chat(nil, responses.Options{MaxTokens: "max_tokens"})
		if err != nil {
			require.ErrorAs(t, err, &fault)
			return
		}
		require.True(t, json.Valid(out), "%s", out)
	})
}

func TestABodyMayHaveAnyNumberOfFields(t *testing.T) {
	t.Parallel()
	var fields strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&fields, `"field_%d":null,`, i)
	}
	body := fmt.Sprintf(`{%[1]s"model":"iris","input":"Hi","reasoning":{%[1]s"effort":"low"}}`, fields.String())
	q, err := responses.Read([]byte(body))
	require.NoError(t, err)
	require.Equal(t, "iris", q.Model)
	_, err = responses.Read([]byte(strings.Replace(body, `"effort"`, `"field_9":null,"effort"`, 1)))
	require.ErrorContains(t, err, "reasoning.field_9 is given twice")
}
