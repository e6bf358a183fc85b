package mcpserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver/mcpservertest"
)

func TestTheMorningIsToldAsTextAndAsData(t *testing.T) {
	t.Parallel()
	being := &mcpservertest.Service{Handles: []string{"iris"}}
	url := serve(t, being, mcpserver.Options{}, map[string]psyche.Caller{"o": caller("key_o", access.Operator)})
	session := connect(t, url, "o", nil)
	result, err := call(t.Context(), session, "morning", map[string]any{"since": "2026-10-19T06:00:00Z"})
	require.NoError(t, err)
	require.Contains(t, text(result), "iris since 2026-10-19 06:00")
	require.Contains(t, text(result), "Where storm comes up, leak comes up too.")
	found := result.StructuredContent.(map[string]any)
	require.Equal(t, "cl_0000000000000001", found["learned"].([]any)[0].(map[string]any)["id"])
	require.Equal(t, []any{}, found["waiting"])

	result, err = call(t.Context(), session, "morning", map[string]any{"since": "yesterday"})
	require.NoError(t, err)
	require.True(t, result.IsError)
	require.Contains(t, text(result), `since is "yesterday"`)
}
