package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// questions adds the tools that send requests to the client during a session.
func questions(s *mcp.Server) {
	type prompt struct {
		Prompt string `json:"prompt"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "test_sampling", Description: "asks the client's model"},
		func(ctx context.Context, r *mcp.CallToolRequest, in prompt) (*mcp.CallToolResult, any, error) {
			//lint:ignore SA1019 the suite asks for sampling, which the protocol still has
			answer, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{
				//lint:ignore SA1019 as above
				Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Prompt}}},
				MaxTokens: 100,
			})
			if err != nil {
				return nil, nil, err
			}
			words, _ := answer.Content.(*mcp.TextContent)
			if words == nil {
				words = &mcp.TextContent{Text: "no text"}
			}
			return says("LLM response: " + words.Text), nil, nil
		})
	type message struct {
		Message string `json:"message,omitempty"`
	}
	for name, schema := range map[string]string{
		"test_elicitation":                  `{"type":"object","properties":{"username":{"type":"string"},"email":{"type":"string"}},"required":["username"]}`,
		"test_elicitation_sep1034_defaults": defaults,
		"test_elicitation_sep1330_enums":    choices,
	} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "asks the user"},
			func(ctx context.Context, r *mcp.CallToolRequest, in message) (*mcp.CallToolResult, any, error) {
				if in.Message == "" {
					in.Message = "Please fill this in."
				}
				answer, err := r.Session.Elicit(ctx,
					&mcp.ElicitParams{Message: in.Message, RequestedSchema: json.RawMessage(schema)})
				if err != nil {
					return nil, nil, err
				}
				return says(fmt.Sprintf("action=%s, content=%v", answer.Action, answer.Content)), nil, nil
			})
	}
}

const (
	defaults = `{"type":"object","properties":{
"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`
	choices = `{"type":"object","properties":{
"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"},{"const":"value3","title":"Third"}]},
"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["One","Two","Three"]},
"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},
"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"},{"const":"value3","title":"Third"}]}}}}`
)
