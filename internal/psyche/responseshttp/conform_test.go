package responseshttp_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	sdk "github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/conform"
)

// TestEveryErrorIsOneOfThePublishedWire refuses in several ways, before and by the provider: OpenAI's library knows each
// member, and none that it calls required is missing.
func TestEveryErrorIsOneOfThePublishedWire(t *testing.T) {
	t.Parallel()
	const body = `{"model":"iris","input":"x"}`
	for name, c := range map[string]struct {
		status int
		reply  string
		body   string
	}{
		"no JSON":         {200, "", `{`},
		"no agent":        {200, "", strings.Replace(body, "iris", "nobody", 1)},
		"no such field":   {200, "", `{"model":"iris","input":"x","background":true}`},
		"refused":         {400, `{"error":{"message":"no field","code":"c","param":"p"}}`, body},
		"without members": {400, `{"error":{"message":"no"}}`, body},
		"limited":         {429, `{"error":"slow down"}`, body},
		"no JSON there":   {503, `<html>`, body},
		"broken off":      {200, `{"choices":[`, body},
	} {
		s := open(t, "application/json", c.reply)
		s.status = c.status
		answer, text := s.create(c.body)
		require.GreaterOrEqual(t, answer.StatusCode, 400, name)
		var outer struct{ Error json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(text), &outer), name)
		var e openai.Error
		require.NoError(t, json.Unmarshal(outer.Error, &e), name)
		require.Empty(t, conform.Faults(e), "%s: %s", name, text)
		require.NotEmpty(t, e.Message, name)
	}
	s := open(t, "text/event-stream", "data: {\"error\":{\"message\":\"overloaded\",\"code\":529}}\n\n")
	_, events := s.create(`{"model":"iris","input":"x","stream":true}`)
	for event := range strings.SplitSeq(strings.TrimSuffix(events, "\n\n"), "\n\n") {
		_, data, _ := strings.Cut(event, "\ndata: ")
		var e sdk.ResponseStreamEventUnion
		require.NoError(t, json.Unmarshal([]byte(data), &e))
		require.Empty(t, conform.Faults(e, "Response.store"), data)
	}
}

// Answers of a chat model and of one that speaks this wire, with thoughts, words and a call.
const (
	thoughtful = `{"choices":[{"message":{"content":"I add.","reasoning_content":"I ponder.","tool_calls":[{"id":"c1",` +
		`"type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}],` +
		`"usage":{"prompt_tokens":3,"completion_tokens":1}}`
	natively = `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","error":null,` +
		`"incomplete_details":null,"instructions":null,"metadata":{},"parallel_tool_calls":true,"temperature":1,` +
		`"tool_choice":"auto","tools":[],"top_p":1,"store":false,"access_programs":null,"previous_response_id":null,"output":[` +
		`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"I ponder."}],"encrypted_content":"gAAA"},` +
		`{"type":"message","id":"msg_1","status":"completed","role":"assistant",` +
		`"content":[{"type":"output_text","text":"I add.","annotations":[],"logprobs":[]}]},` +
		`{"type":"function_call","id":"fc_1","call_id":"c1","name":"add","arguments":"{\"a\":1}","status":"completed"}],` +
		`"usage":{"input_tokens":3,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":1,` +
		`"output_tokens_details":{"reasoning_tokens":0},"total_tokens":4}}`
)

// everyItem is an input with items of each kind, as clients write them.
const everyItem = `[{"role":"developer","content":"Be kind."},{"role":"user","content":"Look."},
	{"type":"message","role":"user","content":[{"type":"input_text","text":"This."},
		{"type":"input_image","image_url":"data:image/png;base64,AA","detail":"low"},
		{"type":"input_image","image_url":"data:image/png;base64,AA"},
		{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AA"}]},
	{"role":"assistant","content":"Before."},
	{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]},
	{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"No."}]},
	{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},
	{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},
	{"type":"function_call","call_id":"c0","name":"add","arguments":"{}"},
	{"type":"function_call_output","call_id":"c0","output":"1"},
	{"type":"function_call","call_id":"c2","name":"add","arguments":"{}"},
	{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"2"}]},
	{"type":"custom_tool_call","call_id":"c3","name":"patch","input":"x"},
	{"type":"custom_tool_call_output","call_id":"c3","output":"done"}]`

// TestWhatIsKeptIsOfThePublishedWire has OpenAI's library read kept responses and their input, go on from one, cancel
// and remove it, where the wire is translated and where it is passed on: each member is known to it, and none that it
// calls required is missing.
func TestWhatIsKeptIsOfThePublishedWire(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"translated": thoughtful, "passed on": natively} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := openKeeping(t)
			if name == "passed on" {
				k.spec = speaking(0)
			}
			ask := func(body string) string {
				k.body = strings.NewReader(answer)
				status, text := k.request(http.MethodPost, "", body)
				require.Equal(t, http.StatusOK, status, text)
				return k.readResponse(text)
			}
			first := ask(`{"model":"iris","input":` + everyItem + `,"include":["reasoning.encrypted_content"]}`)
			second := ask(`{"model":"iris","previous_response_id":"` + first + `",
				"input":[{"type":"function_call_output","call_id":"c1","output":"3"}]}`)
			service := sdk.NewResponseService(option.WithBaseURL(k.url+"/v1/"), option.WithAPIKey(k.keys["ann"]),
				option.WithUnsafeAllowHTTP())
			r, err := service.Get(t.Context(), second, sdk.ResponseGetParams{})
			require.NoError(t, err)
			require.Equal(t, second, k.readResponse(r.RawJSON()))
			require.Equal(t, first, r.PreviousResponseID)
			require.Equal(t, "I add.", r.OutputText())

			kinds := map[string]int{}
			for _, size := range []int64{3, 100} {
				pages := service.InputItems.ListAutoPaging(t.Context(), second,
					sdk.InputItemListParams{Limit: openai.Int(size)})
				for pages.Next() {
					kinds[readItem(t, pages.Current())]++
				}
				require.NoError(t, pages.Err())
			}
			require.Equal(t, map[string]int{ // each in both sizes of pages
				"developer": 2, "user": 4, "assistant": 8, "reasoning": 6, "function_call": 6, "function_call_output": 6,
				"custom_tool_call": 2, "custom_tool_call_output": 2,
			}, kinds)
			_, page := k.request(http.MethodGet, "/"+second+"/input_items", "")
			var list sdk.ResponseItemList
			require.NoError(t, json.Unmarshal([]byte(page), &list))
			_, err = service.Cancel(t.Context(), second)
			readFault(t, err, http.StatusBadRequest, "not_in_background")
			require.NoError(t, service.Delete(t.Context(), second))
			readFault(t, service.Delete(t.Context(), second), http.StatusNotFound, "response_not_found")
			_, err = service.Get(t.Context(), second, sdk.ResponseGetParams{})
			readFault(t, err, http.StatusNotFound, "response_not_found")
		})
	}
}

// readResponse reads a response as the library does, and returns its id.
func (k *storing) readResponse(text string) string {
	k.Helper()
	var r sdk.Response
	require.NoError(k, json.Unmarshal([]byte(text), &r))
	require.Empty(k, conform.Faults(r, "Response.store"), text)
	return r.ID
}

// readItem requires that the library knows each member of an item, and returns its type, and of a message its role. It
// reads every message as one of the model's, so that others are read as what they are here.
func readItem(t *testing.T, item sdk.ResponseItemUnion) string {
	t.Helper()
	var v any = item
	kind := item.Type
	if kind == "message" {
		kind = string(item.Role)
	}
	if kind != item.Type && kind != "assistant" {
		var message sdk.ResponseInputMessageItem
		require.NoError(t, json.Unmarshal([]byte(item.RawJSON()), &message))
		v = message
	}
	require.Empty(t, conform.Faults(v), "%s", item.RawJSON())
	return kind
}

// readFault requires that the library knows an error and each member of it.
func readFault(t *testing.T, err error, status int, code string) {
	t.Helper()
	e, ok := errors.AsType[*openai.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, status, e.StatusCode)
	require.Equal(t, code, e.Code)
	require.Empty(t, conform.Faults(*e), e.RawJSON())
}
