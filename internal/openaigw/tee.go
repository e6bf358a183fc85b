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
	chunk      chunk
	choices    []choice
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

// chunk is the part of an event that is read.
type chunk struct {
	Choices []json.RawMessage `json:"choices"`
	Usage   *openai.Usage     `json:"usage"`
}

// add parses an event level by level: parsed in one go, it would take more stack than all else that a stream does,
// and a stream never gives its stack back.
func (t *tee) add(data []byte) {
	if t.native != nil {
		t.native.event(data)
		return
	}
	t.chunk = chunk{Choices: t.chunk.Choices[:0]}
	if json.Unmarshal(data, &t.chunk) != nil {
		return
	}
	h := chunkBody{Usage: t.chunk.Usage, Choices: t.choices[:0]}
	for _, raw := range t.chunk.Choices {
		h.Choices = append(h.Choices, choice{})
		if json.Unmarshal(raw, &h.Choices[len(h.Choices)-1]) != nil {
			return
		}
	}
	t.choices = h.Choices
	t.take(&h)
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
		if c.Delta.Content != "" || c.Delta.hidden() {
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
