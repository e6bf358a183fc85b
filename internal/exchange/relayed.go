package exchange

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// WholeLimit is the most bytes of an answer in one piece that are kept to read it.
const WholeLimit = 4 << 20

// AnswerReader reads the usage of a relayed answer on one wire. It ignores what it cannot parse.
type AnswerReader interface {
	Event(data []byte) // of a stream
	Whole(data []byte) // an answer in one piece
	Read() Reading
}

// Reading is what was read of an answer so far.
type Reading struct {
	Tokens      budget.Tokens
	Final       bool // Tokens are the provider's last word, and can be true
	CacheWrites bool // Tokens.Surcharge is all that writing to a cache costs
	Pieces      int64
	Finish      string
}

// Relayed is the body of an answer that is passed on byte for byte while its usage is read. The events of a piece are
// parsed when the next one is waited for: by then the piece is with its reader.
type Relayed struct {
	client *Client
	ctx    context.Context
	body   io.ReadCloser
	status int
	sent   int
	reader AnswerReader

	mu         sync.Mutex
	events     Events
	whole      []byte
	detected   bool
	isJSON     bool
	unreadable bool // the rest cannot be parsed
	ended      bool
}

// Read returns the body of res, which answers a request of so many bytes, as it is read by reader.
func (c *Client) Read(ctx context.Context, res *http.Response, sent int, reader AnswerReader) *Relayed {
	return &Relayed{
		client: c,
		ctx:    ctx,
		body:   res.Body,
		status: res.StatusCode,
		sent:   sent,
		reader: reader,
	}
}

// Read passes bytes on unchanged. A broken connection becomes an inference.Failure.
func (r *Relayed) Read(p []byte) (int, error) {
	r.mu.Lock()
	r.drain()
	r.mu.Unlock()
	n, err := r.body.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observe(p[:n])
	switch {
	case errors.Is(err, io.EOF):
		r.end()
		return n, io.EOF
	case err != nil:
		return n, r.client.Lost(r.ctx, err, true)
	}
	return n, nil
}

// Close closes the provider's stream.
func (r *Relayed) Close() error { return r.body.Close() }

func (r *Relayed) observe(p []byte) {
	if r.unreadable {
		return
	}
	if !r.detected {
		p = bytes.TrimLeft(p, " \t\r\n")
		if len(p) == 0 {
			return
		}
		r.detected, r.isJSON = true, p[0] == '{'
		r.events.Limit = EventLimit
	}
	if r.isJSON {
		r.unreadable = len(r.whole)+len(p) > WholeLimit
		r.whole = append(r.whole, p...)
		return
	}
	r.unreadable = r.events.Push(p) != nil
}

func (r *Relayed) drain() {
	if r.unreadable {
		return
	}
	for data, ok := r.events.Pop(); ok; data, ok = r.events.Pop() {
		r.reader.Event(data)
	}
}

func (r *Relayed) end() {
	if r.ended {
		return
	}
	r.ended = true
	if !r.detected || r.unreadable {
		return
	}
	if r.isJSON {
		r.reader.Whole(r.whole)
		r.whole = nil
		return
	}
	r.events.End()
	r.drain()
}

// Seen is what is known of the answer. The provider's usage is believed only of a whole answer.
func (r *Relayed) Seen() inference.RelayObserved {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drain()
	read := r.reader.Read()
	o := inference.RelayObserved{Pieces: read.Pieces, Finish: read.Finish, Ended: r.ended, UsageFrom: inference.ByCount}
	o.Tokens = Counted(r.sent, int(read.Pieces))
	if read.Final && r.ended && r.status/100 == 2 {
		o.Tokens, o.UsageFrom, o.CacheWrites = read.Tokens, inference.ByProvider, read.CacheWrites
		o.Tokens.Out = max(o.Tokens.Out, read.Pieces)
	}
	return o
}
