package messages_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/wire/messages"
)

var claude = messages.Model{Structured: true, MaxTemperature: 1, MaxTokens: 4096}

// Each request is a chat completion and what Anthropic is asked.
func TestAChatCompletionIsSaidAsMessages(t *testing.T) {
	t.Parallel()
	const user = `[{"role":"user","content":[{"type":"text","text":"Hi"}]}]`
	thinker := messages.Model{Structured: true, Reasons: true, MaxTokens: 4096}
	older := messages.Model{MaxTemperature: 1, MaxTokens: 4096}
	for name, c := range map[string]struct {
		model    messages.Model
		in, want string
	}{
		"the shortest": {
			claude, `{"model":"m","messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"m","max_tokens":4096,"stream":false,"messages":` + user + `}`,
		},
		"sampling and limits": {
			claude, `{"model":"m","max_tokens":70,"max_completion_tokens":50,"temperature":1.4,"top_p":0.9,"top_k":5,"stop":"END",
				"n":1,"frequency_penalty":0,"presence_penalty":0.0,"logprobs":false,"store":false,"metadata":{"a":"b"},
				"user":"u1","service_tier":"default","stream":true,"stream_options":{"include_usage":true},
				"modalities":["text"],"prompt_cache_key":"k","messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"m","max_tokens":50,"temperature":1,"top_p":0.9,"top_k":5,"stop_sequences":["END"],"stream":true,
				"metadata":{"user_id":"u1"},"service_tier":"standard_only","messages":` + user + `}`,
		},
		"the system prompt keeps its order and its marks": {
			claude, `{"model":"m","messages":[{"role":"developer","content":"A"},{"role":"user","content":"Hi"},
				{"role":"system","content":[{"type":"text","text":"B","cache_control":{"type":"ephemeral"}}]}]}`,
			`{"model":"m","max_tokens":4096,"stream":false,"messages":` + user + `,
				"system":[{"type":"text","text":"A"},{"type":"text","text":"B","cache_control":{"type":"ephemeral"}}]}`,
		},
		"calls and their results": {
			claude, `{"model":"m","tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}},
				{"type":"function","function":{"name":"g"}}],"tool_choice":"required","parallel_tool_calls":false,"messages":[
				{"role":"user","content":"Hi"},
				{"role":"assistant","content":null,"tool_calls":[
					{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},
					{"id":"2","type":"function","function":{"name":"g","arguments":""}}]},
				{"role":"tool","tool_call_id":"1","content":"one"},
				{"role":"tool","tool_call_id":"2","content":""},
				{"role":"user","name":"Ann","content":"Go on"}]}`,
			`{"model":"m","max_tokens":4096,"stream":false,"tools":[{"name":"f","description":"d","input_schema":{"type":"object"}},
				{"name":"g","input_schema":{"type":"object","properties":{}}}],
				"tool_choice":{"type":"any","disable_parallel_tool_use":true},"messages":[
				{"role":"user","content":[{"type":"text","text":"Hi"}]},
				{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{"a":1}},
					{"type":"tool_use","id":"2","name":"g","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"one"}]},
					{"type":"tool_result","tool_use_id":"2"},
					{"type":"text","text":"From Ann:"},{"type":"text","text":"Go on"}]}]}`,
		},
		"pictures and documents": {
			claude, `{"model":"m","messages":[{"role":"user","content":[
				{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"high"}},
				{"type":"image_url","image_url":{"url":"https://example.org/a.png"}},
				{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,BBBB"}}]}]}`,
			`{"model":"m","max_tokens":4096,"stream":false,"messages":[{"role":"user","content":[
				{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},
				{"type":"image","source":{"type":"url","url":"https://example.org/a.png"}},
				{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"BBBB"}}]}]}`,
		},
		"a talk that is cached": {
			messages.Model{MaxTokens: 4096, Caches: true},
			`{"model":"m","messages":[{"role":"system","content":"Be brief."},
				{"role":"user","content":"One"},{"role":"assistant","content":"1"},
				{"role":"user","content":"Two"},{"role":"assistant","tool_calls":[
					{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},
				{"role":"tool","tool_call_id":"1","content":"two"}],
				"tools":[{"type":"function","function":{"name":"f"}}]}`,
			`{"model":"m","max_tokens":4096,"stream":false,
				"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
				"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}],"messages":[
				{"role":"user","content":[{"type":"text","text":"One"}]},
				{"role":"assistant","content":[{"type":"text","text":"1"}]},
				{"role":"user","content":[{"type":"text","text":"Two","cache_control":{"type":"ephemeral"}}]},
				{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"two"}],
					"cache_control":{"type":"ephemeral"}}]}]}`,
		},
		"a talk that is cached, without a system prompt": {
			messages.Model{MaxTokens: 4096, Caches: true},
			`{"model":"m","messages":[{"role":"user","content":"Hi"}],
				"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}]}`,
			`{"model":"m","max_tokens":4096,"stream":false,
				"messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]}],
				"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}},
					{"name":"g","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}]}`,
		},
		"a client that marks what is cached": {
			messages.Model{MaxTokens: 4096, Caches: true},
			`{"model":"m","messages":[{"role":"system","content":"Be brief."},
				{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}`,
			`{"model":"m","max_tokens":4096,"stream":false,"system":[{"type":"text","text":"Be brief."}],
				"messages":[{"role":"user","content":[
					{"type":"text","text":"Hi","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}`,
		},
		"a schema": {
			claude, `{"model":"m","messages":[{"role":"user","content":"Hi"}],"response_format":{"type":"json_schema","json_schema":
				{"name":"n","strict":true,"schema":{"type":"object","properties":{"a":{"type":"array","maxItems":4,"items":{"type":"integer","minimum":1}}}}}}}`,
			`{"model":"m","max_tokens":4096,"stream":false,"messages":` + user +
				`,"output_config":{"format":{"type":"json_schema","schema":
				{"type":"object","additionalProperties":false,"properties":{"a":{"type":"array","description":"{maxItems: 4}",
				"items":{"type":"integer","description":"{minimum: 1}"}}}}}}}`,
		},
		"a schema for a model that is not held to one": {
			older, `{"model":"m","messages":[{"role":"user","content":"Hi"}],"response_format":{"type":"json_object"}}`,
			`{"model":"m","max_tokens":4096,"stream":false,"messages":` + user + `,
				"system":[{"type":"text","text":"Answer with exactly one JSON object, and with nothing else."}]}`,
		},
		"an effort": {
			thinker, `{"model":"m","reasoning_effort":"minimal","messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"m","max_tokens":4096,"stream":false,"messages":` + user + `,"output_config":{"effort":"low"}}`,
		},
		"an effort for a model that does not think first": {
			claude, `{"model":"m","reasoning_effort":"high","messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"m","max_tokens":4096,"stream":false,"messages":` + user + `}`,
		},
		"signed thoughts go back, and others do not": {
			claude, `{"model":"m","temperature":0.5,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":"Hi"},
				{"role":"assistant","content":"","reasoning":"hm","reasoning_details":[
					{"type":"reasoning.text","text":"h","format":"anthropic-claude-v1","index":0},
					{"type":"reasoning.text","text":"m","format":"anthropic-claude-v1","index":0},
					{"type":"reasoning.text","signature":"sig","format":"anthropic-claude-v1","index":0},
					{"type":"reasoning.text","text":"of another","format":"unknown","index":1},
					{"type":"reasoning.encrypted","data":"xyz","format":"anthropic-claude-v1","index":2}],
				"thinking":"hm","thinking_blocks":[{}],"thought_signature":"s","phase":"commentary",
				"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"},
					"extra_content":{"google":{"thought_signature":"s"}}}]},
				{"role":"tool","tool_call_id":"1","content":"one"}]}`,
			`{"model":"m","max_tokens":4096,"stream":false,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[
				{"role":"user","content":[{"type":"text","text":"Hi"}]},
				{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},
					{"type":"redacted_thinking","data":"xyz"},{"type":"tool_use","id":"1","name":"f","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"one"}]}]}]}`,
		},
		"thinking does not begin within a round of calls": {
			claude, `{"model":"m","thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":"Hi"},
				{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},
				{"role":"tool","tool_call_id":"1","content":"one"}]}`,
			`{"model":"m","max_tokens":4096,"stream":false,"messages":[
				{"role":"user","content":[{"type":"text","text":"Hi"}]},
				{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"one"}]}]}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, err := messages.ReadChat([]byte(c.in), c.model)
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(q.Body))
			requireLibraryReads(t, q.Body)
		})
	}
}

// requireLibraryReads requires that Anthropic's library knows every member of a request: read and written again, it is
// the same.
func requireLibraryReads(t require.TestingT, body []byte) {
	var p anthropic.MessageNewParams
	require.NoError(t, json.Unmarshal(body, &p))
	again, err := json.Marshal(p)
	require.NoError(t, err)
	var was, is map[string]any
	require.NoError(t, json.Unmarshal(body, &was))
	require.NoError(t, json.Unmarshal(again, &is))
	delete(was, "stream") // the library sends it by itself
	require.Equal(t, was, is)
}

func TestWhatMessagesCannotSayIsRefusedByName(t *testing.T) {
	t.Parallel()
	for field, body := range map[string]string{
		"n":                                 `"n":2`,
		"seed":                              `"seed":7`,
		"logprobs":                          `"logprobs":true`,
		"top_logprobs":                      `"top_logprobs":3`,
		"logit_bias":                        `"logit_bias":{"5":1}`,
		"frequency_penalty":                 `"frequency_penalty":0.5`,
		"min_p":                             `"min_p":0.1`,
		"prediction":                        `"prediction":{"type":"content","content":"x"}`,
		"functions":                         `"functions":[{"name":"f"}]`,
		"function_call":                     `"function_call":"auto"`,
		"modalities.1":                      `"modalities":["text","audio"]`,
		"verbosity":                         `"verbosity":"low"`,
		"store":                             `"store":true`,
		"service_tier":                      `"service_tier":"flex"`,
		"max_tokens":                        `"max_tokens":1.5`,
		"tools.0.type":                      `"tools":[{"type":"custom","custom":{"name":"f"}}]`,
		"tool_choice":                       `"tool_choice":"required"`,
		"response_format.type":              `"response_format":{"type":"grammar"}`,
		"reasoning_effort":                  `"reasoning_effort":"most"`,
		"unheard_of":                        `"unheard_of":1`,
		"messages.0.content.0.type":         `"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{}}]}]`,
		"messages.0.content.0.file.file_id": `"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]`,
		"messages.0.role":                   `"messages":[{"role":"function","content":"x"}]`,
		"messages.0.content":                `"messages":[{"role":"user","content":""}]`,
		"messages":                          `"messages":[]`,
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			if !strings.HasPrefix(body, `"messages"`) {
				body += `,"messages":[{"role":"user","content":"Hi"}]`
			}
			_, err := messages.ReadChat([]byte("{"+body+"}"), claude)
			var fault *messages.Error
			require.ErrorAs(t, err, &fault)
			require.Equal(t, field, fault.Field, fault.Message)
		})
	}
}

// Streams of Messages and the chat completions that are made of them, piece by piece.
func TestAStreamOfMessagesIsReadAsAChatCompletion(t *testing.T) {
	t.Parallel()
	inputs, err := filepath.Glob("testdata/tochat/*.events")
	require.NoError(t, err)
	require.Len(t, inputs, 5)
	for _, in := range inputs {
		raw, err := os.ReadFile(in)
		require.NoError(t, err)
		a := messages.NewChatAnswer(&messages.Chat{Stream: true, Usage: true}, 1_700_000_000)
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

func TestAWholeMessageIsReadAsAChatCompletion(t *testing.T) {
	t.Parallel()
	a := messages.NewChatAnswer(&messages.Chat{}, 1_700_000_000)
	out, err := a.Whole([]byte(`{"id":"msg_1","type":"message","role":"assistant","model":"claude","stop_reason":"tool_use","content":[
		{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"Let me see."},
		{"type":"tool_use","id":"toolu_1","name":"f","input":{"a": 1}}],
		"usage":{"input_tokens":10,"cache_read_input_tokens":3,"cache_creation_input_tokens":8,"output_tokens":9}}`))
	require.NoError(t, err)
	require.JSONEq(t,
		`{"id":"msg_1","object":"chat.completion","created":1700000000,"model":"claude","choices":[{"index":0,
		"finish_reason":"tool_calls","message":{"role":"assistant","content":"Let me see.","reasoning":"hm",
		"reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"sig","format":"anthropic-claude-v1","index":0}],
		"tool_calls":[{"index":0,"id":"toolu_1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}}],
		"usage":{"prompt_tokens":21,"completion_tokens":9,"total_tokens":30,
		"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":8},"completion_tokens_details":{"reasoning_tokens":0}}}`,
		string(out))
	_, err = a.Whole([]byte(`{"type":"message"}`))
	require.Error(t, err)
	require.JSONEq(t,
		`{"error":{"message":"Overloaded","type":"overloaded_error","code":"overloaded_error","param":null}}`,
		string(messages.ChatError([]byte(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`))))
	require.Equal(t, "busy", string(messages.ChatError([]byte("busy"))))
}

func TestWritingToACacheIsCountedByItsPrice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		usage     string
		surcharge int64
	}{
		{`{"input_tokens":5,"cache_creation_input_tokens":1001,"output_tokens":1}`, 1001},
		{`{"input_tokens":5,"cache_creation_input_tokens":1001,"output_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":1001}}`, 251},
		{`{"input_tokens":5,"cache_creation_input_tokens":1001,"output_tokens":1,
			"cache_creation":{"ephemeral_5m_input_tokens":1000,"ephemeral_1h_input_tokens":1}}`, 251},
		{`{"input_tokens":5,"cache_creation_input_tokens":100,"output_tokens":1,"cache_creation":{"ephemeral_1h_input_tokens":999}}`, 100},
		{`{"input_tokens":5,"output_tokens":1}`, 0},
	} {
		var counts messages.Counts
		require.NoError(t, json.Unmarshal([]byte(c.usage), &counts))
		var b messages.Billed
		b.Begin(&counts)
		_, final := b.Tokens()
		require.False(t, final, "the beginning of a stream is no bill")
		b.End(&counts)
		tokens, final := b.Tokens()
		require.True(t, final)
		require.Equal(t, c.surcharge, tokens.Surcharge, c.usage)
	}
	var b messages.Billed
	b.End(&messages.Counts{Input: new(int64(-5)), Output: new(int64(1))})
	_, final := b.Tokens()
	require.False(t, final, "what cannot be true is no bill")
}

func FuzzReadChat(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","messages":[{"role":"user","content":"Hi"}]}`, `{"messages":[{"role":"tool","tool_call_id":"1","content":[]}]}`,
		`{"messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"["}}]}],"thinking":{"type":"enabled"}}`,
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}],"tools":[{"type":"function","function":{"name":"f","parameters":{},"strict":true}}],"tool_choice":{"type":"function","function":{"name":"f"}}}`,
		`{"messages":[{"role":"system","content":"x"}],"response_format":{"type":"json_schema","json_schema":{"schema":{"oneOf":[{}]}}},"max_tokens":-1}`,
		`{"messages":[{"role":"assistant","reasoning_details":[{"type":"reasoning.encrypted","data":"a"},{"text":"b"}]}],"stop":["a"]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := messages.ReadChat(body, claude)
		if err != nil {
			var fault *messages.Error
			require.ErrorAs(t, err, &fault)
			return
		}
		var out struct {
			MaxTokens int64             `json:"max_tokens"`
			Messages  []json.RawMessage `json:"messages"`
		}
		require.NoError(t, json.Unmarshal(q.Body, &out))
		require.Positive(t, out.MaxTokens)
		require.NotEmpty(t, out.Messages)
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
	f.Fuzz(func(t *testing.T, raw []byte) {
		a := messages.NewChatAnswer(&messages.Chat{Stream: true, Usage: true}, 0)
		for line := range strings.Lines(string(raw)) {
			data, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data: ")
			if !ok || a.Event([]byte(data)) != nil {
				continue
			}
			for event := range strings.SplitSeq(string(a.Take()), "\n\n") {
				chunk, ok := strings.CutPrefix(event, "data: ")
				require.True(t,
					event == "" || ok && (chunk == "[DONE]" || json.Valid([]byte(chunk))) || event == ": ping", "%q", event)
			}
		}
		if out, err := a.Whole(raw); err == nil {
			require.True(t, json.Valid(out))
		}
		require.NotNil(t, messages.ChatError(append([]byte{' '}, raw...)))
	})
}
