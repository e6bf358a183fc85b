package hermes_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// asServer is the variable that makes this program an MCP server of a person's own.
const asServer = "HERMES_TEST_SERVER"

type place struct {
	Place string `json:"place"`
}

// tides is a server with a tool that says of itself that it only reads.
func tides() {
	s := mcp.NewServer(&mcp.Implementation{Name: "harbour", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{
		Name:        "tide",
		Description: "tells how high the water is",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, func(_ context.Context, _ *mcp.CallToolRequest, in place) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "four metres at " + in.Place}}}, nil, nil
	})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

// overMCP has a turn with a tool over the Model Context Protocol.
func overMCP(m *machine) {
	dir := m.folder(m.agent)
	require.NoError(m, os.WriteFile(filepath.Join(dir, "lens.go"), []byte(lens), 0o644))
	term := m.open(m.T, 80, 24, m.apart(), "--workspace", dir, "--mcp")
	term.shows("over-mcp  awake over MCP")
	m.eventually("it is held", func() bool { return m.status().Leases > 0 })
	term.says("Task edit")
	term.shows("+func Turn() int { return 6 }", "y allow")
	term.press("y")
	term.shows("Edited it.")
	text, err := os.ReadFile(filepath.Join(dir, "lens.go"))
	require.NoError(m, err)
	require.Contains(m, string(text), "return 6")
	term.says("/quit")
	term.leaves(0)
	m.eventually("it is let go", func() bool { return m.status().Leases == 0 })
}

// servers has a tool of the person's own server, which asks although the server calls it harmless.
func servers(m *machine) {
	self, err := os.Executable()
	require.NoError(m, err)
	file := filepath.Join(m.dir, "servers.yaml")
	require.NoError(m, os.WriteFile(file, fmt.Appendf(nil, `servers:
  harbour: {command: %q, env: {%s: "yes"}}
  lost: {command: %q}
`, self, asServer, filepath.Join(m.dir, "nowhere")), 0o600))
	term := m.open(m.T, 80, 24, append(m.apart(), "HERMES_CONFIG="+file), "--workspace", m.folder(m.agent))
	term.shows("servers  awake", "Not there: ", "lost")
	term.says("Task tide")
	term.shows("harbour", "tide", "the pier", "y allow")
	term.press("n")
	term.shows("The water is high.", "the person did not allow it")
	term.says("Task tide")
	term.shows("y allow")
	term.press("y")
	term.shows("four metres at the pier")
	term.hides("y allow")
	m.eventually("the model has the answer", func() bool {
		return hasAll(m.lastSaid("Task tide"), []string{"four metres at the pier"})
	})
	term.says("/quit")
	term.leaves(0)
}
