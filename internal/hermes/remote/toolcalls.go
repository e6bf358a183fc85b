package remote

import (
	"fmt"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// mostCalls is how many tools one answer may call.
const mostCalls = 128

// toolCalls assembles the tool calls of an answer from the pieces of its stream.
type toolCalls struct {
	calls []*partialCall
}

type partialCall struct {
	index     int // as the server numbers it; -1 where it does not
	id, name  string
	arguments strings.Builder
}

// add takes one piece. Servers differ: most number the calls and give id and name once, with the arguments in
// fragments; some give no number, some repeat id or name, some send a call at once.
func (t *toolCalls) add(piece openai.ToolCall) {
	call := t.find(piece)
	if call == nil {
		if len(t.calls) >= mostCalls {
			return
		}
		call = &partialCall{index: -1}
		if piece.Index != nil {
			call.index = *piece.Index
		}
		t.calls = append(t.calls, call)
	}
	if call.id == "" {
		call.id = piece.ID
	}
	if call.name == "" {
		call.name = piece.Function.Name
	}
	call.arguments.WriteString(piece.Function.Arguments)
}

// find is the call that a piece belongs to; nil for a new one.
func (t *toolCalls) find(piece openai.ToolCall) *partialCall {
	var last *partialCall
	if len(t.calls) > 0 {
		last = t.calls[len(t.calls)-1]
	}
	if piece.Index == nil {
		switch {
		case last == nil:
			return nil
		case piece.ID != "":
			return t.byID(piece.ID)
		case piece.Function.Name != "":
			return nil
		}
		return last
	}
	for i := len(t.calls) - 1; i >= 0; i-- {
		call := t.calls[i]
		if call.index != *piece.Index {
			continue
		}
		if piece.ID != "" && call.id != "" && piece.ID != call.id { // every call has the number 0
			return t.byID(piece.ID)
		}
		return call
	}
	return nil
}

func (t *toolCalls) byID(id string) *partialCall {
	for _, call := range t.calls {
		if call.id == id {
			return call
		}
	}
	return nil
}

// finished are the calls in the order in which they began. A call without an id, or with that of another, gets one.
func (t *toolCalls) finished() []message.Call {
	var calls []message.Call
	taken := map[string]bool{}
	for _, call := range t.calls {
		taken[call.id] = true
	}
	used := map[string]bool{"": true}
	for i, call := range t.calls {
		id := call.id
		for n := i + 1; used[id]; n++ {
			id = fmt.Sprintf("call_%d", n)
			if taken[id] {
				id = ""
			}
		}
		used[id] = true
		calls = append(calls, message.Call{ID: id, Name: call.name, Arguments: call.arguments.String()})
	}
	return calls
}
