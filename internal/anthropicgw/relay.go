package anthropicgw

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
	"github.com/seed-56a03226/oneiros/internal/wire/messages"
)

// Relay passes a body of Messages on unchanged, and its answer back. A chat completion is translated both ways; what
// Messages cannot say is a failure (BadRequest) that names it. Any other wire is refused.
func (g *Gateway) Relay(ctx context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	path, _, _ := strings.Cut(r.Path, "?")
	if r.Method == http.MethodPost && path == "/chat/completions" {
		return g.chat(ctx, r)
	}
	if !speaks(r.Method, path) {
		return nil, exchange.BadRequest(
			"provider %q speaks Anthropic's Messages, which has no %s; choose a model of another provider for it",
			g.Name(), path)
	}
	t, res, err := g.pass(ctx, r)
	if err != nil {
		return nil, err
	}
	return &inference.RelayResponse{Status: res.StatusCode, Header: res.Header, Body: t, Seen: t.seen}, nil
}

// pass passes a body on, and reads the usage of its answer.
func (g *Gateway) pass(ctx context.Context, r inference.RelayRequest) (*tee, *http.Response, error) {
	res, err := g.Client.Relay(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	return &tee{
		client: g.Client,
		ctx:    ctx,
		body:   res.Body,
		status: res.StatusCode,
		sent:   len(r.Body),
	}, res, nil
}

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
	events     exchange.Events
	plain      []byte
	detected   bool
	isJSON     bool
	unreadable bool // the rest cannot be parsed
	billed     messages.Billed
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
		var e messages.Event
		if json.Unmarshal(data, &e) == nil {
			t.take(&e)
		}
	}
}

func (t *tee) take(e *messages.Event) {
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			t.billed.Begin(e.Message.Usage)
		}
	case "content_block_delta":
		if e.Delta.Shown() != "" || e.Delta.Hidden() {
			t.pieces++
		}
	case "message_delta":
		t.billed.End(e.Usage)
		if e.Delta.StopReason != "" {
			t.finish = e.Delta.StopReason
		}
	}
}

func (t *tee) end() {
	if t.ended {
		return
	}
	t.ended = true
	if t.isJSON && !t.unreadable {
		var m messages.Received
		if json.Unmarshal(t.plain, &m) == nil {
			t.billed.End(m.Usage)
			t.finish = m.StopReason
		}
		t.plain = nil
		return
	}
	if t.detected && !t.unreadable {
		t.events.End()
		t.drain()
	}
}

func (t *tee) seen() inference.RelayObserved {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drain()
	o := inference.RelayObserved{Pieces: t.pieces, Finish: t.finish, Ended: t.ended, UsageFrom: inference.ByCount}
	o.Tokens = exchange.Counted(t.sent, int(t.pieces))
	tokens, final := t.billed.Tokens()
	if final && t.ended && t.status/100 == 2 {
		tokens.Out = max(tokens.Out, t.pieces)
		o.Tokens, o.UsageFrom, o.CacheWrites = tokens, inference.ByProvider, true
	}
	return o
}
