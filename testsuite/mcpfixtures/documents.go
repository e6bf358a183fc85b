package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func documents(s *mcp.Server) {
	for name, content := range map[string]*mcp.ResourceContents{
		"static-text":      {MIMEType: "text/plain", Text: "A document that does not change."},
		"static-binary":    {MIMEType: "image/png", Blob: picture},
		"watched-resource": {MIMEType: "text/plain", Text: "A document to subscribe to."},
	} {
		s.AddResource(&mcp.Resource{Name: name, URI: "test://" + name, MIMEType: content.MIMEType},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				copied := *content
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&copied}}, nil
			})
	}
	s.AddResourceTemplate(
		&mcp.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			text, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: string(text)}}}, err
		})
}

func prompts(s *mcp.Server) {
	say := func(content ...mcp.Content) (*mcp.GetPromptResult, error) {
		result := &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}
		for _, c := range content {
			result.Messages = append(result.Messages, &mcp.PromptMessage{Role: "user", Content: c})
		}
		return result, nil
	}
	words := func(text string) mcp.Content { return &mcp.TextContent{Text: text} }
	s.AddPrompt(&mcp.Prompt{Name: "test_simple_prompt", Description: "says something"},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return say(words("A plain prompt."))
		})
	s.AddPrompt(
		&mcp.Prompt{
			Name: "test_prompt_with_arguments", Description: "says its arguments",
			Arguments: arguments("arg1", "arg2"),
		},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return say(words("arg1='" + r.Params.Arguments["arg1"] + "', arg2='" + r.Params.Arguments["arg2"] + "'"))
		})
	s.AddPrompt(
		&mcp.Prompt{
			Name: "test_prompt_with_embedded_resource", Description: "holds a document",
			Arguments: arguments("resourceUri"),
		},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return say(embedded(r.Params.Arguments["resourceUri"]), words("Read this."))
		})
	s.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_image", Description: "holds a picture"},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return say(&mcp.ImageContent{Data: picture, MIMEType: "image/png"}, words("Look at this."))
		})
	s.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "asks by answering"},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if about, ok := inputField(r.Params.InputResponses, "user_context", "context"); ok {
				about, _ := about.(string)
				return say(words("Context: " + about))
			}
			return &mcp.GetPromptResult{
				InputRequests: mcp.InputRequestMap{"user_context": askUser("What is it about?", "context", "string")},
			}, nil
		})
}

func arguments(names ...string) (list []*mcp.PromptArgument) {
	for _, name := range names {
		list = append(list, &mcp.PromptArgument{Name: name, Description: "anything", Required: true})
	}
	return list
}
