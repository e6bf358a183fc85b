package openaigw

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/sashabaranov/go-openai"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
	"github.com/seed-56a03226/oneiros/internal/psyche/jsonscan"
)

// teeLimit bounds how much of a plain response is kept to find its usage.
const teeLimit = 4 << 20

// tee passes a body on and reads its usage. What it cannot parse it passes on all the same. The events of a piece are
// parsed when the next one is waited for: by then the piece is with its reader.
type tee struct {
	client *exchange.Client
	ctx    context.Context
	body   io.ReadCloser
	status int
	sent   int

	mu         sync.Mutex
	native     nativeReader // nil: the answer is a chat completion
	events     exchange.Events
	plain      []byte
	detected   bool
	isJSON     bool
	unreadable bool // the rest cannot be parsed
	usage      *openai.Usage
	pieces     int64
	finish     string
	ended      bool
}

// Read passes bytes on unchanged. A broken connection becomes an inference.Failure.
func (t *tee) Read(p []byte) (int, error) {
	t.mu.Lock()
	t.drain()
	t.mu.Unlock()
	n, err := t.body.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.observe(p[:n])
	switch {
	case errors.Is(err, io.EOF):
		t.end()
		return n, io.EOF
	case err != nil:
		return n, t.client.Lost(t.ctx, err, true)
	}
	return n, nil
}

// Close closes the provider's stream.
func (t *tee) Close() error { return t.body.Close() }

func (t *tee) observe(p []byte) {
	if t.unreadable {
		return
	}
	if !t.detected {
		p = bytes.TrimLeft(p, " \t\r\n")
		if len(p) == 0 {
			return
		}
		t.detected, t.isJSON = true, p[0] == '{'
		t.events.Limit = exchange.EventLimit
	}
	if t.isJSON {
		t.unreadable = len(t.plain)+len(p) > teeLimit
		t.plain = append(t.plain, p...)
		return
	}
	t.unreadable = t.events.Push(p) != nil
}

func (t *tee) drain() {
	if t.unreadable {
		return
	}
	for data, ok := t.events.Pop(); ok; data, ok = t.events.Pop() {
		t.add(data)
	}
}

// add reads an event. It finds the few members that count and builds nothing: a stream has many events, and would keep
// the stack that parsing a whole one takes.
func (t *tee) add(data []byte) {
	if t.native != nil {
		t.native.event(data)
		return
	}
	var choices, usage []byte
	err := jsonscan.Members(data, func(key, value []byte) error {
		switch string(key) {
		case `"choices"`:
			choices = value
		case `"usage"`:
			usage = value
		}
		return nil
	})
	if err != nil {
		return
	}
	if len(usage) > 0 && usage[0] == '{' {
		u := new(openai.Usage)
		if json.Unmarshal(usage, u) == nil {
			t.usage = u
		}
	}
	if len(choices) == 0 || choices[0] != '[' {
		return
	}
	s := &jsonscan.Scanner{Body: choices}
	_ = s.Array(func() error { // it was scanned before
		each, err := s.Value()
		t.addChoice(each.Of(choices))
		return err
	})
}

// addChoice counts a piece that says something, and notes why an answer has ended.
func (t *tee) addChoice(raw []byte) {
	var delta, finish []byte
	_ = jsonscan.Members(raw, func(key, value []byte) error { // it was scanned before
		switch string(key) {
		case `"delta"`:
			delta = value
		case `"finish_reason"`:
			finish = value
		}
		return nil
	})
	says := false
	_ = jsonscan.Members(delta, func(key, value []byte) error { // where there is one, it was scanned before
		switch string(key) {
		case `"content"`, `"refusal"`, `"reasoning"`, `"reasoning_content"`:
			says = says || value[0] == '"' && len(value) > len(`""`)
		}
		return nil
	})
	if says {
		t.pieces++
	}
	if reason := jsonscan.Unquoted(finish); reason != "" && reason != string(openai.FinishReasonNull) {
		t.finish = reason
	}
}

func (t *tee) end() {
	if t.ended {
		return
	}
	t.ended = true
	if t.isJSON && !t.unreadable && t.native != nil {
		t.native.whole(t.plain)
		t.plain = nil
		return
	}
	if t.isJSON && !t.unreadable {
		var h chunkBody
		if json.Unmarshal(t.plain, &h) == nil {
			t.take(&h)
		}
		t.plain = nil
		return
	}
	if t.detected && !t.unreadable {
		t.events.End()
		t.drain()
	}
}

func (t *tee) take(h *chunkBody) {
	if h.Usage != nil {
		t.usage = h.Usage
	}
	for i := range h.Choices {
		c := &h.Choices[i]
		if c.Delta.Content != "" || c.Text != "" || c.Delta.hidden() {
			t.pieces++
		}
		if c.Finish != "" && c.Finish != openai.FinishReasonNull {
			t.finish = string(c.Finish)
		}
	}
}

func (t *tee) seen() inference.RelayObserved {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drain()
	if t.native != nil {
		return t.seenNative()
	}
	o := inference.RelayObserved{Pieces: t.pieces, Finish: t.finish, Ended: t.ended, UsageFrom: inference.ByCount}
	o.Tokens = exchange.Counted(t.sent, int(t.pieces))
	if tokens, ok := reported(t.usage); ok && t.ended && t.status/100 == 2 {
		tokens.Out = max(tokens.Out, t.pieces)
		o.Tokens, o.UsageFrom = tokens, inference.ByProvider
	}
	return o
}

// seenNative is seen of an answer that is no chat completion. Its caller holds the lock.
func (t *tee) seenNative() inference.RelayObserved {
	tokens, pieces, finish, final := t.native.seen()
	o := inference.RelayObserved{Pieces: pieces, Finish: finish, Ended: t.ended, UsageFrom: inference.ByCount}
	o.Tokens = exchange.Counted(t.sent, int(pieces))
	if final && t.ended && t.status/100 == 2 {
		tokens.Out = max(tokens.Out, pieces)
		o.Tokens, o.UsageFrom = tokens, inference.ByProvider
	}
	return o
}
