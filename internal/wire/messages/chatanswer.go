package messages

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonobject"
)

// ChatAnswer makes a chat completion of an answer of Messages: of a stream, piece by piece, or of one in one piece.
type ChatAnswer struct {
	usage   bool // a stream ends with its usage
	created int64
	id      string
	model   string
	calls   int // tools called so far
	open    string
	empty   bool // the call under way has no arguments yet
	billed  Billed
	out     []byte
}

// NewChatAnswer begins an answer to a request. created is the time, in seconds since 1970.
func NewChatAnswer(q *Chat, created int64) *ChatAnswer {
	return &ChatAnswer{usage: q.Usage, created: created}
}

// Take returns what is ready to be sent on. The next call reuses its memory.
func (a *ChatAnswer) Take() []byte {
	out := a.out
	a.out = a.out[:0]
	return out
}

// chatChunk is an answer, or a piece of one.
type chatChunk struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatChoice struct {
	Index   int        `json:"index"`
	Delta   *chatDelta `json:"delta,omitempty"`
	Message *chatDelta `json:"message,omitempty"`
	Finish  *string    `json:"finish_reason"`
}

type chatDelta struct {
	Role      string          `json:"role,omitempty"`
	Content   *string         `json:"content,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"`
	Details   []thoughtDetail `json:"reasoning_details,omitempty"`
	Calls     []chatDeltaCall `json:"tool_calls,omitempty"`
}

type chatDeltaCall struct {
	Index    int             `json:"index"`
	ID       string          `json:"id,omitempty"`
	Type     string          `json:"type,omitempty"`
	Function chatDeltaCallee `json:"function"`
}

type chatDeltaCallee struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type chatUsage struct {
	Prompt     int64           `json:"prompt_tokens"`
	Completion int64           `json:"completion_tokens"`
	Total      int64           `json:"total_tokens"`
	Prompts    chatPromptUsage `json:"prompt_tokens_details"`
	Answers    chatAnswerUsage `json:"completion_tokens_details"`
}

type chatPromptUsage struct {
	Cached int64 `json:"cached_tokens"`
	Writes int64 `json:"cache_write_tokens,omitempty"`
}

type chatAnswerUsage struct {
	Reasoning int64 `json:"reasoning_tokens"`
}

// counted is the usage as chat completions have it; nil where the provider reports none.
func (a *ChatAnswer) counted() *chatUsage {
	t, final := a.billed.Tokens()
	if !final {
		return nil
	}
	return &chatUsage{
		Prompt:     t.In,
		Completion: t.Out,
		Total:      t.In + t.Out,
		Prompts:    chatPromptUsage{Cached: t.Cached, Writes: a.billed.Usage().CacheWrites},
		Answers:    chatAnswerUsage{t.Reasoning},
	}
}

// finishes are the reasons of Messages, as chat completions name them. Any other is "stop".
var finishes = map[string]string{
	"max_tokens":                    "length",
	"model_context_window_exceeded": "length",
	"tool_use":                      "tool_calls",
	"refusal":                       "content_filter",
}

func finishOf(reason string) *string {
	if name, ok := finishes[reason]; ok {
		return &name
	}
	return new("stop")
}

func (a *ChatAnswer) send(delta chatDelta, finish *string) {
	a.write(chatChunk{
		ID: a.id, Object: "chat.completion.chunk", Created: a.created, Model: a.model,
		Choices: []chatChoice{{Delta: &delta, Finish: finish}},
	})
}

func (a *ChatAnswer) write(event any) {
	a.out = append(append(append(a.out, "data: "...), jsonobject.Marshalled(event)...), "\n\n"...)
}

// Event takes the data of one event.
func (a *ChatAnswer) Event(data []byte) error {
	var e Event
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	switch {
	case len(e.Error) > 0 && string(e.Error) != "null":
		a.out = append(append(append(a.out, "data: "...), ChatError(data)...), "\n\n"...)
	case e.Type == "message_start" && e.Message != nil:
		a.id, a.model = e.Message.ID, e.Message.Model
		a.billed.Begin(e.Message.Usage)
		a.send(chatDelta{Role: "assistant", Content: new("")}, nil)
	case e.Type == "content_block_start" && e.Block != nil:
		a.begin(&e)
	case e.Type == "content_block_delta":
		a.change(&e)
	case e.Type == "content_block_stop":
		if a.open == "tool_use" && a.empty {
			a.arguments("{}")
		}
		a.open = ""
	case e.Type == "message_delta":
		a.billed.End(e.Usage)
		if e.Delta.StopReason != "" {
			a.send(chatDelta{}, finishOf(e.Delta.StopReason))
		}
	case e.Type == "message_stop":
		a.end()
	case e.Type == "ping":
		a.out = append(a.out, ": ping\n\n"...)
	}
	return nil
}

func (a *ChatAnswer) end() {
	if u := a.counted(); a.usage && u != nil {
		a.write(chatChunk{
			ID: a.id, Object: "chat.completion.chunk", Created: a.created, Model: a.model,
			Choices: []chatChoice{}, Usage: u,
		})
	}
	a.out = append(a.out, "data: [DONE]\n\n"...)
}

// begin begins a block.
func (a *ChatAnswer) begin(e *Event) {
	b := e.Block
	a.open = b.Type
	switch b.Type {
	case "text":
		a.text(b.Text)
	case "thinking":
		a.thought(e.Index, b.Thinking)
	case "redacted_thinking":
		a.detail(thoughtDetail{Type: encryptedKind, Data: b.Data, Index: e.Index})
	case "tool_use":
		a.empty = true
		a.send(chatDelta{Calls: []chatDeltaCall{{
			Index: a.calls, ID: b.ID, Type: "function", Function: chatDeltaCallee{Name: b.Name},
		}}}, nil)
		a.calls++
	}
}

// change takes a change of the block under way.
func (a *ChatAnswer) change(e *Event) {
	switch d := &e.Delta; d.Type {
	case "text_delta":
		a.text(d.Text)
	case "thinking_delta":
		a.thought(e.Index, d.Thinking)
	case "signature_delta":
		a.detail(thoughtDetail{Type: thoughtKind, Signature: d.Signature, Index: e.Index})
	case "input_json_delta":
		if a.open == "tool_use" && d.Input != "" {
			a.arguments(d.Input)
		}
	}
}

func (a *ChatAnswer) text(text string) {
	if text != "" {
		a.send(chatDelta{Content: &text}, nil)
	}
}

func (a *ChatAnswer) thought(index int, text string) {
	if text != "" {
		detail := thoughtDetail{Type: thoughtKind, Text: text, Format: signedFormat, Index: index}
		a.send(chatDelta{Reasoning: text, Details: []thoughtDetail{detail}}, nil)
	}
}

func (a *ChatAnswer) detail(d thoughtDetail) {
	d.Format = signedFormat
	a.send(chatDelta{Details: []thoughtDetail{d}}, nil)
}

func (a *ChatAnswer) arguments(text string) {
	a.empty = false
	a.send(chatDelta{Calls: []chatDeltaCall{{Index: a.calls - 1, Function: chatDeltaCallee{Arguments: text}}}}, nil)
}

// Whole is an answer that came in one piece.
func (a *ChatAnswer) Whole(body []byte) ([]byte, error) {
	var m Received
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	if m.StopReason == "" && len(m.Content) == 0 {
		return nil, errors.New("it holds no content")
	}
	a.billed.End(m.Usage)
	var text strings.Builder
	answered := chatDelta{Role: "assistant"}
	for i := range m.Content {
		b := &m.Content[i]
		switch b.Type {
		case "text":
			text.WriteString(b.Text)
		case "thinking":
			answered.Reasoning += b.Thinking
			answered.Details = append(answered.Details, thoughtDetail{
				Type:      thoughtKind,
				Text:      b.Thinking,
				Signature: b.Signature,
				Format:    signedFormat,
				Index:     i,
			})
		case "redacted_thinking":
			answered.Details = append(answered.Details,
				thoughtDetail{Type: encryptedKind, Data: b.Data, Format: signedFormat, Index: i})
		case "tool_use":
			answered.Calls = append(answered.Calls, chatDeltaCall{
				Index: len(answered.Calls), ID: b.ID, Type: "function",
				Function: chatDeltaCallee{b.Name, arguments(b.Input)},
			})
		}
	}
	answered.Content = new(text.String())
	return jsonobject.Marshalled(chatChunk{
		ID: m.ID, Object: "chat.completion", Created: a.created, Model: m.Model,
		Choices: []chatChoice{{Message: &answered, Finish: finishOf(m.StopReason)}},
		Usage:   a.counted(),
	}), nil
}

// Refusal is the body of a refusal as chat completions have it.
func (a *ChatAnswer) Refusal(body []byte) []byte { return ChatError(body) }

// ChatError is an error as chat completions have it. A body of another form is returned as it is.
func ChatError(body []byte) []byte {
	var e struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil || e.Error.Message == "" && e.Error.Type == "" {
		return body
	}
	return jsonobject.Marshalled(map[string]any{"error": map[string]any{
		"message": e.Error.Message, "type": e.Error.Type, "code": e.Error.Type, "param": nil,
	}})
}
