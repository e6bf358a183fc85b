package messages

import (
	"encoding/json"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonobject"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// Usage counts the tokens of an answer, as Anthropic divides them.
type Usage struct {
	Input       int64 // of the prompt, without those read from a cache or written to it
	CacheWrites int64
	CacheReads  int64
	Output      int64  // thoughts included
	Thoughts    *int64 // nil: the provider did not count them
}

// write writes the members of a usage. Null are those that every answer of this wire has, and for which a chat
// completion has nothing.
func (u *Usage) write(w *jsonscan.Writer) {
	w.Number("input_tokens", u.Input)
	w.Number("cache_creation_input_tokens", u.CacheWrites)
	w.Number("cache_read_input_tokens", u.CacheReads)
	w.Number("output_tokens", u.Output)
	if u.Thoughts == nil {
		w.Null("output_tokens_details")
	} else {
		w.Object("output_tokens_details")
		w.Number("thinking_tokens", *u.Thoughts)
		w.End()
	}
	w.Null("server_tool_use")
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
	return Usage{
		Input:       max(0, u.Prompt-u.Details.Cached-u.Details.Writes),
		CacheWrites: u.Details.Writes,
		CacheReads:  u.Details.Cached,
		Output:      u.Completion,
		Thoughts:    u.Answer.Reasoning,
	}
}

// block is a block of an answer: its members depend on its type.
type block struct {
	kind      string // text, thinking or tool_use
	text      strings.Builder
	signature string
	field     string          // of a thought
	hidden    strings.Builder // the text of a thought that is not shown
	id, name  string
}

// write writes a block. begins leaves out what pieces bring later.
func (b *block) write(w *jsonscan.Writer, begins bool) {
	text, signature := b.text.String(), b.signature
	if begins {
		text, signature = "", ""
	}
	w.Begin()
	w.Text("type", b.kind)
	switch b.kind {
	case "thinking":
		w.Text("thinking", text)
		w.Text("signature", signature)
	case "tool_use":
		w.Text("id", b.id)
		w.Text("name", b.name)
		w.Raw("input", []byte(jsonobject.Compact(inputOf(text))))
		w.Object("caller") // the model itself
		w.Text("type", "direct")
		w.End()
	default:
		w.Text("text", text)
	}
	w.End()
}

// Answer makes a message of the pieces of a chat completion, in the order in which they come. As a stream it makes
// events, which Events takes; otherwise the message, which Whole returns.
type Answer struct {
	request *Request
	stream  bool
	events  jsonscan.Writer
	blocks  []*block
	open    int      // the index of the block whose events are under way; -1: none
	waiting []*block // begun while a call was under way: a stream's blocks follow one another
	calls   map[int]*block
	proof   callProof // what no block has carried yet
	finish  string
	refused bool
	usage   Usage
	id      string
	newID   func() string
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
	events := a.events.Buf
	a.events.Buf = a.events.Buf[:0]
	return events
}

// event writes an event, if the answer is a stream. Its name is the type in its data; members writes the other members.
func (a *Answer) event(name string, members func(w *jsonscan.Writer)) {
	if !a.stream {
		return
	}
	w := &a.events
	w.Buf = append(append(append(w.Buf, "event: "...), name...), "\ndata: "...)
	w.Begin()
	w.Text("type", name)
	members(w)
	w.End()
	w.Buf = append(w.Buf, "\n\n"...)
}

// Ping is the event that says that the answer still comes.
const Ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n"

// Begin writes the first events of a stream.
func (a *Answer) Begin() {
	a.event("message_start", func(w *jsonscan.Writer) {
		w.Object("message")
		a.head(w)
		w.List("content", 0, nil)
		w.Null("stop_reason")
		w.Null("stop_sequence")
		w.Null("stop_details")
		a.rest(w)
		w.End()
	})
	a.events.Buf = append(a.events.Buf, Ping...)
}

// head writes the members of the message that begin it.
func (a *Answer) head(w *jsonscan.Writer) {
	w.Text("id", a.id)
	w.Text("type", "message")
	w.Text("role", "assistant")
	w.Text("model", a.request.Model)
}

// stop writes why the answer ended.
func (a *Answer) stop(w *jsonscan.Writer) {
	reason := a.reason()
	w.Text("stop_reason", reason)
	w.Null("stop_sequence") // a chat completion does not name it
	if reason != "refusal" {
		w.Null("stop_details")
		return
	}
	w.Object("stop_details")
	w.Text("type", reason)
	w.Null("category")
	w.Null("explanation")
	w.End()
}

// rest writes the members of the message that follow why it ended.
func (a *Answer) rest(w *jsonscan.Writer) {
	w.Null("container")
	w.Null("diagnostics")
	w.Object("usage")
	a.usage.write(w)
	for _, name := range []string{"cache_creation", "inference_geo", "service_tier", "speed"} {
		w.Null(name)
	}
	w.End()
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
		b.signature, b.field = signature(field, ""), field
	}
	if a.request.Thinking == ThinkingOmitted {
		b.hidden.WriteString(text)
		return
	}
	a.write(b, text)
}

// Proof takes a member of the answer that proves what the model thought, or holds it in a form of the provider's own.
func (a *Answer) Proof(field string, raw json.RawMessage) { a.proof.add(field, raw) }

// prove begins a block that carries the proof: the provider wants it back with the results of the calls, also where the
// request asks for no thoughts.
func (a *Answer) prove() {
	if text := string(jsonobject.Marshalled(a.proof)); text != "{}" {
		a.begin(&block{kind: "thinking", signature: signature(proven, text)})
	}
	a.proof = callProof{}
}

// Call takes the beginning of the call of a tool. extra is what the provider wants back with it; nil: nothing.
func (a *Answer) Call(place int, id, name string, extra json.RawMessage) {
	if id == "" {
		id = a.newID()
	}
	if extra != nil {
		a.proof.Calls = map[string]json.RawMessage{id: extra}
	}
	a.prove()
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
	a.event("content_block_start", func(w *jsonscan.Writer) {
		w.Number("index", int64(a.open))
		w.Name("content_block")
		b.write(w, true)
	})
}

// write adds a piece to a block.
func (a *Answer) write(b *block, text string) {
	b.text.WriteString(text)
	if a.open >= 0 && a.blocks[a.open] == b {
		a.delta(b, text)
	}
}

func (a *Answer) delta(b *block, text string) {
	switch b.kind {
	case "text":
		a.change("text_delta", "text", text)
	case "thinking":
		a.change("thinking_delta", "thinking", text)
	case "tool_use":
		a.change("input_json_delta", "partial_json", text)
	}
}

// change writes a change of the open block, which has one text.
func (a *Answer) change(kind, member, text string) {
	a.event("content_block_delta", func(w *jsonscan.Writer) {
		w.Number("index", int64(a.open))
		w.Object("delta")
		w.Text("type", kind)
		w.Text(member, text)
		w.End()
	})
}

// closeOpen ends the block under way.
func (a *Answer) closeOpen() {
	if a.open < 0 {
		return
	}
	b := a.blocks[a.open]
	if b.kind == "thinking" {
		if hidden := b.hidden.String(); hidden != "" {
			b.signature = signature(b.field, hidden)
		}
		a.change("signature_delta", "signature", b.signature)
	}
	a.event("content_block_stop", func(w *jsonscan.Writer) { w.Number("index", int64(a.open)) })
	a.open = -1
}

// closeAll ends the block under way, and writes those that waited for it.
func (a *Answer) closeAll() {
	if len(a.calls) > 0 {
		a.prove()
	}
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
	a.event("message_delta", func(w *jsonscan.Writer) {
		w.Object("delta")
		a.stop(w)
		w.Null("container")
		w.End()
		w.Object("usage")
		a.usage.write(w)
		w.End()
	})
	a.event("message_stop", func(*jsonscan.Writer) {})
}

// Whole is the answer in one piece.
func (a *Answer) Whole() []byte {
	a.closeAll()
	var w jsonscan.Writer
	w.Begin()
	a.head(&w)
	a.stop(&w)
	a.rest(&w)
	w.List("content", len(a.blocks), func(i int) { a.blocks[i].write(&w, false) })
	w.End()
	return w.Buf
}
