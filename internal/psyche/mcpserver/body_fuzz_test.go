package mcpserver_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver/mcpservertest"
)

func FuzzNoMessageBreaksTheServerOrGetsWhatItsRoleMayNotSee(f *testing.F) {
	for _, message := range []string{
		"", "null", "[]", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, chat("hello"),
		strings.Replace(chat("hello"), `{"message":"hello"}`, "null", 1),
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":"x","method":"resources/read","params":{"uri":"oneiros://iris/journal"}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "[1,2,3,4,5,6,7,8,9,0,{},[]",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall_memory","arguments":{"query":"x","n":3,"agent":"iris"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		f.Add(message, single, "tools/call", "chat")
		f.Add(message, lasting, "", "")
		f.Add(message, "", "", "")
	}
	being := &mcpservertest.Service{Handles: []string{"iris"}}
	handler := mcpserver.New(being, &mcpservertest.Dreams{Being: being},
		mcpserver.Options{Body: 1 << 16, Report: func(err error) { panic(err) }})
	f.Cleanup(handler.Close)
	serve := handler.Routes()[0].Serve
	f.Fuzz(func(t *testing.T, message, version, method, name string) {
		ctx, cancel := context.WithTimeout(front.WithCaller(t.Context(), caller("key_c", access.Client)),
			200*time.Millisecond)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/mcp", strings.NewReader(message))
		for header, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name,
		} {
			r.Header.Set(header, value)
		}
		w := httptest.NewRecorder()
		serve(w, r)
		require.Less(t, w.Code, http.StatusInternalServerError)
		require.NotContains(t, w.Body.String(), mcpservertest.Secret)
	})
}
