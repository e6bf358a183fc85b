package mcpserver_test

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver/mcpservertest"
)

func TestOverStreamsTheOneCallerHasItsToolsInBothWaysOfTheProtocol(t *testing.T) {
	t.Parallel()
	being := &mcpservertest.Being{Handles: []string{"iris", "noor"}}
	for _, version := range []string{"", "2025-11-25", "2024-11-05"} {
		face := mcpserver.New(being, nil, mcpserver.Options{})
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- face.ServeStream(t.Context(), caller("", access.Client, "iris"), in, out) }()
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		require.NoError(t, err)
		names := toolNames(t, session)
		require.Contains(t, names, "chat")
		require.NotContains(t, names, "journal")
		require.NotContains(t, names, "dreams_list", "nobody carries dreams")
		result, err := call(t.Context(), session, "chat", map[string]any{"message": "hello"})
		require.NoError(t, err)
		require.Equal(t, "You said: hello", text(result))
		require.Equal(t, "iris", result.StructuredContent.(map[string]any)["agent"])
		require.NoError(t, session.Close())
		require.NoError(t, <-done, "the end of the input is the end")
	}
}

func TestOverStreamsWhatIsMalformedEndsOrIsAnsweredAndNothingElseIsWritten(t *testing.T) {
	t.Parallel()
	for _, input := range []string{
		"", "\n", "{\n", "null\n", "[]\n", `{"jsonrpc":"2.0","id":1}` + "\n", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":null}}` + "\n",
		strings.Repeat("x", 1<<20), strings.Repeat(`{"a":`, 10000) + "\n",
	} {
		var out strings.Builder
		face := mcpserver.New(&mcpservertest.Being{Handles: []string{"iris"}}, nil, mcpserver.Options{Body: 1 << 16})
		_ = face.ServeStream(t.Context(), owner, strings.NewReader(input), &out)
		lines := bufio.NewScanner(strings.NewReader(out.String()))
		for lines.Scan() {
			require.True(t, strings.HasPrefix(lines.Text(), `{"jsonrpc":"2.0"`), lines.Text())
		}
	}
}
