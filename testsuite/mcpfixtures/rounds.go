package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// seal signs state that a client is to bring back.
var seal = []byte(rand.Text())

func sealed(state string) string {
	mac := hmac.New(sha256.New, seal)
	mac.Write([]byte(state))
	return state + "." + hex.EncodeToString(mac.Sum(nil))
}

// brought is the state that a client brought back, if it is unchanged.
func brought(r *mcp.CallToolRequest) (string, error) {
	state, _, _ := strings.Cut(r.Params.RequestState, ".")
	if !hmac.Equal([]byte(sealed(state)), []byte(r.Params.RequestState)) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the request state was changed"}
	}
	return state, nil
}

// The three kinds of request to a client.
func askUser(words, field, kind string) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Message: words,
		RequestedSchema: json.RawMessage(
			`{"type":"object","properties":{"` + field + `":{"type":"` + kind + `"}},"required":["` + field + `"]}`),
	}
}

//lint:ignore SA1019 the suite asks for sampling, which the protocol still has
func askModel(words string) *mcp.CreateMessageParams {
	//lint:ignore SA1019 as above
	return &mcp.CreateMessageParams{
		//lint:ignore SA1019 as above
		Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: words}}}, MaxTokens: 50,
	}
}

func asks(state string, requests mcp.InputRequestMap) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{InputRequests: requests, RequestState: state}, nil
}

// inputField is a field that the user agreed to fill in.
func inputField(responses mcp.InputResponseMap, name, field string) (any, bool) {
	answer, ok := responses[name].(*mcp.ElicitResult)
	if !ok || answer == nil || answer.Action != "accept" {
		return nil, false
	}
	value, ok := answer.Content[field]
	return value, ok
}

// rounds adds the tools that ask for input in their answer: the client calls again with the input.
func rounds(s *mcp.Server) {
	round(s, "elicitation", func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if name, ok := inputField(r.Params.InputResponses, "user_name", "name"); ok {
			if name, ok := name.(string); ok && name != "" {
				return says("Hello, " + name + "!"), nil
			}
		}
		return asks("", mcp.InputRequestMap{"user_name": askUser("What is your name?", "name", "string")})
	})
	round(s, "sampling", func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Params.InputResponses["capital_question"] != nil {
			return says("Sampled."), nil
		}
		return asks("", mcp.InputRequestMap{"capital_question": askModel("What is the capital of France?")})
	})
	round(s, "list_roots", func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Params.InputResponses["client_roots"] != nil {
			return says("Roots listed."), nil
		}
		//lint:ignore SA1019 the suite asks for roots, which the protocol still has
		return asks("", mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}})
	})
	for _, name := range []string{"request_state", "tampered_state"} {
		round(s, name, func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if _, ok := inputField(r.Params.InputResponses, "confirm", "ok"); !ok {
				return asks(sealed("asked"), mcp.InputRequestMap{"confirm": askUser("Is that so?", "ok", "boolean")})
			}
			if _, err := brought(r); err != nil {
				return nil, err
			}
			return says("state-ok"), nil
		})
	}
	round(s, "multiple_inputs", func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got := r.Params.InputResponses
		if got["user_name"] == nil || got["greeting"] == nil || got["client_roots"] == nil {
			return asks(sealed("asked"), mcp.InputRequestMap{
				"user_name": askUser("What is your name?", "name", "string"), "greeting": askModel("Greet."),
				//lint:ignore SA1019 the suite asks for roots, which the protocol still has
				"client_roots": &mcp.ListRootsParams{},
			})
		}
		_, err := brought(r)
		return says("All was answered."), err
	})
	round(s, "multi_round", func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Params.RequestState == "" {
			return asks(sealed("first"), mcp.InputRequestMap{"step1": askUser("What is your name?", "name", "string")})
		}
		state, err := brought(r)
		if err != nil || state == "second" {
			return says("Both were answered."), err
		}
		return asks(sealed("second"), mcp.InputRequestMap{"step2": askUser("What colour?", "color", "string")})
	})
	round(s, "capabilities", func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		requests := mcp.InputRequestMap{}
		can := r.ClientCapabilities()
		if can != nil && can.Elicitation != nil {
			requests["user_name"] = askUser("What is your name?", "name", "string")
		}
		//lint:ignore SA1019 the suite asks for sampling, which the protocol still has
		if can != nil && can.Sampling != nil {
			requests["greeting"] = askModel("Greet.")
		}
		if len(requests) == 0 || len(r.Params.InputResponses) > 0 {
			return says("Nothing is asked."), nil
		}
		return asks("", requests)
	})
}

func round(s *mcp.Server, name string, do func(*mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	tool(s, "test_input_required_result_"+name, "asks by answering",
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return do(r)
		})
}
