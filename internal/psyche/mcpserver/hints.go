package mcpserver

import (
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// reads are the annotations of a tool that changes nothing.
func reads(title string) *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{
		Title:           title,
		ReadOnlyHint:    true,
		IdempotentHint:  true,
		DestructiveHint: &no,
		OpenWorldHint:   &no,
	}
}

// changes are the annotations of a tool that adds or changes something and destroys nothing. An open one reaches a
// model provider.
func changes(title string, idempotent, open bool) *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{Title: title, IdempotentHint: idempotent, DestructiveHint: &no, OpenWorldHint: &open}
}

// ends are the annotations of a tool that ends or erases something. Repeating it has no further effect.
func ends(title string) *mcp.ToolAnnotations {
	yes, no := true, false
	return &mcp.ToolAnnotations{Title: title, IdempotentHint: true, DestructiveHint: &yes, OpenWorldHint: &no}
}

func at[T any](v T) *T { return &v }

// setBounds bounds a number.
func setBounds(s *jsonschema.Schema, least, most float64) { s.Minimum, s.Maximum = &least, &most }
