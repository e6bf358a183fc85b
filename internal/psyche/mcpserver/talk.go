package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

type message struct {
	Message  string `json:"message,omitempty" jsonschema:"what to say to the agent; the server keeps what was said before in the conversation"`
	Messages []any  `json:"messages,omitempty" jsonschema:"instead of message: the whole conversation, as chat completions have it"`
	Tools    []any  `json:"tools,omitempty" jsonschema:"with messages: functions that the agent may call, as chat completions have them; you run them"`
	who
	Conversation string `json:"conversation,omitempty" jsonschema:"name of the conversation to go on with; without it the session's own, or, without a session, the one that all such calls share; of messages the one of its first message"`
	MaxTokens    int    `json:"max_tokens,omitempty" jsonschema:"with messages: the most tokens of the answer"`
	Recall       string `json:"recall,omitempty" jsonschema:"whether it recalls memories; without it as the deployment says"`
	Store        string `json:"store,omitempty" jsonschema:"whether it remembers what is said; without it as the deployment says"`
	Affect       string `json:"affect,omitempty" jsonschema:"whether what is said moves its mood and the mood is told to the model; without it as the deployment says"`
	Digest       string `json:"digest,omitempty" jsonschema:"whether the digest of dreams may come now; off leaves it to a later call"`
}

type reply struct {
	Agent        string            `json:"agent" jsonschema:"handle of the agent that answered"`
	Conversation string            `json:"conversation" jsonschema:"name this to go on with the conversation"`
	Reply        string            `json:"reply"`
	ToolCalls    []psyche.ToolCall `json:"tool_calls,omitempty" jsonschema:"tools that the agent wants you to run; answer with messages of the role tool"`
	FinishReason string            `json:"finish_reason,omitempty" jsonschema:"why the answer ended, such as stop, length or tool_calls"`
	Usage        psyche.TokenUsage `json:"usage" jsonschema:"tokens; zero when the provider did not say"`
	Model        string            `json:"model" jsonschema:"the model that spoke"`
	Recalled     int               `json:"recalled" jsonschema:"memories that were recalled for this reply"`
	Skipped      string            `json:"skipped,omitempty" jsonschema:"why nothing was recalled"`
	WordsOnly    string            `json:"words_only,omitempty" jsonschema:"why memory was searched by words alone, without meaning"`
	Woke         bool              `json:"woke" jsonschema:"whether this message woke the agent"`
	Degraded     string            `json:"degraded,omitempty" jsonschema:"what of waking could not be done yet"`
}

func (d *toolset) talk() {
	add(d, toolSpec[message, reply]{
		role:  access.Client,
		name:  "chat",
		title: "Talk to the agent",
		about: "Say something to the agent and get its reply. It recalls what it knows before it answers and remembers the talk after; if it sleeps, it wakes. " +
			"With messages and tools, it answers with the tools that it wants you to run.",
		hints: changes(false, true),
		shape: talkShape,
		do:    d.say,
		text:  replyText,
	})
}

// say is a turn: of one message, or of a whole conversation. Both go through the service as a chat completion does.
func (d *toolset) say(ctx context.Context, k toolCall, in message) (reply, error) {
	if err := checkTalk(in, k.req.Params.Arguments); err != nil {
		return reply{}, err
	}
	t := psyche.Turn{
		Caller:       k.caller,
		Agent:        k.agent,
		Conversation: in.Conversation,
		Path:         "/chat/completions",
		Header:       http.Header{"Content-Type": {"application/json"}},
		Switches: psyche.Switches{
			Recall: switchOf(in.Recall),
			Store:  switchOf(in.Store),
			Affect: switchOf(in.Affect),
			Digest: switchOf(in.Digest),
		},
	}
	token := pieces(ctx, k.req)
	var answer psyche.Completion
	var report psyche.TurnReport
	var err error
	if in.Messages == nil {
		if t.Conversation == "" {
			t.Conversation = conversationOf(k.req.Session)
		}
		answer, report, err = d.service.Say(ctx, t, in.Message, token)
	} else {
		t.Body, err = bodyOf(k, in.MaxTokens, token != nil)
		if err != nil {
			return reply{}, err
		}
		answer, report, err = d.service.Complete(ctx, t, token)
	}
	if err != nil {
		return reply{}, err
	}
	return reply{
		Agent:        report.Agent,
		Conversation: report.Conversation,
		Reply:        answer.Text,
		ToolCalls:    answer.Calls,
		FinishReason: answer.Finish,
		Usage:        answer.Usage,
		Model:        report.Model,
		Recalled:     report.Recalled,
		Skipped:      report.Skipped,
		WordsOnly:    report.WordsOnly,
		Woke:         report.Woke,
		Degraded:     report.Degraded,
	}, nil
}

// Limits of a conversation that a client sends. The whole call is bounded by Options.Body.
const (
	mostMessages   = 10_000
	longestMessage = 1 << 20 // bytes of one message's JSON
	mostTools      = 128
	longestTool    = 64 << 10 // bytes of one tool's JSON
	mostTokens     = 1 << 20
)

func talkShape(in *jsonschema.Schema) {
	notEmpty(in, "message")
	in.Properties["conversation"].MaxLength = at(longestName)
	setBounds(in.Properties["max_tokens"], 1, mostTokens)
	for _, name := range []string{"recall", "store", "affect", "digest"} {
		in.Properties[name].Enum = []any{"on", "off"}
	}
	object := func(required []string, properties map[string]*jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", Required: required, Properties: properties}
	}
	text := func(about string) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Description: about} }
	role := text("who says it; a message of the role tool answers a call")
	role.Enum = []any{"system", "developer", "user", "assistant", "tool"}
	messages := in.Properties["messages"]
	messages.MinItems, messages.MaxItems = at(1), at(mostMessages)
	messages.Items = object([]string{"role"}, map[string]*jsonschema.Schema{
		"role":    role,
		"content": {Description: "text, a list of parts, or null beside tool_calls"},
		"tool_calls": {
			Type:        "array",
			Description: "of an assistant's message: its calls, as {id, type: function, function: {name, arguments}}",
			Items:       object([]string{"id", "function"}, nil),
		},
		"tool_call_id": text("of a message of the role tool: the call that it answers"),
	})
	kind := text("function")
	kind.Enum = []any{"function"}
	name := text("the name by which it is called")
	name.MinLength, name.MaxLength = at(1), at(64)
	tools := in.Properties["tools"]
	tools.MaxItems = at(mostTools)
	tools.Items = object([]string{"type", "function"}, map[string]*jsonschema.Schema{
		"type": kind,
		"function": object([]string{"name"}, map[string]*jsonschema.Schema{
			"name":        name,
			"description": text("what it does"),
			"parameters":  {Type: "object", Description: "the JSON schema of its arguments"},
		}),
	})
}

// checkTalk refuses arguments that contradict each other or are too large.
func checkTalk(in message, arguments json.RawMessage) error {
	wrong := func(param, format string, args ...any) error {
		return psyche.Refuse(http.StatusBadRequest, "invalid_value", param, format, args...)
	}
	switch {
	case in.Message == "" && in.Messages == nil:
		return wrong("message", "message is missing; it must be text that is not empty, or be replaced by messages")
	case in.Message != "" && in.Messages != nil:
		return wrong("messages", "message and messages are both given; messages, the whole conversation, replaces message")
	case in.Messages == nil && (in.Tools != nil || in.MaxTokens > 0):
		return wrong("messages", "messages is missing; tools and max_tokens need it instead of message")
	}
	var raw struct {
		Messages []json.RawMessage `json:"messages"`
		Tools    []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(arguments, &raw); err != nil {
		return wrong("messages", "the arguments are no JSON: %v", err)
	}
	for i, m := range raw.Messages {
		if len(m) > longestMessage {
			return wrong("messages", "messages[%d] has %d bytes; it may have %d", i, len(m), longestMessage)
		}
	}
	for i, tool := range raw.Tools {
		if len(tool) > longestTool {
			return wrong("tools", "tools[%d] has %d bytes; it may have %d", i, len(tool), longestTool)
		}
	}
	return nil
}

// bodyOf is the conversation of a call as the body of a chat completion, with its bytes as the client sent them.
func bodyOf(k toolCall, most int, stream bool) (*psyche.Body, error) {
	var raw struct {
		Messages json.RawMessage `json:"messages"`
		Tools    json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(k.req.Params.Arguments, &raw); err != nil {
		return nil, err
	}
	if string(raw.Tools) == "[]" { // which providers refuse
		raw.Tools = nil
	}
	q := psyche.Question{
		Model:     k.agent,
		Messages:  raw.Messages,
		Tools:     raw.Tools,
		MaxTokens: most,
		Stream:    stream,
	}
	return q.Body()
}

func switchOf(text string) *bool {
	if text == "" {
		return nil
	}
	on := text == "on"
	return &on
}

// replyText is what the agent says, and the tools that it calls.
func replyText(r reply) string {
	lines := make([]string, 0, 1+len(r.ToolCalls))
	if r.Reply != "" || len(r.ToolCalls) == 0 {
		lines = append(lines, r.Reply)
	}
	for _, c := range r.ToolCalls {
		lines = append(lines, fmt.Sprintf("Calls %s (%s) with %s", c.Name, c.ID, c.Arguments))
	}
	return strings.Join(lines, "\n")
}

// longestName bounds the name of a conversation or a session, in characters.
const longestName = 256

// conversationOf is the conversation of a session; empty when the request came without one. The session's id opens
// the session, so that only its digest is used as a name.
func conversationOf(s *mcp.ServerSession) string {
	if s.ID() == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(s.ID()))
	return "mcp-" + hex.EncodeToString(sum[:8])
}

// pieces returns a function that sends pieces of the answer to a client that asked for progress; nil when it did not.
func pieces(ctx context.Context, req *mcp.CallToolRequest) func(string) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	count := 0.0
	return func(piece string) {
		count++
		// A client that has hung up cancels ctx, which ends the talk.
		_ = req.Session.NotifyProgress(ctx,
			&mcp.ProgressNotificationParams{ProgressToken: token, Progress: count, Message: piece})
	}
}
