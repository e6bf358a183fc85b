package responses_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	library "github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/wire/responses"
)

var thinker = responses.Model{Provider: "p", Reasons: true}

// Each request is a chat completion and what the provider is asked.
func TestAChatCompletionIsSaidAsAResponse(t *testing.T) {
	t.Parallel()
	const hi = `[{"type":"message","role":"user","content":"Hi"}]`
	plain := responses.Model{Provider: "p"}
	for name, c := range map[string]struct {
		model    responses.Model
		in, want string
	}{
		"the shortest": {
			thinker, `{"model":"m","messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"m","stream":false,"store":false,"input":` + hi + `}`,
		},
		"sampling, limits and names": {
			plain, `{"model":"m","max_tokens":70,"max_completion_tokens":50,"temperature":1.4,"top_p":0.9,"n":1,
				"frequency_penalty":0,"presence_penalty":0.0,"repetition_penalty":1,"logprobs":false,"store":false,
				"metadata":{"a":"b"},"user":"u1","safety_identifier":"s","service_tier":"flex","stream":true,
				"stream_options":{"include_usage":true},"modalities":["text"],"prompt_cache_key":"k","verbosity":"low",
				"prompt_cache_retention":"24h","parallel_tool_calls":true,"tool_choice":"none","stop":[],
				"messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"m","max_output_tokens":50,"temperature":1.4,"top_p":0.9,"metadata":{"a":"b"},"user":"u1",
				"safety_identifier":"s","service_tier":"flex","prompt_cache_key":"k","prompt_cache_retention":"24h",
				"text":{"verbosity":"low"},"stream":true,"store":false,"input":` + hi + `}`,
		},
		"a maximum below the smallest that OpenAI takes": {
			plain, `{"model":"m","max_tokens":3,"messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"m","max_output_tokens":16,"stream":false,"store":false,"input":` + hi + `}`,
		},
		"log-probabilities": {
			plain, `{"model":"m","logprobs":true,"top_logprobs":3,"messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"m","include":["message.output_text.logprobs"],"top_logprobs":3,"stream":false,"store":false,
				"input":` + hi + `}`,
		},
		"an effort": {
			plain, `{"model":"m","reasoning":{"effort":"high","summary":"auto"},"messages":[{"role":"user",
				"content":"Hi"}]}`,
			`{"model":"m","reasoning":{"effort":"high","summary":"auto"},"stream":false,"store":false,
				"input":` + hi + `}`,
		},
		"no thinking": {
			plain, `{"model":"m","reasoning":{"enabled":false,"exclude":true},"messages":[{"role":"user",
				"content":"Hi"}]}`,
			`{"model":"m","reasoning":{"effort":"none"},"stream":false,"store":false,"input":` + hi + `}`,
		},
		"a schema": {
			plain, `{"model":"m","response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,
				"schema":{"type":"object"}}},"messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"m","text":{"format":{"type":"json_schema","name":"a","strict":true,"schema":{"type":"object"}}},
				"stream":false,"store":false,"input":` + hi + `}`,
		},
		"an object": {
			plain, `{"model":"m","response_format":{"type":"json_object"},"messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"m","text":{"format":{"type":"json_object"}},"stream":false,"store":false,"input":` + hi + `}`,
		},
		"roles, names and parts": {
			plain, `{"model":"m","messages":[{"role":"system","content":"A"},{"role":"developer",
				"content":[{"type":"text","text":"B"}]},
				{"role":"user","name":"Ann","content":"Hi"},{"role":"user","name":"Bob","content":[
				{"type":"text","text":"C","cache_control":{"type":"ephemeral"}},
				{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"high"}},
				{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,BBBB"}},
				{"type":"file","file":{"file_id":"file-1"}}]},
				{"role":"assistant","content":"","refusal":"No.","phase":"commentary"},{"role":"assistant",
					"content":""}]}`,
			`{"model":"m","stream":false,"store":false,"input":[{"type":"message","role":"system","content":"A"},
				{"type":"message","role":"developer","content":[{"type":"input_text","text":"B"}]},
				{"type":"message","role":"user","content":"From Ann:\nHi"},{"type":"message","role":"user","content":[
				{"type":"input_text","text":"From Bob:"},{"type":"input_text","text":"C"},
				{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"high"},
				{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,BBBB"},
				{"type":"input_file","file_id":"file-1"}]},
				{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"refusal",
					"refusal":"No."}]}]}`,
		},
		"calls, their results, and the thoughts before them": {
			thinker, `{"model":"m","tools":[{"type":"function","function":{"name":"f","description":"d",
				"parameters":{"type":"object"},"strict":true}},
				{"type":"function","function":{"name":"g"}},
				{"type":"custom","custom":{"name":"p","format":{"type":"grammar","grammar":{"syntax":"lark",
					"definition":"start: X"}}}}],
				"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function",
					"function":{"name":"f"}}]}},
				"parallel_tool_calls":false,"messages":[{"role":"user","content":"Hi"},
				{"role":"assistant","content":"Let me see.","reasoning":"hm","reasoning_details":[
					{"type":"reasoning.summary","summary":"h","format":"openai-responses-v1","provider":"p","index":0},
					{"type":"reasoning.summary","summary":"m","format":"openai-responses-v1","provider":"p","index":0},
					{"type":"reasoning.encrypted","data":"s-zero","id":"rs_0","format":"openai-responses-v1",
						"provider":"p","index":0},
					{"type":"reasoning.text","text":"of another","format":"anthropic-claude-v1","index":1},
					{"type":"reasoning.encrypted","data":"s-nine","format":"openai-responses-v1","provider":"q","index":1},
					{"type":"reasoning.summary","summary":"alone","format":"openai-responses-v1","provider":"p",
						"index":8},
					{"type":"reasoning.encrypted","data":"s-two","id":"rs_2","format":"openai-responses-v1",
						"provider":"p","index":2}],
				"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"},
					"extra_content":{"google":{}}},
					{"id":"2","type":"custom","custom":{"name":"p","input":"x"}}]},
				{"role":"tool","tool_call_id":"1","content":"one"},
				{"role":"tool","tool_call_id":"2","content":[{"type":"text","text":"two"}]}]}`,
			`{"model":"m","stream":false,"store":false,"include":["reasoning.encrypted_content"],
				"parallel_tool_calls":false,
				"tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":true},
				{"type":"function","name":"g","parameters":{"type":"object","properties":{}},"strict":false},
				{"type":"custom","name":"p","format":{"type":"grammar","syntax":"lark","definition":"start: X"}}],
				"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]},"input":[
				{"type":"message","role":"user","content":"Hi"},
				{"type":"reasoning","id":"rs_0","summary":[{"type":"summary_text","text":"hm"}],
					"encrypted_content":"s-zero"},
				{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me see."}]},
				{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"s-two"},
				{"type":"function_call","call_id":"1","name":"f","arguments":"{\"a\": 1}"},
				{"type":"custom_tool_call","call_id":"2","name":"p","input":"x"},
				{"type":"function_call_output","call_id":"1","output":"one"},
				{"type":"custom_tool_call_output","call_id":"2","output":[{"type":"input_text","text":"two"}]}]}`,
		},
		"thoughts that came openly": {
			plain, `{"model":"m","tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required",
				"tools":[{"type":"custom","custom":{"name":"p"}}]}},"tools":[{"type":"custom","custom":{"name":"p"}}],
				"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"So.","reasoning_details":[
					{"type":"reasoning.text","text":"h","format":"openai-responses-v1","provider":"p","index":0},
					{"type":"reasoning.text","text":"m","format":"openai-responses-v1","provider":"p","index":0},
					{"type":"reasoning.text","id":"rs_0","format":"openai-responses-v1","provider":"p","index":0}]}]}`,
			`{"model":"m","stream":false,"store":false,"tools":[{"type":"custom","name":"p"}],
				"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"custom","name":"p"}]},
					"input":[{"type":"message","role":"user","content":"Hi"},
				{"type":"reasoning","id":"rs_0","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},
				{"type":"message","role":"assistant","content":[{"type":"output_text","text":"So."}]}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, err := responses.ReadChat([]byte(c.in), c.model)
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(q.Body))
			requireLibraryReads(t, q.Body)
		})
	}
}

// requireLibraryReads requires that OpenAI's library knows every member of a request: read and written again, it is
// the same.
func requireLibraryReads(t require.TestingT, body []byte) {
	var p library.ResponseNewParams
	require.NoError(t, json.Unmarshal(body, &p))
	again, err := json.Marshal(p)
	require.NoError(t, err)
	var was, is map[string]any
	require.NoError(t, json.Unmarshal(body, &was))
	require.NoError(t, json.Unmarshal(again, &is))
	delete(was, "stream") // the library sends it by itself
	require.Equal(t, was, is)
}

func TestWhatResponsesCannotSayIsRefusedByName(t *testing.T) {
	t.Parallel()
	for field, body := range map[string]string{
		"n":                                  `"n":2`,
		"seed":                               `"seed":7`,
		"stop":                               `"stop":["END"]`,
		"top_k":                              `"top_k":5`,
		"logprobs":                           `"logprobs":1`,
		"top_logprobs":                       `"top_logprobs":3`,
		"logit_bias":                         `"logit_bias":{"5":1}`,
		"frequency_penalty":                  `"frequency_penalty":0.5`,
		"presence_penalty":                   `"presence_penalty":-1`,
		"repetition_penalty":                 `"repetition_penalty":1.1`,
		"min_p":                              `"min_p":0.1`,
		"thinking":                           `"thinking":{"type":"enabled","budget_tokens":2000}`,
		"reasoning.max_tokens":               `"reasoning":{"max_tokens":2000}`,
		"reasoning.summary":                  `"reasoning":{"summary":"long"}`,
		"prediction":                         `"prediction":{"type":"content","content":"x"}`,
		"web_search_options":                 `"web_search_options":{"search_context_size":"low"}`,
		"functions":                          `"functions":[{"name":"f"}]`,
		"function_call":                      `"function_call":"auto"`,
		"modalities.1":                       `"modalities":["text","audio"]`,
		"audio":                              `"audio":{"voice":"ash"}`,
		"verbosity":                          `"verbosity":"most"`,
		"store":                              `"store":true`,
		"max_tokens":                         `"max_tokens":1.5`,
		"tools.0.type":                       `"tools":[{"type":"web_search"}]`,
		"tools.0.function.examples":          `"tools":[{"type":"function","function":{"name":"f","examples":[]}}]`,
		"tool_choice":                        `"tool_choice":"required"`,
		"response_format.type":               `"response_format":{"type":"grammar"}`,
		"response_format.json_schema.schema": `"response_format":{"type":"json_schema","json_schema":{"name":"a"}}`,
		"unheard_of":                         `"unheard_of":1`,
		"messages.0.content.0.type":          `"messages":[{"role":"user","content":[{"type":"video","video":{}}]}]`,
		"messages.0.role":                    `"messages":[{"role":"function","content":"x"}]`,
		"messages.0.audio":                   `"messages":[{"role":"assistant","audio":{"id":"a"}}]`,
		"messages.0.tool_calls.0.function.strict": `"messages":[{"role":"assistant","tool_calls":[{"id":"1",
			"function":{"name":"f","arguments":"","strict":true}}]}]`,
		"messages": `"messages":[{"role":"assistant","content":""}]`,
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			if !strings.HasPrefix(body, `"messages"`) {
				body += `,"messages":[{"role":"user","content":"Hi"}]`
			}
			_, err := responses.ReadChat([]byte("{"+body+"}"), thinker)
			var fault *responses.Error
			require.ErrorAs(t, err, &fault)
			require.Equal(t, field, fault.Field, fault.Message)
		})
	}
}

// Streams of responses and the chat completions that are made of them, piece by piece.
func TestAStreamOfAResponseIsReadAsAChatCompletion(t *testing.T) {
	t.Parallel()
	inputs, err := filepath.Glob("testdata/tochat/*.events")
	require.NoError(t, err)
	require.Len(t, inputs, 6)
	q, err := responses.ReadChat([]byte(`{"model":"m","stream":true,"stream_options":{"include_usage":true},
		"messages":[{"role":"user","content":"Hi"}]}`), thinker)
	require.NoError(t, err)
	for _, in := range inputs {
		raw, err := os.ReadFile(in)
		require.NoError(t, err)
		a := responses.NewChatAnswer(q, 1_700_000_000)
		var out []byte
		for line := range strings.Lines(string(raw)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				require.NoError(t, a.Event([]byte(strings.TrimSpace(data))))
				out = append(out, a.Take()...)
			}
		}
		golden := strings.TrimSuffix(in, ".events") + ".chat"
		if os.Getenv("UPDATE") != "" {
			require.NoError(t, os.WriteFile(golden, out, 0o600))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), string(out), in)
	}
}

func TestAWholeResponseIsReadAsAChatCompletion(t *testing.T) {
	t.Parallel()
	q, err := responses.ReadChat([]byte(`{"messages":[{"role":"user","content":"Hi"}]}`), thinker)
	require.NoError(t, err)
	out, err := responses.NewChatAnswer(q, 1_700_000_000).Whole([]byte(`{"id":"resp_1","object":"response",
		"status":"completed",
		"model":"o9","service_tier":"default","error":null,"incomplete_details":null,"output":[
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"SEAL"},
		{"type":"message","id":"msg_1","role":"assistant","phase":"commentary","content":[{"type":"output_text",
			"text":"Let me see.",
			"logprobs":[{"token":"Let","logprob":-0.5}],"annotations":[{"type":"file_citation"},
			{"type":"url_citation","url":"https://example.org"}]}]},
		{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"a\":1}"},
		{"type":"custom_tool_call","id":"ct_1","call_id":"call_2","name":"p","input":"x"}],
		"usage":{"input_tokens":21,"input_tokens_details":{"cached_tokens":3},"output_tokens":9,
			"output_tokens_details":{"reasoning_tokens":4}}}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"resp_1","object":"chat.completion","created":1700000000,"model":"o9",
		"service_tier":"default",
		"choices":[{"index":0,"finish_reason":"tool_calls","logprobs":{"content":[{"token":"Let","logprob":-0.5}]},
		"message":{"role":"assistant","content":"Let me see.","phase":"commentary","reasoning":"hm",
			"reasoning_details":[
		{"type":"reasoning.summary","summary":"hm","format":"openai-responses-v1","index":0,"provider":"p"},
		{"type":"reasoning.encrypted","data":"SEAL","id":"rs_1","format":"openai-responses-v1","index":0,
			"provider":"p"}],
		"annotations":[{"type":"url_citation","url_citation":{"url":"https://example.org"}}],
		"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},
		{"index":1,"id":"call_2","type":"custom","custom":{"name":"p","input":"x"}}]}}],
		"usage":{"prompt_tokens":21,"completion_tokens":9,"total_tokens":30,"prompt_tokens_details":{"cached_tokens":3},
		"completion_tokens_details":{"reasoning_tokens":4}}}`, string(out))
	for body, want := range map[string]string{
		`{"status":"failed","error":{"code":"server_error","message":"It broke."}}`: `{"error":{"code":"server_error",
			"message":"It broke."}}`,
		`{"status":"failed"}`: `{"error":{"code":"server_error",
			"message":"the provider says that the response failed"}}`,
	} {
		out, err := responses.NewChatAnswer(q, 0).Whole([]byte(body))
		require.NoError(t, err)
		require.JSONEq(t, want, string(out))
	}
	_, err = responses.NewChatAnswer(q, 0).Whole([]byte(`{"object":"response"}`))
	require.Error(t, err)
}

func FuzzReadChat(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","messages":[{"role":"user","content":"Hi"}]}`, `{"messages":[{"role":"tool","tool_call_id":"1",
			"content":[]}]}`,
		`{"messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"["}}]}],
			"max_tokens":-1}`,
		`{"messages":[{"role":"user","content":[{"type":"image_url",
			"image_url":{"url":"data:image/png;base64,AA"}}]}],"tools":[{"type":"function","function":{"name":"f",
				"parameters":{},"strict":true}}],"tool_choice":{"type":"function","function":{"name":"f"}}}`,
		`{"messages":[{"role":"system","content":"x"}],"response_format":{"type":"json_schema",
			"json_schema":{"schema":{"oneOf":[{}]}}}}`,
		`{"messages":[{"role":"assistant","reasoning_details":[{"type":"reasoning.encrypted",
			"format":"openai-responses-v1","provider":"p","data":"a","index":-7},{"text":"b"}]}],"stop":["a"]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := responses.ReadChat(body, thinker)
		if err != nil {
			var fault *responses.Error
			require.ErrorAs(t, err, &fault)
			return
		}
		var out struct {
			Store *bool
			Input []struct{ Type string }
		}
		require.NoError(t, json.Unmarshal(q.Body, &out))
		require.NotEmpty(t, out.Input)
		require.False(t, *out.Store)
	})
}

func FuzzChatAnswer(f *testing.F) {
	inputs, err := filepath.Glob("testdata/tochat/*.events")
	require.NoError(f, err)
	for _, in := range inputs {
		raw, err := os.ReadFile(in)
		require.NoError(f, err)
		f.Add(raw)
	}
	q, err := responses.ReadChat([]byte(`{"stream":true,"messages":[{"role":"user","content":"Hi"}]}`), thinker)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, raw []byte) {
		a := responses.NewChatAnswer(q, 0)
		for line := range strings.Lines(string(raw)) {
			data, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data: ")
			if !ok || a.Event([]byte(data)) != nil {
				continue
			}
			for event := range strings.SplitSeq(string(a.Take()), "\n\n") {
				chunk, ok := strings.CutPrefix(event, "data: ")
				require.True(t, event == "" || ok && (chunk == "[DONE]" || json.Valid([]byte(chunk))), "%q", event)
			}
		}
		if out, err := a.Whole(raw); err == nil {
			require.True(t, json.Valid(out), "%q", out)
		}
	})
}
