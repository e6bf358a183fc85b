package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

type message struct {
	Message      string `json:"message" jsonschema:"what to say to the agent"`
	Agent        string `json:"agent,omitempty" jsonschema:"handle or id of the agent; may be left out where only one can be reached"`
	Conversation string `json:"conversation,omitempty" jsonschema:"name of the conversation to go on with; without it the session's own, or, without a session, the one that all such calls share"`
}

type reply struct {
	Agent        string `json:"agent" jsonschema:"handle of the agent that answered"`
	Conversation string `json:"conversation" jsonschema:"name this to go on with the conversation"`
	Reply        string `json:"reply"`
	Model        string `json:"model" jsonschema:"the model that spoke"`
	Recalled     int    `json:"recalled" jsonschema:"memories that were recalled for this reply"`
	Skipped      string `json:"skipped,omitempty" jsonschema:"why nothing was recalled"`
	WordsOnly    string `json:"words_only,omitempty" jsonschema:"why memory was searched by words alone, without meaning"`
	Woke         bool   `json:"woke" jsonschema:"whether this message woke the agent"`
	Degraded     string `json:"degraded,omitempty" jsonschema:"what of waking could not be done yet"`
}

func (d *toolset) talk() {
	add(d, toolSpec[message, reply]{
		role: access.Client,
		tool: mcp.Tool{
			Name: "chat", Title: "Talk to the agent",
			Description: "Say something to the agent and get its reply. It recalls what it knows before it answers and remembers the talk after; if it sleeps, it wakes.",
			Annotations: changes("Talk to the agent", false, true),
		},
		shape: func(in *jsonschema.Schema) {
			in.Properties["message"].MinLength = at(1)
			in.Properties["conversation"].MaxLength = at(longestName)
		},
		do: func(ctx context.Context, c psyche.Caller, req *mcp.CallToolRequest, in message) (reply, error) {
			agent, err := d.agent(ctx, c, in.Agent)
			if err != nil {
				return reply{}, err
			}
			conversation := in.Conversation
			if conversation == "" {
				conversation = conversationOf(req.Session)
			}
			text, report, err := d.service.Say(ctx, c, agent, conversation, in.Message, pieces(ctx, req))
			if err != nil {
				return reply{}, err
			}
			return reply{
				Agent:        report.Agent,
				Conversation: report.Conversation,
				Reply:        text,
				Model:        report.Model,
				Recalled:     report.Recalled,
				Skipped:      report.Skipped,
				WordsOnly:    report.WordsOnly,
				Woke:         report.Woke,
				Degraded:     report.Degraded,
			}, nil
		},
		text: func(r reply) string { return r.Reply },
	})
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
