package mcpserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver/mcpservertest"
)

func user(text string) map[string]any { return map[string]any{"role": "user", "content": text} }

// function is a tool, with a description if one is given.
func function(name string, about ...string) map[string]any {
	f := map[string]any{"name": name}
	for _, text := range about {
		f["description"] = text
	}
	return map[string]any{"type": "function", "function": f}
}

func TestAConversationWithToolsIsPassedOnByteForByteAndAnsweredWithCalls(t *testing.T) {
	t.Parallel()
	being := &mcpservertest.Service{Handles: []string{"iris"}, Switched: make(chan psyche.Switches, 1)}
	url := serve(t, being, mcpserver.Options{}, nil)
	const messages = `[{"role":"user", "content":"Look."},` +
		`{"role":"assistant","content":null,"tool_calls":[{"type":"function","id":"c1","function":{"name":"b","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"9007199254740993"}],"x":9007199254740993}]`
	const tools = `[{"type":"function","function":{"name":"b","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}]`
	answer := body(t, post(t, t.Context(), url,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":{"messages":`+messages+
			`,"tools":`+tools+`,"store":"off","recall":"on","digest":"off","max_tokens":9},`+meta+`}}`, singly...))
	var got struct {
		Result struct {
			IsError    bool
			Structured struct {
				Reply     string
				ToolCalls []psyche.ToolCall `json:"tool_calls"`
				Finish    string            `json:"finish_reason"`
			} `json:"structuredContent"`
		}
	}
	_, last, found := strings.Cut(answer, "\n\n") // after the progress
	require.True(t, found, answer)
	last = strings.TrimPrefix(last, "event: message\ndata: ")
	require.NoError(t, json.Unmarshal([]byte(last), &got), answer)
	require.False(t, got.Result.IsError, answer)
	require.Equal(t,
		`{"model":"iris","messages":`+messages+`,"tools":`+tools+`,"max_tokens":9,"stream":true,"stream_options":{"include_usage":true}}`,
		got.Result.Structured.Reply, "what the service was asked")
	require.Equal(t, []psyche.ToolCall{{ID: "call_0", Name: "b", Arguments: "{}"}}, got.Result.Structured.ToolCalls)
	require.Equal(t, "tool_calls", got.Result.Structured.Finish)
	switches := <-being.Switched
	require.False(t, *switches.Store)
	require.True(t, *switches.Recall)
	require.False(t, *switches.Digest)
	require.Nil(t, switches.Affect, "left to the deployment")
}

func TestAConversationSendsItsAnswerAsProgress(t *testing.T) {
	t.Parallel()
	url := serve(t, &mcpservertest.Service{Handles: []string{"iris"}}, mcpserver.Options{}, nil)
	o, progress := withProgress()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: http.DefaultClient, MaxRetries: -1}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	params := &mcp.CallToolParams{
		Name: "chat", Arguments: map[string]any{"messages": []any{user("Hi")}, "tools": []any{}},
	}
	params.SetProgressToken("p")
	result, err := session.CallTool(t.Context(), params)
	require.NoError(t, err)
	p := <-progress
	require.Equal(t, text(result), p.Message)
	require.Contains(t, p.Message, `"stream":true,"stream_options":{"include_usage":true}}`)
	require.NotContains(t, p.Message, `"tools"`, "providers refuse an empty list")
}
