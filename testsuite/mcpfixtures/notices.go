package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// apart is long enough for a client to see two notices one after the other.
const apart = 20 * time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// notices adds the tools that send notifications besides their answer.
func notices(s *mcp.Server) {
	log := func(ctx context.Context, r *mcp.CallToolRequest, words string) {
		//lint:ignore SA1019 the suite asks for logs, which the protocol still has
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: words})
	}
	tool(s, "test_tool_with_logging", "logs thrice",
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for _, words := range []string{"begun", "under way", "done"} {
				log(ctx, r, words)
				pause(ctx, apart)
			}
			return says("Logged."), nil
		})
	tool(s, "test_logging_tool", "logs once",
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			log(ctx, r, "done")
			return says("Logged, if anybody listens."), nil
		})
	tool(s, "test_tool_with_progress", "tells how far it is",
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for _, at := range []float64{0, 50, 100} {
				_ = r.Session.NotifyProgress(ctx,
					&mcp.ProgressNotificationParams{
						ProgressToken: r.Params.GetProgressToken(), Progress: at,
						Total: 100,
					})
				pause(ctx, apart)
			}
			return says(fmt.Sprint(r.Params.GetProgressToken())), nil
		})
	tool(s, "test_reconnection", "closes its stream before it answers",
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if r.Extra != nil && r.Extra.CloseSSEStream != nil {
				r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
			}
			pause(context.Background(), 5*apart) // the stream's end ends the call's context
			return says("Answered after the stream was closed."), nil
		})
	tool(s, "test_streaming_elicitation", "asks nothing while it streams",
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return says("Nothing was asked."), nil
		})
	tool(s, "test_missing_capability", "needs a client that samples",
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			//lint:ignore SA1019 the suite asks for sampling, which the protocol still has
			if can := r.ClientCapabilities(); can != nil && can.Sampling != nil {
				return says("The client samples."), nil
			}
			return nil, &jsonrpc.Error{
				Code: mcp.CodeMissingRequiredClientCapabilities, Message: "this needs a client that samples",
				Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`),
			}
		})
	tool(s, "test_trigger_tool_change", "changes the list of tools",
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			tool(s, "test_passing_tool", "comes and goes",
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return says(""), nil })
			return says("Changed."), nil
		})
	tool(s, "test_trigger_prompt_change", "changes the list of prompts",
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.AddPrompt(&mcp.Prompt{Name: "test_passing_prompt", Description: "comes and goes"},
				func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
					return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}, nil
				})
			return says("Changed."), nil
		})
}
