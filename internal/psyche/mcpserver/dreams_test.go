package mcpserver_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver/mcpservertest"
)

func TestADreamIsStartedFollowedListedAndEnded(t *testing.T) {
	t.Parallel()
	being := &mcpservertest.Service{Handles: []string{"iris", "nova"}}
	url := serve(t, being, mcpserver.Options{Look: time.Millisecond},
		map[string]psyche.Caller{"c": caller("key_c", access.Client)})
	o, progress := withProgress()
	session := connect(t, url, "", o)
	params := &mcp.CallToolParams{
		Name:      "dreams_start",
		Arguments: map[string]any{"agent": "iris", "theme": "boats", "wait": true, "budget_micros": 1000},
	}
	params.SetProgressToken("p")
	result, err := session.CallTool(t.Context(), params)
	require.NoError(t, err)
	require.False(t, result.IsError, text(result))
	data := result.StructuredContent.(map[string]any)
	require.Equal(t, "completed", data["status"])
	require.InDelta(t, 1000, data["budget_micros"], 0)
	require.Equal(t, []any{"onset", "nrem", "rem", "integration", "return"}, data["phases"])
	for _, phase := range dream.Phases {
		require.Equal(t, string(phase), (<-progress).Message)
	}
	require.True(t, strings.HasPrefix(text(result),
		"Changed: Nothing.\nArchived: Nothing.\nNext: Nothing to do.\ndream_iris_0001 of iris: completed"), text(result))
	require.Equal(t, "Nothing.", data["summary"].(map[string]any)["changed"])

	result, err = call(t.Context(), session, "dreams_start",
		map[string]any{"agent": "iris", "theme": mcpservertest.Endless})
	require.NoError(t, err)
	id := result.StructuredContent.(map[string]any)["id"].(string)
	require.Equal(t, "dream_iris_0002", id)
	result, err = call(t.Context(), session, "dreams_list", nil)
	require.NoError(t, err)
	require.Equal(t,
		"dream_iris_0001 of iris: completed, return, $0.00 spent\ndream_iris_0002 of iris: running, $0.00 spent",
		text(result))
	for _, c := range []struct{ agent, dream, want string }{
		{"nobody", id, `there is no agent "nobody" that this key reaches`},
		{"nova", id, "dream dream_iris_0002 is of agent iris, and not of nova"},
	} {
		result, err = call(t.Context(), session, "dreams_cancel", map[string]any{"agent": c.agent, "dream": c.dream})
		require.NoError(t, err)
		require.True(t, result.IsError)
		require.Contains(t, text(result), c.want)
	}
	result, err = call(t.Context(), session, "dreams_cancel", map[string]any{"agent": "iris", "dream": id})
	require.NoError(t, err)
	require.False(t, result.IsError, text(result))
	require.Equal(t, "canceled", result.StructuredContent.(map[string]any)["status"])

	client := connect(t, url, "c", nil)
	result, err = call(t.Context(), client, "dreams_list", nil)
	require.NoError(t, err)
	require.Equal(t, "dream_iris_0001 of iris: completed\ndream_iris_0002 of iris: canceled", text(result))
	for _, tool := range []string{"dreams_start", "dreams_cancel"} {
		_, err = call(t.Context(), client, tool, map[string]any{"dream": id})
		require.ErrorContains(t, err, "unknown tool")
	}
}

func TestToStopWaitingForADreamDoesNotEndIt(t *testing.T) {
	t.Parallel()
	being := &mcpservertest.Service{Handles: []string{"iris"}}
	nights := &mcpservertest.Dreams{Being: being, Looked: make(chan string)}
	session := connect(t, served(t, being, nights, mcpserver.Options{Look: time.Millisecond}, nil), "", nil)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := call(ctx, session, "dreams_start", map[string]any{"theme": mcpservertest.Endless, "wait": true})
		failed <- err
	}()
	<-nights.Looked
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	go func() { // requests under way
		for range nights.Looked {
			continue
		}
	}()
	result, err := call(t.Context(), session, "dreams_list", nil)
	require.NoError(t, err)
	require.Contains(t, text(result), "dream_iris_0001 of iris: running")
}
