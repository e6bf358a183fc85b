package mcpserver_test

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver/mcpservertest"
)

func TestASessionIsItsKeysAndOpensNothingByItself(t *testing.T) {
	t.Parallel()
	being := &mcpservertest.Service{Handles: []string{"iris"}}
	url := serve(t, being, mcpserver.Options{}, map[string]psyche.Caller{
		"o": caller("key_o", access.Operator), "c": caller("key_c", access.Client),
		"demoted": caller("key_o", access.Client),
	})
	id := opened(t, url, "Authorization", "Bearer o")
	journal := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"journal","arguments":{}}}`
	r := post(t, t.Context(), url, journal, "Mcp-Session-Id", id, "Authorization", "Bearer o")
	require.Contains(t, body(t, r), mcpservertest.Secret)
	for _, secret := range []string{"c", ""} {
		r = post(t, t.Context(), url, journal, "Mcp-Session-Id", id, "Authorization", "Bearer "+secret)
		require.Equal(t, http.StatusForbidden, r.StatusCode)
		require.NotContains(t, body(t, r), mcpservertest.Secret)
		get, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		r = send(t, get, "Mcp-Session-Id", id, "Authorization", "Bearer "+secret, "Accept", "text/event-stream")
		require.Equal(t, http.StatusForbidden, r.StatusCode)
		del, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
		require.NoError(t, err)
		r = send(t, del, "Mcp-Session-Id", id, "Authorization", "Bearer "+secret)
		require.Equal(t, http.StatusForbidden, r.StatusCode)
	}
	t.Log("the same key with a lesser role than when its session began")
	r = post(t, t.Context(), url, journal, "Mcp-Session-Id", id, "Authorization", "Bearer demoted")
	text := body(t, r)
	require.NotContains(t, text, mcpservertest.Secret)
	require.Contains(t, text, "journal needs a key of role operator")
	r = post(t, t.Context(), url,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"oneiros://iris/journal"}}`,
		"Mcp-Session-Id", id, "Authorization", "Bearer demoted")
	require.NotContains(t, body(t, r), mcpservertest.Secret)

	r = post(t, t.Context(), url, journal, "Mcp-Session-Id", "made-up", "Authorization", "Bearer o")
	require.Equal(t, http.StatusNotFound, r.StatusCode)
}

func TestUsersOfOneKeyAreKeptApart(t *testing.T) {
	t.Parallel()
	url := serve(t, &mcpservertest.Service{Handles: []string{"iris"}}, mcpserver.Options{}, nil)
	store :=
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"store_memory","arguments":{"content":"ada's boat"},` +
			meta + `}}`
	recall :=
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall_memory","arguments":{"query":"boat"},` +
			meta + `}}`
	headers := func(tool, user string) []string {
		return []string{
			"MCP-Protocol-Version", single, "Mcp-Method", "tools/call", "Mcp-Name", tool,
			"X-Oneiros-User", user,
		}
	}
	require.Contains(t, body(t, post(t, t.Context(), url, store, headers("store_memory", "ada")...)), "episode/1")
	require.Contains(t, body(t, post(t, t.Context(), url, recall, headers("recall_memory", "ada")...)), "ada's boat")
	require.NotContains(t, body(t, post(t, t.Context(), url, recall, headers("recall_memory", "ben")...)), "ada's boat")
	id := opened(t, url, "X-Oneiros-User", "ada")
	r := post(t, t.Context(), url, recall, "Mcp-Session-Id", id, "X-Oneiros-User", "ben")
	require.Equal(t, http.StatusForbidden, r.StatusCode)
	r = post(t, t.Context(), url, recall, headers("recall_memory", strings.Repeat("x", 300))...)
	require.Equal(t, http.StatusBadRequest, r.StatusCode)
}

func TestVersionsThatDisagreeAreRefused(t *testing.T) {
	t.Parallel()
	url := serve(t, &mcpservertest.Service{Handles: []string{"iris"}}, mcpserver.Options{}, nil)
	id := opened(t, url)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	r := post(t, t.Context(), url, list, "Mcp-Session-Id", id, "MCP-Protocol-Version", lasting)
	require.Contains(t, body(t, r), `"recall_memory"`)
	r = post(t, t.Context(), url, list, "Mcp-Session-Id", id, "MCP-Protocol-Version", "2025-03-26")
	require.Contains(t, body(t, r), `this session speaks`)
	r = post(t, t.Context(), url, list, "Mcp-Session-Id", id, "MCP-Protocol-Version", "1999-01-01")
	require.Equal(t, http.StatusBadRequest, r.StatusCode)
	r = post(t, t.Context(), url, chat("hello"), append(singly[2:], "MCP-Protocol-Version", "2027-01-01")...)
	require.Equal(t, http.StatusBadRequest, r.StatusCode)
	r = post(t, t.Context(), url, chat("hello"), singly[2:]...)
	require.Equal(t, http.StatusBadRequest, r.StatusCode, "the body names a version that the header does not")
	r = post(t, t.Context(), url, strings.ReplaceAll(chat("hello"), single, "2025-06-18"), singly...)
	require.Equal(t, http.StatusBadRequest, r.StatusCode)
	r = post(t, t.Context(), url, chat("hello"), "MCP-Protocol-Version", single, "Mcp-Method", "tools/list")
	require.Equal(t, http.StatusBadRequest, r.StatusCode)
	r = post(t, t.Context(), url, chat("hello"), singly...)
	require.Contains(t, body(t, r), "You said: hello")
}

func TestABatchHoldsNoMoreThanAFewMessages(t *testing.T) {
	t.Parallel()
	being := &mcpservertest.Service{Handles: []string{"iris"}}
	url := serve(t, being, mcpserver.Options{}, nil)
	r := post(t, t.Context(), url,
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	id := r.Header.Get("Mcp-Session-Id")
	batch := func(n int) string {
		var calls []string
		for i := range n {
			calls = append(calls,
				`{"jsonrpc":"2.0","id":`+strconv.Itoa(i+1)+
					`,"method":"tools/call","params":{"name":"chat","arguments":{"message":"hello"}}}`)
		}
		return " [" + strings.Join(calls, ",") + "]"
	}
	r = post(t, t.Context(), url, batch(10), "Mcp-Session-Id", id)
	require.Equal(t, 10, strings.Count(body(t, r), `"reply":"You said: hello"`))
	r = post(t, t.Context(), url, batch(11), "Mcp-Session-Id", id)
	require.Equal(t, http.StatusBadRequest, r.StatusCode)
	require.Contains(t, body(t, r), "a batch may hold at most 10 messages")
	require.Len(t, being.Calls(), 10)
}

func TestIdleSessionsHoldNoAgentAwake(t *testing.T) {
	t.Parallel()
	being := &mcpservertest.Service{Handles: []string{"iris"}}
	url := serve(t, being, mcpserver.Options{}, nil)
	id := opened(t, url)
	for _, method := range []string{
		"ping", "tools/list", "resources/list", "resources/templates/list",
		"prompts/list",
	} {
		r := post(t, t.Context(), url, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`, "Mcp-Session-Id", id)
		require.NotContains(t, body(t, r), `"error"`, method)
	}
	get, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r := send(t, get, "Mcp-Session-Id", id, "Accept", "text/event-stream")
	require.Equal(t, http.StatusOK, r.StatusCode)
	line, err := bufio.NewReader(r.Body).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, ": ok\n", line)
	require.Empty(t, being.Calls())
	require.Zero(t, being.Sessions())
}

func TestAKeysOldestSessionGivesWayToOneTooMany(t *testing.T) {
	t.Parallel()
	url := serve(t, &mcpservertest.Service{Handles: []string{"iris"}}, mcpserver.Options{Sessions: 3},
		map[string]psyche.Caller{"o": caller("key_o", access.Operator)})
	others := opened(t, url, "Authorization", "Bearer o")
	var ids []string
	for range 5 {
		ids = append(ids, opened(t, url))
	}
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for i, id := range ids {
		want := http.StatusOK
		if i < 2 {
			want = http.StatusNotFound
		}
		require.Equal(t, want, post(t, t.Context(), url, ping, "Mcp-Session-Id", id).StatusCode, i)
	}
	require.Equal(t, http.StatusOK,
		post(t, t.Context(), url, ping, "Mcp-Session-Id", others, "Authorization", "Bearer o").StatusCode)
}

func TestTheIdlestSessionOfAPrincipalGivesWayWhicheverKeyOpenedIt(t *testing.T) {
	t.Parallel()
	var ticks atomic.Int64
	now := func() time.Time { return time.Unix(ticks.Add(1), 0) }
	of := func(id, principal string, role access.Role) psyche.Caller {
		c := caller(id, role)
		c.Key.Principal = principal
		return c
	}
	url := serve(t, &mcpservertest.Service{Handles: []string{"iris"}}, mcpserver.Options{Sessions: 3, Now: now},
		map[string]psyche.Caller{
			"laptop": of("key_1", "anna", access.Client), "phone": of("key_2", "anna", access.Operator),
			"ben": of("key_3", "ben", access.Client),
		})
	open := func(secret string, more ...string) string {
		return opened(t, url, append(more, "Authorization", "Bearer "+secret)...)
	}
	ping := func(id, secret string, more ...string) int {
		return post(t, t.Context(), url, `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			append(more, "Mcp-Session-Id", id, "Authorization", "Bearer "+secret)...).StatusCode
	}
	other := open("ben")
	first, second, third := open("laptop"), open("phone"), open("phone", "X-Oneiros-User", "cara")
	require.Equal(t, http.StatusOK, ping(first, "laptop"))
	fourth := open("laptop")
	require.Equal(t, http.StatusNotFound, ping(second, "phone"), "it was idle for longest, though the first is older")
	require.Equal(t, http.StatusOK, ping(first, "phone"), "a session is its principal's, by whichever key")
	require.Equal(t, http.StatusOK, ping(third, "phone", "X-Oneiros-User", "cara"))
	require.Equal(t, http.StatusOK, ping(fourth, "laptop"))
	require.Equal(t, http.StatusOK, ping(other, "ben"))
}
