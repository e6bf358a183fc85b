package exchange

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Translator says an answer on another wire.
type Translator interface {
	Event(data []byte) error           // takes the data of one event of a stream
	Take() []byte                      // what is ready to be sent on, until the next call
	Whole(body []byte) ([]byte, error) // an answer that came in one piece
	Refusal(body []byte) []byte        // the body of a refusal
}

// Translate is the answer of a relayed request, said on another wire: each event as soon as it has come, or the whole.
func (c *Client) Translate(r *Relayed, res *http.Response, by Translator) *inference.RelayResponse {
	t := &translated{
		Relayed: r,
		by:      by,
		ok:      res.StatusCode/100 == 2,
		events:  Events{Limit: EventLimit},
	}
	t.stream = t.ok && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
	if !t.stream {
		res.Header.Set("Content-Type", "application/json")
	}
	return &inference.RelayResponse{Status: res.StatusCode, Header: res.Header, Body: t, Seen: r.Seen}
}

// translated is an answer on its way to another wire.
type translated struct {
	*Relayed
	by     Translator
	ok     bool // it is no refusal
	stream bool
	events Events
	plain  []byte
	ready  []byte
	err    error
}

// Read reads the translation.
func (t *translated) Read(p []byte) (int, error) {
	var chunk [8 << 10]byte
	for len(t.ready) == 0 && t.err == nil && len(p) > 0 {
		n, err := t.Relayed.Read(chunk[:])
		t.err = t.take(chunk[:n], err)
	}
	n := copy(p, t.ready)
	t.ready = t.ready[n:]
	if len(t.ready) > 0 || n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, t.err
}

// take takes bytes of the provider, and returns the error with which the answer ends.
func (t *translated) take(b []byte, end error) error {
	if !t.stream {
		t.plain = append(t.plain, b...)
		switch {
		case len(t.plain) > WholeLimit:
			return t.client.malformed(fmt.Errorf("it is longer than %d bytes", WholeLimit))
		case !errors.Is(end, io.EOF):
			return end
		case !t.ok:
			t.ready = t.by.Refusal(t.plain)
			return end
		}
		whole, err := t.by.Whole(t.plain)
		if err != nil {
			return t.client.malformed(err)
		}
		t.ready = whole
		return end
	}
	if err := t.events.Push(b); err != nil {
		return t.client.malformed(err)
	}
	if errors.Is(end, io.EOF) {
		t.events.End()
	}
	for data, ok := t.events.Pop(); ok; data, ok = t.events.Pop() {
		if len(data) == 0 || string(data) == "[DONE]" {
			continue
		}
		if err := t.by.Event(data); err != nil {
			t.ready = append(t.ready, t.by.Take()...)
			return t.client.malformed(err)
		}
	}
	t.ready = append(t.ready, t.by.Take()...)
	return end
}

// malformed is the failure of an answer that cannot be read.
func (c *Client) malformed(err error) error {
	return &inference.Failure{
		Kind: inference.Malformed, Billed: true, Err: err,
		Message: c.Clean(fmt.Sprintf("the answer of %s cannot be read: %v", c, err)),
	}
}
