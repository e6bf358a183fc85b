// Package completion reads the answer to a chat completion, in one piece or as a stream, as the pieces that other wires
// are made of.
package completion

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// Kind is what a piece is.
type Kind string

// The kinds of pieces. Each says which fields of a piece it sets.
const (
	Head       Kind = "head"      // Raw: the first event or the whole answer, once and first: id, model, created, service_tier
	Text       Kind = "text"      // Text
	Refusal    Kind = "refusal"   // Text
	Reasoning  Kind = "reasoning" // Text, Field
	Call       Kind = "call"      // Place, ID, Name, Custom, Raw: a tool's call begins
	Arguments  Kind = "arguments" // Place, Text: of the call of that place
	Thought    Kind = "thought"   // Field, Raw: a member that holds thoughts, or proves them, in a form of the provider's own
	Other      Kind = "other"     // Field, Raw: a member of a message that has no kind of its own
	LogProbs   Kind = "logprobs"  // Raw: of the choice
	Finish     Kind = "finish"    // Text: the reason, such as "stop", "length", "tool_calls" or "content_filter"
	UsageCount Kind = "usage"     // Raw: the usage as the provider wrote it
	Failure    Kind = "error"     // Raw: the member "error" of an event
)

// Piece is one part of an answer.
type Piece struct {
	Kind     Kind
	Text     string
	Field    string // the name of the member that held it, such as "reasoning_content"
	Place    int    // of a call in the answer, from 0
	ID, Name string
	Custom   bool            // a call of a custom tool, whose arguments are plain text
	Raw      json.RawMessage // of a call: what the provider wants back with it; nil: nothing
}

// longest is the most bytes of one event, or of an answer in one piece.
const longest = 32 << 20

// ErrTooLong is an event, or an answer in one piece, that is longer than this server reads.
var ErrTooLong = fmt.Errorf("the answer has an event of more than %d bytes", longest)

// Reader reads one answer. Of several choices it reads the first.
type Reader struct {
	from   io.Reader
	stream bool

	buf   []byte // the memory of wait
	wait  []byte // bytes that were read and not taken
	data  []byte // data lines of an event that is not complete
	err   error
	begun bool
	done  bool // [DONE] passed, or the one piece was read
	calls []call
	event bool // the event being read is called "error"
}

// call is a call that began.
type call struct {
	index int // as the provider counts
	id    string
}

// New reads an answer. A stream is one of events, as psyche.EventStream says.
func New(from io.Reader, stream bool) *Reader { return &Reader{from: from, stream: stream} }

// Next returns the pieces of the next event, which may be none. io.EOF after the last; any other error is what the
// answer broke off with, and what came before it was returned.
func (r *Reader) Next() ([]Piece, error) {
	if !r.stream {
		return r.whole()
	}
	for {
		for {
			line, found := r.line()
			if !found {
				break
			}
			if pieces, complete, err := r.take(line); complete || err != nil {
				return pieces, err
			}
		}
		if r.err != nil {
			return nil, r.err
		}
		r.fill()
	}
}

// Waits reports whether a further line of data was received whole already, so that what was read need not be sent on by
// itself.
func (r *Reader) Waits() bool {
	_, after, found := bytes.Cut(r.wait, []byte("data:"))
	return found && bytes.IndexByte(after, '\n') >= 0
}

func (r *Reader) whole() ([]Piece, error) {
	if r.done {
		return nil, io.EOF
	}
	r.done = true
	raw, err := io.ReadAll(io.LimitReader(r.from, longest+1))
	if err == nil && len(raw) > longest {
		err = ErrTooLong
	}
	if err != nil {
		return nil, err
	}
	e, err := readEvent(raw)
	if err != nil {
		return nil, err
	}
	return r.pieces(raw, e)
}

// fill reads more.
func (r *Reader) fill() {
	const each = 4 << 10
	if len(r.buf)-len(r.wait) < each/2 {
		grown := make([]byte, 2*len(r.wait)+each)
		copy(grown, r.wait)
		r.buf = grown
	} else {
		copy(r.buf, r.wait)
	}
	begun := len(r.wait)
	n, err := r.from.Read(r.buf[begun:])
	r.wait = r.buf[:begun+n]
	switch {
	case errors.Is(err, io.EOF):
		r.err = io.EOF
		r.wait = append(r.wait, "\n\n"...) // a last line without its end counts
	case err != nil:
		r.err = err
	case len(r.wait)+len(r.data) > longest:
		r.err, r.wait = ErrTooLong, nil
	}
}

// line takes the next whole line, without its end: \n, \r\n or \r.
func (r *Reader) line() ([]byte, bool) {
	at := bytes.IndexAny(r.wait, "\r\n")
	if at < 0 || r.wait[at] == '\r' && at+1 == len(r.wait) && r.err == nil {
		return nil, false
	}
	line, after := r.wait[:at], at+1
	if r.wait[at] == '\r' && after < len(r.wait) && r.wait[after] == '\n' {
		after++
	}
	r.wait = r.wait[after:]
	return line, true
}

// take takes a line. An event is complete as soon as its data is one JSON value, because some servers send no empty
// line between two.
func (r *Reader) take(line []byte) (pieces []Piece, complete bool, err error) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case len(line) == 0 && len(r.data) > 0:
		err = fmt.Errorf("the stream has an event that is no JSON: %w", json.Unmarshal(r.data, new(any)))
		r.data = nil
		return nil, true, err
	case len(line) == 0:
		r.event = false
		return nil, false, nil
	case string(name) == "event":
		r.event = string(value) == "error"
		return nil, false, nil
	case string(name) != "data":
		return nil, false, nil
	}
	if string(bytes.TrimSpace(value)) == "[DONE]" {
		r.done = true
		return nil, false, nil
	}
	if len(r.data) > 0 {
		r.data = append(r.data, '\n')
	}
	r.data = append(r.data, value...)
	raw := bytes.Clone(r.data)
	e, err := readEvent(raw)
	if err != nil && !jsonscan.Valid(raw) {
		return nil, false, nil
	}
	r.data = r.data[:0]
	if err == nil {
		pieces, err = r.pieces(raw, e)
	}
	return pieces, true, err
}

// Done reports whether the provider marked the stream as ended by [DONE].
func (r *Reader) Done() bool { return r.done }

// members finds members of an object by their names; those that it does not have, or that are null, are nil.
func members(raw []byte, names ...string) ([]json.RawMessage, error) {
	values := make([]json.RawMessage, len(names))
	err := jsonscan.Members(raw, func(key, value []byte) error {
		if at := slices.Index(names, string(key[1:len(key)-1])); at >= 0 && given(value) {
			values[at] = value
		}
		return nil
	})
	return values, err
}

// event has the members that are read of an event, or of an answer in one piece.
type event struct {
	failure, usage json.RawMessage
	choices        []json.RawMessage
}

func readEvent(raw []byte) (e event, err error) {
	a, err := members(raw, "error", "choices", "usage")
	if err == nil && a[1] != nil {
		e.choices, err = jsonscan.Elements(a[1])
	}
	if err != nil {
		return e, fmt.Errorf("the answer is no chat completion: %w", err)
	}
	e.failure, e.usage = a[0], a[2]
	return e, nil
}

// pieces are what an event says, or an answer in one piece.
func (r *Reader) pieces(raw []byte, e event) ([]Piece, error) {
	var pieces []Piece
	var err error
	if e.failure != nil {
		return append(pieces, Piece{Kind: Failure, Raw: e.failure}), nil
	}
	if r.event {
		return append(pieces, Piece{Kind: Failure, Raw: raw}), nil
	}
	if !r.begun {
		r.begun = true
		pieces = append(pieces, Piece{Kind: Head, Raw: raw})
	}
	for _, each := range e.choices {
		pieces, err = r.choice(pieces, each)
		if err != nil {
			return pieces, err
		}
	}
	if e.usage != nil {
		pieces = append(pieces, Piece{Kind: UsageCount, Raw: e.usage})
	}
	return pieces, nil
}

// choice reads a choice, unless it is another than the first.
func (r *Reader) choice(pieces []Piece, raw []byte) ([]Piece, error) {
	c, err := members(raw, "index", "delta", "message", "logprobs", "finish_reason")
	if err != nil {
		return pieces, fmt.Errorf("the answer has a choice that is no object: %w", err)
	}
	index, delta, message := c[0], c[1], c[2]
	logProbs, finish := c[3], c[4]
	if index != nil && string(index) != "0" {
		return pieces, nil
	}
	pieces, err = r.message(pieces, delta, false)
	if err == nil {
		pieces, err = r.message(pieces, message, true)
	}
	if err != nil {
		return pieces, err
	}
	if logProbs != nil {
		pieces = append(pieces, Piece{Kind: LogProbs, Raw: logProbs})
	}
	if reason := jsonscan.Unquoted(finish); reason != "" {
		pieces = append(pieces, Piece{Kind: Finish, Text: reason})
	}
	return pieces, nil
}

func given(raw []byte) bool { return len(raw) > 0 && string(raw) != "null" }

// thoughts are the members of messages in which providers send thoughts. Those that are no text, and the signatures that
// prove them, are pieces of the kind Thought.
var thoughts = map[string]bool{
	"reasoning_content": true, "reasoning": true, "reasoning_details": true, "reasoning_text": true, "thinking": true,
	"thinking_blocks": true, "thought_signature": true,
}

// message reads a message, whole or a piece of one. Reasoning comes first, then text, then calls: a message in one piece
// has its members in no order.
func (r *Reader) message(pieces []Piece, raw json.RawMessage, whole bool) ([]Piece, error) {
	if !given(raw) {
		return pieces, nil
	}
	var text, calls []member
	var own []Piece
	thought := ""
	err := jsonscan.Members(raw, func(key, value []byte) error {
		m := member{jsonscan.Unquoted(key), value}
		if !given(value) {
			return nil
		}
		switch {
		case m.name == "tool_calls" || m.name == "function_call":
			calls = append(calls, m)
		case (m.name == "reasoning_content" || m.name == "reasoning") && value[0] == '"':
			text := jsonscan.Unquoted(value)
			if text != "" && text != thought { // some servers send the same under both names
				thought = text
				pieces = append(pieces, Piece{Kind: Reasoning, Field: m.name, Text: text})
			}
		case thoughts[m.name]:
			own = append(own, Piece{Kind: Thought, Field: m.name, Raw: m.value})
		default:
			text = append(text, m)
		}
		return nil
	})
	if err != nil {
		return pieces, fmt.Errorf("the answer has a message that is no object: %w", err)
	}
	pieces = append(pieces, own...)
	for _, m := range text {
		switch m.name {
		case "role":
		case "content":
			pieces = content(pieces, m.value)
		case "refusal":
			if text := jsonscan.Unquoted(m.value); text != "" {
				pieces = append(pieces, Piece{Kind: Refusal, Text: text})
			}
		default:
			pieces = append(pieces, Piece{Kind: Other, Field: m.name, Raw: m.value})
		}
	}
	for _, m := range calls {
		pieces, err = r.callsOf(pieces, m, whole)
		if err != nil {
			return pieces, err
		}
	}
	return pieces, nil
}

// callsOf reads the calls of a message.
func (r *Reader) callsOf(pieces []Piece, m member, whole bool) ([]Piece, error) {
	if m.name == "function_call" {
		c := toolCall{Index: new(int)}
		if err := json.Unmarshal(m.value, &c.Function); err != nil {
			return pieces, fmt.Errorf("the answer has a function_call that is no call: %w", err)
		}
		return r.call(pieces, c), nil
	}
	var list []toolCall
	if err := json.Unmarshal(m.value, &list); err != nil {
		return pieces, fmt.Errorf("the answer has tool_calls that are no list of calls: %w", err)
	}
	for i, c := range list {
		if whole {
			c.Index = &i
		}
		pieces = r.call(pieces, c)
	}
	return pieces, nil
}

type member struct {
	name  string
	value json.RawMessage
}

// content reads the text of a message: a string, or a list of parts as some providers send it, of which a part of the
// type "thinking" holds thoughts.
func content(pieces []Piece, raw json.RawMessage) []Piece {
	if raw[0] == '"' {
		if text := jsonscan.Unquoted(raw); text != "" {
			pieces = append(pieces, Piece{Kind: Text, Text: text})
		}
		return pieces
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return append(pieces, Piece{Kind: Other, Field: "content", Raw: raw})
	}
	for _, each := range parts {
		var p struct {
			Type     string            `json:"type"`
			Text     string            `json:"text"`
			Refusal  string            `json:"refusal"`
			Thinking []json.RawMessage `json:"thinking"`
		}
		switch err := json.Unmarshal(each, &p); {
		case err == nil && p.Type == "text":
			pieces = append(pieces, Piece{Kind: Text, Text: p.Text})
		case err == nil && p.Type == "refusal":
			pieces = append(pieces, Piece{Kind: Refusal, Text: p.Refusal})
		case err == nil && p.Type == "thinking" && len(p.Thinking) > 0:
			for _, thought := range p.Thinking {
				var t struct {
					Text string `json:"text"`
				}
				if json.Unmarshal(thought, &t) == nil && t.Text != "" {
					pieces = append(pieces, Piece{Kind: Reasoning, Field: "thinking", Text: t.Text})
				}
			}
		default:
			pieces = append(pieces, Piece{Kind: Other, Field: "content", Raw: each})
		}
	}
	return pieces
}

type toolCall struct {
	Index    *int            `json:"index"`
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Extra    json.RawMessage `json:"extra_content"` // where Google proves the thoughts before a call
	Function function        `json:"function"`
	Custom   struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom"`
}

type function struct {
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`
}

// arguments are JSON text, which some servers send as an object instead.
type arguments string

// UnmarshalJSON takes a string, or the text of any other value.
func (a *arguments) UnmarshalJSON(raw []byte) error {
	switch {
	case string(raw) == "null":
	case raw[0] == '"':
		*a = arguments(jsonscan.Unquoted(raw))
	default:
		*a = arguments(raw)
	}
	return nil
}

// call reads a call, or a piece of one.
func (r *Reader) call(pieces []Piece, c toolCall) []Piece {
	place, begins := r.place(c)
	custom := c.Type == "custom" || c.Custom.Name != ""
	if begins {
		name := c.Function.Name
		if custom {
			name = c.Custom.Name
		}
		extra := c.Extra
		if !given(extra) {
			extra = nil
		}
		pieces = append(pieces, Piece{
			Kind:   Call,
			Place:  place,
			ID:     c.ID,
			Name:   name,
			Custom: custom,
			Raw:    extra,
		})
	}
	text := string(c.Function.Arguments) + c.Custom.Input
	if text != "" {
		pieces = append(pieces, Piece{Kind: Arguments, Place: place, Text: text})
	}
	return pieces
}

// place finds the call that a piece belongs to, or begins one. Some providers send whole calls without an index, each
// with its id; others repeat the index 0 with a new id.
func (r *Reader) place(c toolCall) (place int, begins bool) {
	index := len(r.calls)
	if c.Index != nil {
		index = *c.Index
	}
	for i := len(r.calls) - 1; i >= 0; i-- {
		begun := r.calls[i]
		if sameID := c.ID == "" || c.ID == begun.id; sameID && (c.Index == nil || begun.index == index) {
			return i, false
		}
	}
	r.calls = append(r.calls, call{index, c.ID})
	return len(r.calls) - 1, true
}
