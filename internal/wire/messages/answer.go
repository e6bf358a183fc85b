package messages

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// Usage counts the tokens of an answer, as Anthropic divides them.
type Usage struct {
	Input       int64 `json:"input_tokens"` // of the prompt, without those read from a cache or written to it
	CacheWrites int64 `json:"cache_creation_input_tokens"`
	CacheReads  int64 `json:"cache_read_input_tokens"`
	Output      int64 `json:"output_tokens"` // thoughts included
	// Thoughts is absent where the provider did not count them.
	Thoughts *thoughtUsage `json:"output_tokens_details"`
	Tools    absent        `json:"server_tool_use"`
}

type thoughtUsage struct {
	Tokens int64 `json:"thinking_tokens"`
}

// absent is a member that every answer of this wire has, and for which a chat completion has nothing.
type absent struct{}

// MarshalJSON writes null.
func (absent) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// wholeUsage is the usage of a message.
type wholeUsage struct {
	Usage
	Creation absent `json:"cache_creation"`
	Place    absent `json:"inference_geo"`
	Tier     absent `json:"service_tier"`
	Speed    absent `json:"speed"`
}

// stopDetails say more of why an answer ended; there are some of refusals alone.
type stopDetails struct {
	Type        string `json:"type"`
	Category    absent `json:"category"`
	Explanation absent `json:"explanation"`
}

func detailsOf(reason string) *stopDetails {
	if reason == "refusal" {
		return &stopDetails{Type: reason}
	}
	return nil
}

// caller is who called a tool: the model itself.
type caller struct {
	Type string `json:"type"`
}

// ReadUsage reads the usage of a chat completion. It is zero where there is none.
func ReadUsage(raw []byte) Usage {
	var u struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Details    struct {
			Cached int64 `json:"cached_tokens"`
			Writes int64 `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
		Answer struct {
			Reasoning *int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return Usage{}
	}
	usage := Usage{
		Input:       max(0, u.Prompt-u.Details.Cached-u.Details.Writes),
		CacheWrites: u.Details.Writes,
		CacheReads:  u.Details.Cached,
		Output:      u.Completion,
	}
	if n := u.Answer.Reasoning; n != nil {
		usage.Thoughts = &thoughtUsage{*n}
	}
	return usage
}

// Message is an answer, as far as it has come.
type message struct {
	ID          string       `json:"id"`
	Type        string       `json:"type"`
	Role        string       `json:"role"`
	Model       string       `json:"model"`
	Content     []block      `json:"content"`
	StopReason  *string      `json:"stop_reason"`
	StopText    absent       `json:"stop_sequence"` // a chat completion does not name it
	StopDetails *stopDetails `json:"stop_details"`
	Container   absent       `json:"container"`
	Diagnostics absent       `json:"diagnostics"`
	Usage       wholeUsage   `json:"usage"`
}

// block is a block of an answer: its members depend on its type.
type block struct {
	kind      string // text, thinking or tool_use
	text      strings.Builder
	signature string
	id, name  string
}

// MarshalJSON writes the members of the block's type.
func (b *block) MarshalJSON() ([]byte, error) {
	switch b.kind {
	case "thinking":
		return marshalled(struct {
			Type      string `json:"type"`
			Thinking  string `json:"thinking"`
			Signature string `json:"signature"`
		}{b.kind, b.text.String(), b.signature}), nil
	case "tool_use":
		return marshalled(struct {
			Type   string          `json:"type"`
			ID     string          `json:"id"`
			Name   string          `json:"name"`
			Input  json.RawMessage `json:"input"`
			Caller caller          `json:"caller"`
		}{b.kind, b.id, b.name, inputOf(b.text.String()), caller{"direct"}}), nil
	}
	return marshalled(textBlock{b.kind, b.text.String()}), nil
}

// Answer makes a message of the pieces of a chat completion, in the order in which they come. As a stream it makes
// events, which Events takes; otherwise the message, which Whole returns.
type Answer struct {
	request *Request
	stream  bool
	events  []byte
	blocks  []*block
	open    int      // the index of the block whose events are under way; -1: none
	waiting []*block // begun while a call was under way: a stream's blocks follow one another
	calls   map[int]*block
	field   string // of the thought under way
	hidden  strings.Builder
	finish  string
	refused bool
	usage   Usage
	id      string
	newID   func() string
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// NewAnswer begins an answer to a request. newID makes an id for a call that the provider gave none.
func NewAnswer(q *Request, id string, newID func() string) *Answer {
	return &Answer{
		request: q,
		stream:  q.Stream,
		open:    -1,
		calls:   map[int]*block{},
		id:      id,
		newID:   newID,
	}
}

// Events returns the events since the last time. The next call reuses their memory.
func (a *Answer) Events() []byte {
	events := a.events
	a.events = a.events[:0]
	return events
}

// event writes an event. Its name is the type in its data.
func (a *Answer) event(name string, data any) {
	a.events = fmt.Appendf(a.events, "event: %s\ndata: %s\n\n", name, marshalled(data))
}

// Ping is the event that says that the answer still comes.
const Ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n"

// Begin writes the first events of a stream.
func (a *Answer) Begin() {
	m := a.message()
	m.StopReason, m.StopDetails = nil, nil
	a.event("message_start", struct {
		Type    string  `json:"type"`
		Message message `json:"message"`
	}{"message_start", m})
	a.events = append(a.events, Ping...)
}

func (a *Answer) message() message {
	m := message{
		ID:      a.id,
		Type:    "message",
		Role:    "assistant",
		Model:   a.request.Model,
		Content: []block{},
		Usage:   wholeUsage{Usage: a.usage},
	}
	m.StopReason = new(a.reason())
	m.StopDetails = detailsOf(*m.StopReason)
	return m
}

// Text takes a piece of text, or of a refusal.
func (a *Answer) Text(text string) {
	if text == "" {
		return
	}
	a.write(a.current("text"), text)
}

// Refusal takes a piece of the text by which the model refuses.
func (a *Answer) Refusal(text string) {
	a.refused = true
	a.Text(text)
}

// Thought takes a piece of what the model thought, and the field in which it came. It is left out where the request
// asks for none.
func (a *Answer) Thought(field, text string) {
	if text == "" || a.request.Thinking == ThinkingOff {
		return
	}
	b := a.current("thinking")
	if b.signature == "" {
		b.signature = signature(field, "")
		a.field = field
	}
	if a.request.Thinking == ThinkingOmitted {
		a.hidden.WriteString(text)
		return
	}
	a.write(b, text)
}

// Call takes the beginning of the call of a tool.
func (a *Answer) Call(place int, id, name string) {
	if id == "" {
		id = a.newID()
	}
	b := &block{kind: "tool_use", id: id, name: name}
	a.calls[place] = b
	a.begin(b)
}

// Arguments takes a piece of the arguments of a call.
func (a *Answer) Arguments(place int, text string) {
	if b := a.calls[place]; b != nil && text != "" {
		a.write(b, text)
	}
}

// Finish takes the reason for which the answer ended.
func (a *Answer) Finish(reason string) { a.finish = reason }

// Count takes the usage.
func (a *Answer) Count(u Usage) { a.usage = u }

// current is the block that a piece of text or thought belongs to: the last one that began, if it is of this kind.
func (a *Answer) current(kind string) *block {
	last := a.last()
	if last == nil || last.kind != kind {
		last = &block{kind: kind}
		a.begin(last)
	}
	return last
}

func (a *Answer) last() *block {
	if n := len(a.waiting); n > 0 {
		return a.waiting[n-1]
	}
	if n := len(a.blocks); n > 0 {
		return a.blocks[n-1]
	}
	return nil
}

// begin begins a block. While a call is under way it waits, because pieces of that call may still come.
func (a *Answer) begin(b *block) {
	if a.open >= 0 && a.blocks[a.open].kind == "tool_use" {
		a.waiting = append(a.waiting, b)
		return
	}
	a.closeOpen()
	a.start(b)
}

func (a *Answer) start(b *block) {
	a.blocks = append(a.blocks, b)
	a.open = len(a.blocks) - 1
	if !a.stream {
		return
	}
	a.event("content_block_start", struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
		Block any    `json:"content_block"`
	}{"content_block_start", a.open, b.first()})
}

// first is a block as it stands before its first piece.
func (b *block) first() any {
	if b.kind == "thinking" {
		return &block{kind: b.kind}
	}
	return &block{kind: b.kind, id: b.id, name: b.name}
}

// write adds a piece to a block.
func (a *Answer) write(b *block, text string) {
	b.text.WriteString(text)
	if a.open >= 0 && a.blocks[a.open] == b {
		a.delta(b, text)
	}
}

func (a *Answer) delta(b *block, text string) {
	if !a.stream {
		return
	}
	delta := ""
	switch b.kind {
	case "text":
		delta = `{"type":"text_delta","text":`
	case "thinking":
		delta = `{"type":"thinking_delta","thinking":`
	case "tool_use":
		delta = `{"type":"input_json_delta","partial_json":`
	}
	// a stream consists of such events: they are written without reflection
	out := append(a.events, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	out = append(strconv.AppendInt(out, int64(a.open), 10), `,"delta":`...)
	out = jsonscan.AppendQuoted(append(out, delta...), text)
	a.events = append(out, "}}\n\n"...)
}

// change writes a change of the open block.
func (a *Answer) change(delta any) {
	if !a.stream {
		return
	}
	a.event("content_block_delta", struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
		Delta any    `json:"delta"`
	}{"content_block_delta", a.open, delta})
}

// closeOpen ends the block under way.
func (a *Answer) closeOpen() {
	if a.open < 0 {
		return
	}
	b := a.blocks[a.open]
	if b.kind == "thinking" {
		if hidden := a.hidden.String(); hidden != "" {
			b.signature = signature(a.field, hidden)
			a.hidden.Reset()
		}
		a.change(struct {
			Type      string `json:"type"`
			Signature string `json:"signature"`
		}{"signature_delta", b.signature})
	}
	if a.stream {
		a.event("content_block_stop", struct {
			Type  string `json:"type"`
			Index int    `json:"index"`
		}{"content_block_stop", a.open})
	}
	a.open = -1
}

// closeAll ends the block under way, and writes those that waited for it.
func (a *Answer) closeAll() {
	a.closeOpen()
	waiting := a.waiting
	a.waiting = nil
	for _, b := range waiting {
		a.start(b)
		if text := b.text.String(); text != "" {
			a.delta(b, text)
		}
		a.closeOpen()
	}
}

// reason is why the answer ended. A chat completion does not tell whether one of the stop sequences ended it: then
// it is end_turn.
func (a *Answer) reason() string {
	switch {
	case len(a.calls) > 0 && a.finish != "length" && a.finish != "content_filter":
		return "tool_use"
	case a.finish == "length":
		return "max_tokens"
	case a.finish == "content_filter" || a.refused:
		return "refusal"
	}
	return "end_turn"
}

// End writes the last events of a stream.
func (a *Answer) End() {
	a.closeAll()
	m := a.message()
	type delta struct {
		StopReason  *string      `json:"stop_reason"`
		StopText    absent       `json:"stop_sequence"`
		StopDetails *stopDetails `json:"stop_details"`
		Container   absent       `json:"container"`
	}
	a.event("message_delta", struct {
		Type  string `json:"type"`
		Delta delta  `json:"delta"`
		Usage Usage  `json:"usage"`
	}{"message_delta", delta{StopReason: m.StopReason, StopDetails: m.StopDetails}, a.usage})
	a.events = append(a.events, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
}

// Whole is the answer in one piece.
func (a *Answer) Whole() []byte {
	a.closeAll()
	m := struct {
		message
		Content []*block `json:"content"`
	}{a.message(), a.blocks}
	if m.Content == nil {
		m.Content = []*block{}
	}
	return marshalled(m)
}
