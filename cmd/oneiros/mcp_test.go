package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/exit"
)

// speaks starts oneiros mcp as clients do, and returns its standard error after its end.
func (h *home) speaks(o *mcp.ClientOptions, args ...string) (*mcp.ClientSession, func() string) {
	h.Helper()
	cmd := h.command(append([]string{"mcp"}, args...)...)
	var beside bytes.Buffer
	cmd.Stderr = &beside
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(h.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	require.NoError(h, err, "%s", &beside)
	return session, func() string {
		require.NoError(h, session.Close())
		require.Equal(h, exit.OK, cmd.ProcessState.ExitCode(), "%s", &beside)
		return beside.String()
	}
}

func (h *home) uses(s *mcp.ClientSession, tool string, arguments map[string]any) map[string]any {
	h.Helper()
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken(tool)
	result, err := s.CallTool(h.Context(), params)
	require.NoError(h, err)
	require.False(h, result.IsError, "%s: %v", tool, result.Content)
	data, ok := result.StructuredContent.(map[string]any)
	require.True(h, ok)
	return data
}

func (h *home) offered(s *mcp.ClientSession) (names []string) {
	h.Helper()
	for tool, err := range s.Tools(h.Context(), nil) {
		require.NoError(h, err)
		names = append(names, tool.Name)
	}
	return names
}

func TestAClientThatStartsItsServersItselfTalksToOneAgentWithoutACluster(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.must("agents", "add", "iris", "--persona", "A companion.")
	h.must("agents", "add", "noor", "--persona", "Another.")
	client, leave := h.speaks(nil, "--agent", "iris", "--role", "client")
	names := h.offered(client)
	require.Contains(t, names, "chat")
	require.NotContains(t, names, "journal")
	require.NotContains(t, names, "dreams_list", "dreams need a cluster")
	kept := h.uses(client, "store_memory", map[string]any{"content": "The boat in the north harbour is green."})
	found := h.uses(client, "recall_memory", map[string]any{"query": "boat in the harbour"})
	require.Equal(t, kept["id"], found["memories"].([]any)[0].(map[string]any)["id"])
	require.Equal(t, "sleeping", h.uses(client, "status", nil)["state"],
		"a client that only reads memory wakes nobody")
	require.NotEmpty(t, h.uses(client, "chat", map[string]any{"message": "What colour is the boat?"})["reply"])
	require.Equal(t, "awake", h.uses(client, "status", nil)["state"])
	result, err := client.CallTool(t.Context(),
		&mcp.CallToolParams{Name: "status", Arguments: map[string]any{"agent": "noor"}})
	require.NoError(t, err)
	require.True(t, result.IsError, "it reaches one agent")
	require.Empty(t, leave())
	require.Contains(t, h.must("memory", "list", "--agent", "iris"), "green")

	_, _, code := h.run("mcp", "--agent", "iris", "--role", "king")
	require.Equal(t, exit.Usage, code)
	_, _, code = h.run("mcp", "--agent", "zoe")
	require.Equal(t, exit.NotFound, code)
}

func TestAClientOverStandardInputSpeaksAsThePrincipalOfAKey(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.must("agents", "add", "iris", "--persona", "A companion.")
	var key struct{ ID, Secret string }
	require.NoError(t,
		json.Unmarshal([]byte(h.must("keys", "add", "laptop", "--principal", "anna", "--agent", "iris", "--json")),
			&key))
	store := map[string]any{"content": "The boat in the north harbour is green."}
	recall := map[string]any{"query": "boat in the harbour"}
	finds := func(s *mcp.ClientSession) int {
		t.Helper()
		return len(h.uses(s, "recall_memory", recall)["memories"].([]any))
	}
	anna, leave := h.speaks(nil, "--agent", "iris", "--principal", "anna")
	h.uses(anna, "store_memory", store)
	require.Equal(t, 1, finds(anna))
	require.Contains(t, h.offered(anna), "journal", "access to the store makes the client an owner")
	require.Empty(t, leave())

	local, leave := h.speaks(nil, "--agent", "iris")
	require.Zero(t, finds(local), "what a principal said is its own")
	require.Contains(t, leave(), "do not find what is said here as local")
	cara, leave := h.speaks(nil, "--agent", "iris", "--principal", "anna", "--user", "cara")
	require.Zero(t, finds(cara), "another user of the principal")
	require.Empty(t, leave())

	h.env = append(h.env, "ONEIROS_KEY="+key.Secret)
	keyed, leave := h.speaks(nil, "--agent", "iris")
	require.Equal(t, 1, finds(keyed))
	require.NotContains(t, h.offered(keyed), "journal", "the role of the key holds")
	require.Empty(t, leave())
	for _, wrong := range []struct{ args, says string }{
		{"--role owner", "is of role client"}, {"--principal local", "speaks as anna"},
	} {
		_, beside, code := h.run(append([]string{"mcp", "--agent", "iris"}, strings.Fields(wrong.args)...)...)
		require.Equal(t, exit.Usage, code, beside)
		require.Contains(t, beside, wrong.says)
	}
	h.must("keys", "revoke", key.ID)
	_, beside, code := h.run("mcp", "--agent", "iris")
	require.Equal(t, exit.Usage, code)
	require.Contains(t, beside, "was revoked or has expired")
	_, beside, code = h.run("mcp", "--agent", "iris", "--principal", "ana")
	require.Equal(t, exit.NotFound, code)
	require.Contains(t, beside, `no key speaks as the principal "ana"`)
}

func TestAScriptThatPipesItsQuestionsInIsAnsweredEach(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.must("agents", "add", "iris", "--persona", "A companion.")
	cmd := h.command("mcp", "--agent", "iris")
	cmd.Stdin = strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
what is this?
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"chat","arguments":{"message":"What colour is the boat?"}}}`)
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, 3, bytes.Count(out, []byte("\n")), "%s", out)
	require.Contains(t, string(out), `"code":-32700`)
	require.Regexp(t, `"id":2,"result":.*"reply":"[^"]`, string(out))
}

func TestAnOwnerOverStandardInputHasADreamDreamtAndReadsItsJournal(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.must("agents", "add", "iris", "--persona", "A companion.")
	up := h.up()
	phases := make(chan string, 1000)
	owner, leave := h.speaks(
		&mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				if r.Params.ProgressToken == "dreams_start" {
					phases <- r.Params.Message
				}
			},
		}, "--agent", "iris")
	for _, text := range []string{
		"The boat in the north harbour is green and leaks at the stern.",
		"Mara mended the vane of the mill before the storm.",
		"The lighthouse keeper counts ships by their sound.", "Bees came to the orchard when the clover flowered.",
	} {
		h.uses(owner, "store_memory", map[string]any{"content": text, "importance": .8})
	}
	dreamt := h.uses(owner, "dreams_start", map[string]any{"theme": "boats", "wait": true})
	require.Equal(t, "completed", dreamt["status"], "%v", dreamt)
	listed := h.uses(owner, "dreams_list", nil)["dreams"].([]any)
	require.Len(t, listed, 1)
	require.Equal(t, dreamt["id"], listed[0].(map[string]any)["id"])
	entries := h.uses(owner, "journal", nil)["entries"].([]any)
	read, err := owner.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "oneiros://iris/journal"})
	require.NoError(t, err)
	for _, e := range entries {
		require.Contains(t, read.Contents[0].Text, e.(map[string]any)["at"].(string))
	}
	_, err = owner.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "oneiros://iris/playbook"})
	require.NoError(t, err)
	require.Empty(t, leave())
	require.NotEmpty(t, <-phases)
	require.NoError(t, up.Process.Signal(os.Interrupt))
	require.NoError(t, up.Wait(), "%s", up.output)
}

func TestAMoveOfTheStoreSeesAClientsOwnServer(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.must("agents", "add", "iris", "--persona", "A companion.")
	_, leave := h.speaks(nil, "--agent", "iris")
	_, beside, code := h.run("store", "move", "--to", h.data("moved.db"))
	require.Equal(t, exit.Refused, code, beside)
	require.Contains(t, beside, "1 worker or server is connected to it")
	leave()
	h.must("store", "move", "--to", h.data("moved.db"))
}
