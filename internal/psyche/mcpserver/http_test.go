package mcpserver_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver/mcpservertest"
)

// The two ways of the protocol: with a session, and with each request for itself.
const (
	lasting = "2025-11-25"
	single  = "2026-07-28"
)

// The order t, ctx reads better here.
func post(t *testing.T, ctx context.Context, url, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return send(t, r, headers...)
}

func send(t *testing.T, r *http.Request, headers ...string) *http.Response {
	t.Helper()
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(b)
}

// opened begins a session in the older way and returns its id.
func opened(t *testing.T, url string, headers ...string) string {
	t.Helper()
	r := post(t, t.Context(), url,
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+lasting+
			`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, headers...)
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Contains(t, body(t, r), `"protocolVersion":"`+lasting+`"`)
	id := r.Header.Get("Mcp-Session-Id")
	require.NotEmpty(t, id)
	r = post(t, t.Context(), url, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		append([]string{"Mcp-Session-Id", id}, headers...)...)
	require.Equal(t, http.StatusAccepted, r.StatusCode)
	return id
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + single +
	`","io.modelcontextprotocol/clientCapabilities":{},"progressToken":"p"}`

func chat(message string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"chat","arguments":{"message":"` +
		message + `"},` + meta + `}}`
}

var singly = []string{"MCP-Protocol-Version", single, "Mcp-Method", "tools/call", "Mcp-Name", "chat"}

// withProgress is a client that passes on the progress it is sent, up to a hundred times.
func withProgress() (*mcp.ClientOptions, <-chan *mcp.ProgressNotificationParams) {
	result := make(chan *mcp.ProgressNotificationParams, 100)
	return &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			result <- r.Params
		},
	}, result
}

func TestProgressSendsTheAnswerAsItComes(t *testing.T) {
	t.Parallel()
	for _, version := range []string{single, lasting} {
		url := serve(t, &mcpservertest.Service{Handles: []string{"iris"}}, mcpserver.Options{}, nil)
		o, progress := withProgress()
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
		session, err := client.Connect(t.Context(), older(url, ""), &mcp.ClientSessionOptions{ProtocolVersion: version})
		require.NoError(t, err)
		params := &mcp.CallToolParams{Name: "chat", Arguments: map[string]any{"message": "one two three"}}
		params.SetProgressToken("p")
		result, err := session.CallTool(t.Context(), params)
		require.NoError(t, err)
		require.Equal(t, "You said: one two three", text(result))
		for i, piece := range []string{"You ", "said: ", "one ", "two ", "three"} {
			p := <-progress
			require.Equal(t, piece, p.Message)
			require.InDelta(t, i+1, p.Progress, 0)
			require.Equal(t, "p", p.ProgressToken)
		}
		require.NoError(t, session.Close())
	}
}

func TestACancelledCallOrAHangUpStopsTheTalk(t *testing.T) {
	t.Parallel()
	being := &mcpservertest.Service{Handles: []string{"iris"}, Messages: make(chan string, 1), Ended: make(chan error, 1)}
	url := serve(t, being, mcpserver.Options{}, nil)

	t.Log("a client of the library's, in a session, sends notifications/cancelled")
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), older(url, ""), &mcp.ClientSessionOptions{ProtocolVersion: lasting})
	require.NoError(t, err)
	defer func() { _ = session.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := call(ctx, session, "chat", map[string]any{"message": mcpservertest.Wait})
		failed <- err
	}()
	<-being.Messages
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	require.ErrorIs(t, <-being.Ended, context.Canceled)

	t.Log("the session lives on")
	result, err := call(t.Context(), session, "chat", map[string]any{"message": "still there?"})
	require.NoError(t, err)
	require.Equal(t, "You said: still there?", text(result))
	require.Equal(t, "still there?", <-being.Messages)

	t.Log("streams that are closed")
	for _, headers := range [][]string{singly, {"Mcp-Session-Id", opened(t, url)}} {
		message := chat(mcpservertest.Wait)
		if headers[0] == "Mcp-Session-Id" {
			message = strings.Replace(message, meta, `"_meta":{}`, 1)
		}
		ctx, hangUp := context.WithCancel(t.Context())
		go func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(message))
			if err != nil {
				return
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			if response, err := http.DefaultClient.Do(r); err == nil {
				_ = response.Body.Close()
			}
		}()
		<-being.Messages
		hangUp()
		require.ErrorIs(t, <-being.Ended, context.Canceled)
	}
}

func TestPagesOfOthersAndNamesOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	url := serve(t, &mcpservertest.Service{Handles: []string{"iris"}},
		mcpserver.Options{Hosts: []string{"dream.test"}, Origins: []string{"https://chat.test"}},
		map[string]psyche.Caller{"o": caller("key_o", access.Operator)})
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
	for _, c := range []struct {
		name    string
		headers []string
		status  int
	}{
		{"nothing named", nil, 200},
		{"its own page", []string{"Origin", "http://" + host}, 200},
		{"a page that may", []string{"Origin", "https://chat.test"}, 200},
		{"a name it has", []string{"Host", "dream.test"}, 200},
		{"localhost", []string{"Host", "localhost:1234"}, 200},
		{"the loopback's other address", []string{"Host", "[::1]:1234"}, 200},
		{"a rebound name", []string{"Host", "evil.test"}, 403},
		{"a rebound name with a port", []string{"Host", "evil.test:7680", "Origin", "http://evil.test:7680"}, 403},
		{"another page", []string{"Origin", "https://evil.test"}, 403},
		{"another port", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"a page that hides", []string{"Origin", "null"}, 403},
		{"no address", []string{"Origin", "::::"}, 403},
		{"a longer name", []string{"Host", "localhost.evil.test"}, 403},
		{"with a key, any name", []string{"Host", "proxy.test", "Authorization", "Bearer o"}, 200},
		{"with a key, another page", []string{"Origin", "https://evil.test", "Authorization", "Bearer o"}, 403},
	} {
		r := post(t, t.Context(), url, chat("hello"), append(append([]string{}, singly...), c.headers...)...)
		require.Equal(t, c.status, r.StatusCode, c.name)
	}
}

func TestWhatIsMalformedIsRefusedAndTheServerGoesOn(t *testing.T) {
	t.Parallel()
	being := &mcpservertest.Service{Handles: []string{"iris"}}
	url := serve(t, being, mcpserver.Options{Body: 1 << 16}, nil)
	id := opened(t, url)
	for name, message := range map[string]string{
		"nothing": ``, "no JSON": `{`, "an array": `[]`, "a number": `7`, "null": `null`,
		"another version": `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
		"no method":       `{"jsonrpc":"2.0","id":1}`, "a method of no kind": `{"jsonrpc":"2.0","id":1,"method":7}`,
		"an id of no kind":  `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		"params of no kind": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}`,
		"no params":         `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		"no tool":           `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`,
		"an unknown":        `{"jsonrpc":"2.0","id":1,"method":"tools/dance","params":{}}`,
		"deep":              strings.Repeat(`[`, 20000),
		"arguments null":    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"journal","arguments":null}}`,
		"arguments a list":  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"journal","arguments":[1]}}`,
		"arguments a word":  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"journal","arguments":"x"}}`,
		"arguments too big": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall_memory","arguments":{"query":"x","n":1e400}}}`,
		"a lone surrogate":  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":{"message":"\ud800"}}}`,
		"a URI of no kind":  `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"%%%"}}`,
		"a cursor of ours":  `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"agents-after:\u0000"}}`,
		"a cursor":          `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"###"}}`,
	} {
		for _, headers := range [][]string{{"Mcp-Session-Id", id}, {"MCP-Protocol-Version", single}} {
			r := post(t, t.Context(), url, message, headers...)
			_ = body(t, r)
			require.Less(t, r.StatusCode, 500, name)
		}
	}
	r := post(t, t.Context(), url, chat(strings.Repeat("x", 1<<16)), singly...)
	require.Equal(t, http.StatusRequestEntityTooLarge, r.StatusCode)
	r = post(t, t.Context(), url, chat(strings.Repeat("x", 1<<16)), "Mcp-Session-Id", id)
	require.Equal(t, http.StatusRequestEntityTooLarge, r.StatusCode)
	for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodHead, "DANCE"} {
		request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusMethodNotAllowed, send(t, request).StatusCode, method)
	}
	r = post(t, t.Context(), url, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", id)
	require.Equal(t, http.StatusOK, r.StatusCode)
	r = post(t, t.Context(), url, chat("hello"), singly...)
	require.Contains(t, body(t, r), "You said: hello")
}

func TestNothingThatAClientMayNotReadReachesItByAnyWay(t *testing.T) {
	t.Parallel()
	being := &mcpservertest.Service{Handles: []string{"iris"}}
	url := serve(t, being, mcpserver.Options{}, map[string]psyche.Caller{"c": caller("key_c", access.Client)})
	id := opened(t, url, "Authorization", "Bearer c")
	var messages []string
	for _, method := range []string{
		"tools/list", "resources/list", "resources/templates/list", "prompts/list",
		"server/discover",
	} {
		messages = append(messages, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+meta+`}}`)
	}
	for _, uri := range []string{
		"oneiros://iris/journal", "oneiros://iris/playbook", "oneiros://agent_iris/journal",
		"oneiros://iris/fragments", "oneiros://iris/scenarios", "oneiros:///journal",
		"oneiros://iris/../iris/journal", "ONEIROS://iris/journal", "oneiros://iris/journal?x",
	} {
		for _, method := range []string{"resources/read", "resources/subscribe"} {
			u, err := json.Marshal(uri)
			require.NoError(t, err)
			messages = append(messages,
				`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"uri":`+string(u)+`,`+meta+`}}`)
		}
	}
	for _, tool := range []string{
		"journal", "playbook", "fragments", "dreams_list", "status", "recall_memory",
		"get_emotion", "chat",
	} {
		for _, arguments := range []string{
			`{}`, `null`, `{"agent":"iris"}`, `{"agent":"noor"}`,
			`{"query":"orchard"}`, `{"message":"orchard?"}`, `{"limit":1}`,
		} {
			messages = append(messages,
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`,`+
					meta+`}}`)
		}
	}
	for _, message := range messages {
		for _, headers := range [][]string{{"Mcp-Session-Id", id}, {"MCP-Protocol-Version", single}} {
			if headers[0] == "Mcp-Session-Id" {
				message = strings.ReplaceAll(message, meta, `"_meta":{"progressToken":"p"}`)
			}
			r := post(t, t.Context(), url, message, append(headers, "Authorization", "Bearer c")...)
			text := body(t, r)
			require.NotContains(t, text, mcpservertest.Secret, message)
			for _, values := range r.Header {
				require.NotContains(t, strings.Join(values, ""), mcpservertest.Secret)
			}
		}
	}
}
