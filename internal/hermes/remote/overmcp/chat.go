package overmcp

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// chatArguments are the arguments of the tool chat.
type chatArguments struct {
	Messages     []sent `json:"messages"`
	Tools        []any  `json:"tools,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	MaxTokens    int    `json:"max_tokens,omitempty"`
	Store        string `json:"store,omitempty"`
	Affect       string `json:"affect,omitempty"`
	Digest       string `json:"digest,omitempty"`
}

// sent is a message as chat completions have it.
type sent struct {
	Role    string     `json:"role"`
	Content *string    `json:"content"`
	Calls   []sentCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
}

type sentCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// chatResult is the result of the tool chat.
type chatResult struct {
	Reply  string         `json:"reply"`
	Calls  []message.Call `json:"tool_calls"`
	Finish string         `json:"finish_reason"`
	Usage  struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Cached     int `json:"cached_tokens"`
	} `json:"usage"`
	Recalled int    `json:"recalled"`
	Skipped  string `json:"skipped"`
	Woke     bool   `json:"woke"`
	Degraded string `json:"degraded"`
}

// Chat asks the agent to go on with a conversation, and hands each piece of the answer to piece, which may be nil, as
// it comes. The request is sent once. When the context ends in the middle, the reply has what had come, and the error
// is the context's.
func (c *Client) Chat(ctx context.Context, r message.Request, piece func(string)) (message.Reply, error) {
	given, err := c.arguments("chat", c.chatArguments(r))
	if err != nil {
		return message.Reply{}, err
	}
	received := &pieces{to: piece}
	token := c.listen(received)
	defer c.unlisten(token)
	params := &mcp.CallToolParams{Name: "chat", Arguments: given}
	params.SetProgressToken(token)
	var result chatResult
	err = c.call(ctx, params, &result)
	text := received.end()
	if err != nil {
		return message.Reply{Message: message.Message{Role: message.Assistant, Content: text}}, err
	}
	// Progress may be overtaken by the result.
	if rest, ok := strings.CutPrefix(result.Reply, text); ok && rest != "" && piece != nil {
		piece(rest)
	}
	return message.Reply{
		Message: message.Message{Role: message.Assistant, Content: result.Reply, Calls: result.Calls},
		Finish:  result.Finish,
		Usage: message.Usage{
			Input:  result.Usage.Prompt,
			Output: result.Usage.Completion,
			Cached: result.Usage.Cached,
		},
		Notes: message.Notes{
			Recalled: result.Recalled,
			Skipped:  result.Skipped,
			Woke:     result.Woke,
			Degraded: result.Degraded,
		},
	}, nil
}

func (c *Client) chatArguments(r message.Request) chatArguments {
	out := chatArguments{Conversation: c.s.Conversation, MaxTokens: r.MaxTokens}
	if r.Quiet {
		out.Store, out.Affect, out.Digest = "off", "off", "off"
	}
	for _, m := range r.Messages {
		s := sent{Role: m.Role, CallID: m.CallID, Content: &m.Content}
		if m.Content == "" && len(m.Calls) > 0 {
			s.Content = nil
		}
		for _, call := range m.Calls {
			each := sentCall{ID: call.ID, Type: "function"}
			each.Function.Name, each.Function.Arguments = call.Name, call.Arguments
			s.Calls = append(s.Calls, each)
		}
		out.Messages = append(out.Messages, s)
	}
	for _, t := range r.Tools {
		parameters := t.Parameters
		if len(parameters) == 0 {
			parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out.Tools = append(out.Tools, map[string]any{
			"type":     "function",
			"function": map[string]any{"name": t.Name, "description": t.Description, "parameters": parameters},
		})
	}
	return out
}

// pieces are those of one answer that have come as progress.
type pieces struct {
	mu    sync.Mutex
	text  strings.Builder
	to    func(string)
	ended bool
}

func (p *pieces) add(piece string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.text.WriteString(piece)
	if p.to != nil {
		p.to(piece)
	}
}

// end is what has come; later pieces are not handed on.
func (p *pieces) end() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	return p.text.String()
}

func (c *Client) listen(p *pieces) (token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	token = "chat-" + strconv.Itoa(c.count)
	c.answers[token] = p.add
	return token
}

func (c *Client) unlisten(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.answers, token)
}

// progress hands a piece to the answer that it belongs to.
func (c *Client) progress(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string)
	c.mu.Lock()
	add := c.answers[token]
	c.mu.Unlock()
	if add != nil {
		add(r.Params.Message)
	}
}
