package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/access"
)

type message struct {
	Message string `json:"message" jsonschema:"what to say to the agent"`
	who
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
		role:  access.Client,
		name:  "chat",
		title: "Talk to the agent",
		about: "Say something to the agent and get its reply. It recalls what it knows before it answers and remembers the talk after; if it sleeps, it wakes.",
		hints: changes(false, true),
		shape: func(in *jsonschema.Schema) {
			notEmpty(in, "message")
			in.Properties["conversation"].MaxLength = at(longestName)
		},
		do: func(ctx context.Context, k toolCall, in message) (reply, error) {
			conversation := in.Conversation
			if conversation == "" {
				conversation = conversationOf(k.req.Session)
			}
			text, report, err := d.service.Say(ctx, k.caller, k.agent, conversation, in.Message, pieces(ctx, k.req))
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
