package psyche

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/internal/inference"
)

// listen hands the answer on, overhears what is said, and sees to what comes after it.
func (t *turn) listen(res *inference.RelayResponse) io.ReadCloser {
	l := &listening{
		turn: t,
		from: res.Body,
		ear:  ear{stream: t.body.stream, token: t.token},
		ok:   res.Status/100 == 2,
		sent: t.sent,
		seen: res.Seen,
	}
	l.events = t.body.stream && eventStream(res.Header)
	requested := t.body.stream && string(t.body.usage.of(t.Body)) == "true"
	switch {
	case !l.ok || t.token != nil:
	case t.hidden:
		l.sifts = &sieve{}
	case requested:
		l.sifts = &sieve{count: l.counted}
	case !t.body.stream:
		l.sifts = &tail{count: l.counted}
	}
	return l
}

// eventStream says whether an answer is a stream of events.
func eventStream(h http.Header) bool {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}

// sifts changes what goes by: sieve and tail do.
type sifts interface {
	push(b []byte, end bool) // which it does not keep
	empty() bool             // nothing may go yet
	take(p []byte) int
}

// listening is an answer on its way to the client.
type listening struct {
	turn   *turn
	from   io.ReadCloser
	ok     bool
	sifts  sifts // nil: every byte goes by as it comes
	events bool  // it is a stream of events
	sent   int   // bytes of the request
	seen   func() inference.RelayObserved
	once   sync.Once

	mu    sync.Mutex
	ear   ear
	ended bool
	err   error // the provider's, told when what came before it has been read
}

func (l *listening) Read(p []byte) (int, error) {
	if l.sifts == nil {
		n, err := l.from.Read(p)
		return n, l.heard(p[:n], err)
	}
	for l.sifts.empty() && l.err == nil && len(p) > 0 {
		n, err := l.from.Read(p)
		l.err = l.heard(p[:n], err)
		l.sifts.push(p[:n], l.err != nil)
	}
	if n := l.sifts.take(p); n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, l.err
}

// heard notes what went by, and answers the error that its reader is told.
func (l *listening) heard(b []byte, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ok {
		l.ear.hear(b)
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	l.ended = true
	if l.ok && l.events && !l.ear.over() {
		return errUnfinished
	}
	return err
}

// errUnfinished is the end of a stream whose provider did not say that it is the end: what was cut on its way can look
// so.
var errUnfinished = &inference.Failure{
	Kind: inference.Broken, Billed: true, Message: "the stream ended without a finish_reason and without [DONE]",
}

// counted is the usage of an answer whose provider tells none: counted where the model's tokenizer is known, else at
// four bytes a token.
func (l *listening) counted() counted {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.ear.done().text
	out := int64(len(text)+3) / 4
	if spec := l.turn.spec; spec.Tokenizer != "" {
		out = inference.CountText(spec, text)
	}
	if l.seen != nil {
		out = max(out, l.seen().Pieces) // of tool calls and thoughts too
	}
	in := int64(l.sent+3) / 4
	return counted{in, out, in + out}
}

// Close stops the provider, if it is not done. The call is settled and the exchange remembered beside: whoever reads
// the answer need not wait for that.
func (l *listening) Close() error {
	l.once.Do(func() {
		b := l.turn.being
		b.settled(l.from)
		b.leave(l.turn.visit)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.ok {
			l.turn.keep(l.ear.done(), l.ended)
		}
	})
	return nil
}

// settled closes a relayed answer beside the turns.
func (b *Service) settled(body io.Closer) {
	do := func() {
		if err := body.Close(); err != nil {
			b.Log.Error("a relayed call could not be settled; its reservation counts in full", "error", err)
		}
	}
	if !b.aside(do) {
		do()
	}
}

// closing is an answer that is only settled.
type closing struct {
	io.ReadCloser
	close func()
	once  sync.Once
}

func (c *closing) Close() error {
	c.once.Do(c.close)
	return nil
}

// Bounds of what is overheard.
const (
	mostHeard = 1 << 20  // bytes of a plain answer, or of one event
	mostSaid  = 64 << 10 // bytes of text
	compactAt = 4 << 10  // bytes of a stream that wait to be read: a dozen events
)

// ear understands an answer of chat completions while its bytes go by. Of several choices it hears the first.
type ear struct {
	stream bool
	token  func(string) // told every piece as it comes; nil: nobody waits, and a stream is read a few events at a time

	raw    []byte
	text   strings.Builder
	finish string
	ended  bool // some choice had a finish_reason, or [DONE] went by
	deaf   bool
}

// messagePart is what an answer says: a message, or a piece of one.
type messagePart struct {
	Content json.RawMessage `json:"content"`
}

type overheard struct {
	Choices []struct {
		Index   int         `json:"index"`
		Delta   messagePart `json:"delta"`
		Message messagePart `json:"message"`
		Finish  string      `json:"finish_reason"`
	} `json:"choices"`
}

func (e *ear) hear(b []byte) {
	if e.deaf || len(b) == 0 {
		return
	}
	e.raw = append(e.raw, b...)
	if e.stream && (e.token != nil || len(e.raw) >= compactAt) {
		e.events(false)
	}
	if len(e.raw) > mostHeard {
		e.deaf, e.raw = true, nil
	}
}

// events reads the whole events of a stream.
func (e *ear) events(end bool) {
	rest := e.raw
	for {
		line, after, found := bytes.Cut(rest, []byte("\n"))
		if !found && !end {
			break
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			e.take(data)
		}
		rest = after
		if !found {
			break
		}
	}
	e.raw = append(e.raw[:0], rest...)
}

func (e *ear) take(data []byte) {
	var o overheard
	e.ended = e.ended || string(bytes.TrimSpace(data)) == "[DONE]"
	if json.Unmarshal(data, &o) != nil {
		return
	}
	for _, c := range o.Choices {
		e.ended = e.ended || c.Finish != ""
		if c.Index != 0 {
			continue
		}
		for _, u := range []messagePart{c.Delta, c.Message} {
			if piece := unquoted(u.Content); piece != "" && e.text.Len() < mostSaid {
				e.text.WriteString(piece)
				if e.token != nil {
					e.token(piece)
				}
			}
		}
		e.finish = or(c.Finish, e.finish)
	}
}

// over says of a stream that has ended whether its provider said so; of one that could not be understood nobody knows.
func (e *ear) over() bool {
	e.events(true)
	e.raw = nil
	return e.ended || e.deaf
}

// done is what was said, as far as it was heard.
func (e *ear) done() spokenAnswer {
	if e.stream {
		e.events(true)
	} else if !e.deaf {
		e.take(e.raw)
	}
	e.raw = nil
	return spokenAnswer{text: e.text.String(), finish: e.finish}
}

// spokenAnswer is an answer as it is remembered.
type spokenAnswer struct{ text, finish string }
