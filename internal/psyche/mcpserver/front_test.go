package mcpserver_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/access/accesstest"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver/mcpservertest"
)

// behind puts the handler behind the real server, and returns its address and the secrets of a client and an
// operator.
func behind(t *testing.T, being *mcpservertest.Service) (server *front.Server, url, client, operator string) {
	t.Helper()
	clientKey, client := access.New("guest", access.Client, nil, time.Now())
	runner, operator := access.New("runner", access.Operator, []string{"iris"}, time.Now())
	handler := mcpserver.New(being, &mcpservertest.Dreams{Being: being}, mcpserver.Options{})
	server, err := front.New(front.Options{Routes: handler.Routes(), Keys: accesstest.With(clientKey, runner), Keyless: true})
	require.NoError(t, err)
	on, err := server.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, server.Shutdown(ctx))
		require.NoError(t, <-served)
		handler.Close()
	})
	return server, "http://" + on.String() + "/mcp", client, operator
}

func TestBehindTheServerAKeyHasTheToolsOfItsRole(t *testing.T) {
	t.Parallel()
	being := &mcpservertest.Service{Handles: []string{"iris", "noor"}}
	_, url, client, operator := behind(t, being)
	for _, secret := range []string{"", "oneiros_wrong"} {
		r := post(t, t.Context(), url, chat("hello"),
			append([]string{"Authorization", "Bearer " + secret}, singly...)...)
		require.Equal(t, http.StatusUnauthorized, r.StatusCode)
	}
	require.NotContains(t, toolNames(t, connect(t, url, client, nil)), "journal")
	session := connect(t, url, operator, nil)
	result, err := call(t.Context(), session, "journal", nil)
	require.NoError(t, err)
	require.Contains(t, text(result), mcpservertest.Secret, "the only agent it reaches")
	r := post(t, t.Context(), url, chat("hello"),
		append([]string{"Authorization", "Bearer " + operator, "Origin", "https://evil.test"}, singly...)...)
	require.Equal(t, http.StatusForbidden, r.StatusCode)
	require.NotContains(t, being.Calls(), "Say")
}

func TestBehindTheServerPiecesComeWhileTheAgentStillSpeaks(t *testing.T) {
	t.Parallel()
	for _, version := range []string{lasting, single} {
		being := &mcpservertest.Service{Handles: []string{"iris"}, Ended: make(chan error, 1)}
		_, url, client, _ := behind(t, being)
		o, result := withProgress()
		c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
		session, err := c.Connect(t.Context(), older(url, client), &mcp.ClientSessionOptions{ProtocolVersion: version})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			params := &mcp.CallToolParams{Name: "chat", Arguments: map[string]any{"message": mcpservertest.Wait}}
			params.SetProgressToken(1)
			_, err := session.CallTool(ctx, params)
			failed <- err
		}()
		require.Equal(t, "...", (<-result).Message)
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		require.ErrorIs(t, <-being.Ended, context.Canceled, version)
		require.NoError(t, session.Close())
	}
}

func TestAServerThatEndsLetsIdleStreamsGoAtOnce(t *testing.T) {
	t.Parallel()
	server, url, client, _ := behind(t, &mcpservertest.Service{Handles: []string{"iris"}})
	key := []string{"Authorization", "Bearer " + client}
	id := opened(t, url, key...)
	get, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	idle := send(t, get, append(key, "Mcp-Session-Id", id, "Accept", "text/event-stream")...)
	require.Equal(t, http.StatusOK, idle.StatusCode)
	listen :=
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
			meta + `}}`
	subscribed := post(t, t.Context(), url, listen,
		append(key, "MCP-Protocol-Version", single, "Mcp-Method", "subscriptions/listen")...)
	require.Equal(t, http.StatusOK, subscribed.StatusCode)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, server.Shutdown(ctx), "nothing had to be cut")
	_ = body(t, idle)
	_ = body(t, subscribed)
}
