package anthropicgw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
	"github.com/seed-56a03226/oneiros/internal/wire/messages"
)

// usualMost is the maximum of tokens of an answer where neither the request nor the spend guard names one, as for a
// model that costs nothing.
const usualMost = 8192

// chat says a chat completion's request as Messages, and its answer as a chat completion.
func (g *Gateway) chat(ctx context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	spec, err := g.PricedModel(r.Model)
	if err != nil {
		return nil, err
	}
	most := int64(usualMost)
	if spec.Context > 0 {
		most = min(most, int64(spec.Context)/2)
	}
	q, err := messages.ReadChat(r.Body, messages.Model{
		Structured:     spec.JSON == inference.JSONSchema,
		Reasons:        spec.Reasoning,
		MaxTemperature: spec.MaxTemperature,
		MaxTokens:      most,
		Caches:         r.Caches,
	})
	if err != nil {
		return nil, exchange.BadRequest("%v", err)
	}
	r.Path, r.Body = "/messages", q.Body
	t, res, err := g.pass(ctx, r)
	if err != nil {
		return nil, err
	}
	kind := res.Header.Get("Content-Type")
	c := &chatBody{
		Relayed: t,
		client:  g.Client,
		answer:  messages.NewChatAnswer(q, g.now().Unix()),
		ok:      res.StatusCode/100 == 2,
		events:  exchange.Events{Limit: exchange.EventLimit},
	}
	c.stream = c.ok && strings.HasPrefix(kind, "text/event-stream")
	if !c.stream {
		res.Header.Set("Content-Type", "application/json")
	}
	return &inference.RelayResponse{Status: res.StatusCode, Header: res.Header, Body: c, Seen: t.Seen}, nil
}

// chatBody is an answer of Messages, read as a chat completion: each event as soon as it has come, or the whole.
type chatBody struct {
	*exchange.Relayed
	client *exchange.Client
	answer *messages.ChatAnswer
	ok     bool // it is no refusal
	stream bool
	events exchange.Events
	plain  []byte
	ready  []byte
	err    error
}

// Read reads the chat completion.
func (c *chatBody) Read(p []byte) (int, error) {
	var chunk [8 << 10]byte
	for len(c.ready) == 0 && c.err == nil && len(p) > 0 {
		n, err := c.Relayed.Read(chunk[:])
		c.err = c.take(chunk[:n], err)
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	if len(c.ready) > 0 || n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, c.err
}

// take takes bytes of the provider, and returns the error with which the answer ends.
func (c *chatBody) take(b []byte, end error) error {
	if !c.stream {
		c.plain = append(c.plain, b...)
		switch {
		case len(c.plain) > exchange.WholeLimit:
			return c.malformed(fmt.Errorf("it is longer than %d bytes", exchange.WholeLimit))
		case !errors.Is(end, io.EOF):
			return end
		case !c.ok:
			c.ready = messages.ChatError(c.plain)
			return end
		}
		whole, err := c.answer.Whole(c.plain)
		if err != nil {
			return c.malformed(err)
		}
		c.ready = whole
		return end
	}
	if err := c.events.Push(b); err != nil {
		return c.malformed(err)
	}
	if errors.Is(end, io.EOF) {
		c.events.End()
	}
	for data, ok := c.events.Pop(); ok; data, ok = c.events.Pop() {
		if len(data) == 0 || string(data) == "[DONE]" {
			continue
		}
		if err := c.answer.Event(data); err != nil {
			c.ready = append(c.ready, c.answer.Take()...)
			return c.malformed(err)
		}
	}
	c.ready = append(c.ready, c.answer.Take()...)
	return end
}

func (c *chatBody) malformed(err error) error {
	return &inference.Failure{
		Kind: inference.Malformed, Billed: true, Err: err,
		Message: c.client.Clean(fmt.Sprintf("the answer of %s cannot be read: %v", c.client, err)),
	}
}

// speaks reports whether a path is one of Messages.
func speaks(method, path string) bool {
	return method != http.MethodPost || path == "/messages" || strings.HasPrefix(path, "/messages/")
}
