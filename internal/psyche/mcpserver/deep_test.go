package mcpserver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver/mcpservertest"
)

func TestTheDeepestMessageThatFitsIsRefusedAndTheServerGoesOn(t *testing.T) {
	t.Parallel()
	url := serve(t, &mcpservertest.Service{Handles: []string{"iris"}}, mcpserver.Options{}, nil)
	id := opened(t, url)
	for _, deep := range []string{
		strings.Repeat("[", 2<<20), strings.Repeat(`{"a":`, 700<<10),
		strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20),
	} {
		for _, message := range []string{
			deep, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + deep,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + deep + `}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":` + deep + `}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":{"message":` + deep +
				`}}}`,
			`{"jsonrpc":"2.0","id":` + deep + `,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":` + deep + `}`,
			"[" + deep + "]",
		} {
			for _, headers := range [][]string{{"Mcp-Session-Id", id}, singly} {
				r := post(t, t.Context(), url, message, headers...)
				_ = body(t, r)
				require.Less(t, r.StatusCode, http.StatusInternalServerError)
			}
		}
	}
	r := post(t, t.Context(), url, chat("hello"), singly...)
	require.Contains(t, body(t, r), "You said: hello")
}
