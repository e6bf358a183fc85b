package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The smallest picture and the shortest sound that their formats allow.
var (
	picture, _ = base64.StdEncoding.DecodeString(
		"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8BQDwAEgAF/QualzQAAAABJRU5ErkJggg==")
	sound, _ = base64.StdEncoding.DecodeString("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=")
)

// tool adds a tool whose answer depends on its request alone.
func tool(s *mcp.Server, name, tells string,
	do func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error),
) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: tells},
		func(ctx context.Context, r *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			result, err := do(ctx, r)
			return result, nil, err
		})
}

func says(words string) *mcp.CallToolResult { return holds(&mcp.TextContent{Text: words}) }

func holds(content ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: content} }

func embedded(uri string) mcp.Content {
	return &mcp.EmbeddedResource{
		Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "An embedded document."},
	}
}

func answers(s *mcp.Server) {
	image := &mcp.ImageContent{Data: picture, MIMEType: "image/png"}
	for name, result := range map[string]*mcp.CallToolResult{
		"test_simple_text":       says("Some text."),
		"test_image_content":     holds(image),
		"test_audio_content":     holds(&mcp.AudioContent{Data: sound, MIMEType: "audio/wav"}),
		"test_embedded_resource": holds(embedded("test://embedded-resource")),
		"test_multiple_content_types": holds(&mcp.TextContent{Text: "Text, a picture and a document:"}, image,
			embedded("test://mixed-content-resource")),
	} {
		tool(s, name, "answers content of a kind",
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result, nil })
	}
	tool(s, "test_error_handling", "fails", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("this tool fails on purpose")
	})
	for name, schema := range map[string]string{"json_schema_2020_12_tool": modern, "test_x_mcp_header": mirrored} {
		mcp.AddTool(s,
			&mcp.Tool{Name: name, Description: "has a schema of its own", InputSchema: json.RawMessage(schema)},
			func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
				return says("Taken."), nil, nil
			})
	}
}

// Schemas whose texts clients must get unchanged.
const (
	modern = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},
"phone":{"type":"string"},"email":{"type":"string"}},
"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
"additionalProperties":false}`
	mirrored = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`
)
