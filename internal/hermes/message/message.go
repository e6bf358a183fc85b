// Package message has the values that Hermes' parts pass to each other: what is said, the tools that a model may call,
// and what became of a call.
package message

import (
	"encoding/json"
	"errors"
)

// ErrNoTools is what an error is where a model that was offered tools takes none.
var ErrNoTools = errors.New("this model takes no tools")

// Roles of a message, as the chat completions API has them.
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
	FromTool  = "tool"
)

// Message is one message of a conversation. Its JSON form is the one of the chat completions API, except for the fields
// of Hermes' own, which are left out when it is sent.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	// Calls are the tools that an assistant's message calls.
	Calls []Call `json:"tool_calls,omitempty"`
	// CallID is the call that a tool's message answers.
	CallID string `json:"tool_call_id,omitempty"`
}

// Call is a model's wish to run a tool. Arguments is JSON text as the model wrote it, which may be no valid JSON.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Effect is the most that a call of a tool can change.
type Effect int

// The effects, the smallest first.
const (
	Reads  Effect = iota // reads files of the workspace
	Writes               // changes files of the workspace
	Runs                 // starts a program, or asks another server
)

// Tool describes a tool to a model. Parameters is a JSON schema.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
	Effect      Effect
}

// Preview is what a person sees before a call is approved.
type Preview struct {
	Title string // one line, such as "run: go test ./..." or "write notes.md (12 lines)"
	Body  string // a unified diff, or the command in full; may be empty
	// Warning says what a person should know, such as that commands are not confined on this machine.
	Warning string
}

// Result is what became of a call.
type Result struct {
	Text string // what the model gets
	// Failed reports that the tool did not do what it was asked for; Text says why.
	Failed bool
	// Interrupted reports that a person stopped the call, or that it was never begun.
	Interrupted bool
	// Changed names the files that the call wrote, relative to the workspace.
	Changed []string
}

// Request asks a model to go on with a conversation.
type Request struct {
	Messages []Message
	Tools    []Tool
	// Quiet asks the server to store nothing of this request and not to let it move the mood: nobody said it.
	Quiet bool
	// MaxTokens bounds the answer; 0: the server's own bound.
	MaxTokens int
}

// Reply is the answer to a request. When the request was interrupted, it has what had come by then.
type Reply struct {
	Message Message
	Finish  string // such as "stop", "length" or "tool_calls"; empty when the answer did not end
	Usage   Usage
	// Notes are what the server says of this answer: memories recalled, and whether it woke the agent.
	Notes Notes
}

// Usage counts tokens. It is zero when the server did not say.
type Usage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
	Cached int `json:"cached"`
}

// Notes are the X-Oneiros headers of an answer. All are zero with a server that is not Oneiros.
type Notes struct {
	Recalled int    // memories that were put before the model
	Skipped  string // why none were
	Woke     bool   // whether the request woke the agent
	Degraded string // which part of the wake is completed later
}

// Cost is what these tokens cost at a price, in dollars.
func (u Usage) Cost(p Price) float64 { return float64(u.Input)*p.Input + float64(u.Output)*p.Output }

// Price is what a model charges for one token, in dollars.
type Price struct {
	Input, Output float64
}
