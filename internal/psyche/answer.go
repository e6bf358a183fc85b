package psyche

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// listen passes the answer on, reads what is said in it, and does what follows its end.
func (t *turn) listen(res *inference.RelayResponse) *answerStream {
	l := &answerStream{
		turn: t,
		from: res.Body,
		ear:  answerReader{stream: t.Body.stream, event: t.Body.form.event},
		ok:   res.Status/100 == 2,
		sent: t.sent,
		seen: res.Seen,
	}
	l.events = t.Body.stream && EventStream(res.Header)
	requested := t.Body.stream && string(t.Body.usage.Of(t.Body.raw)) == "true"
	switch {
	case !l.ok || t.Body.native():
	case t.hidden:
		l.sifts = &sieve{}
	case requested:
		l.sifts = &sieve{count: l.counted}
	case !t.Body.stream:
		l.sifts = &tail{count: l.counted}
	}
	return l
}

// EventStream reports whether an answer is a stream of events.
func EventStream(h http.Header) bool {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}

// sifts changes an answer on its way; sieve and tail implement it.
type sifts interface {
	push(b []byte, end bool) // which must not be kept
	empty() bool             // nothing can be passed on yet
	take(p []byte) int
}

// answerStream is an answer on its way to the client.
type answerStream struct {
	turn   *turn
	from   io.ReadCloser
	ok     bool
	sifts  sifts // nil: every byte is passed on as it comes
	events bool  // it is a stream of events
	sent   int   // bytes of the request
	seen   func() inference.RelayObserved
	once   sync.Once

	mu    sync.Mutex
	ear   answerReader
	ended bool
	err   error // the provider's, returned after what came before it
}

func (l *answerStream) Read(p []byte) (int, error) {
	l.compact()
	if l.sifts == nil {
		n, err := l.from.Read(p)
		return n, l.noteRead(p[:n], err)
	}
	for l.sifts.empty() && l.err == nil && len(p) > 0 {
		n, err := l.from.Read(p)
		l.err = l.noteRead(p[:n], err)
		l.sifts.push(p[:n], l.err != nil)
	}
	if n := l.sifts.take(p); n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, l.err
}

// compact parses what was read before: by now it is with its reader.
func (l *answerStream) compact() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ear.compact()
}

// noteRead notes the bytes read, and returns the error for the reader.
func (l *answerStream) noteRead(b []byte, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ok {
		l.ear.read(b)
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	l.ended = true
	if l.ok && l.events && !l.ear.streamEnded() {
		return errUnfinished
	}
	return err
}

// failed reports whether the provider has said that it failed, in an answer that was read to its end.
func (l *answerStream) failed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ear.done()
	return l.ear.failed
}

// errUnfinished is the end of a stream that its provider did not mark as ended: a stream that was cut off can look
// so.
var errUnfinished = &inference.Failure{
	Kind: inference.Broken, Billed: true, Message: "the stream ended before its provider marked its end",
}

// counted is the usage of an answer whose provider reports none: counted where the model's tokenizer is known, else
// at four bytes a token.
func (l *answerStream) counted() counted {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.ear.done().text
	out := int64(len(text)+3) / 4
	if spec := l.turn.spec; spec.Tokenizer != "" {
		out = inference.CountText(spec, text)
	}
	if l.seen != nil {
		out = max(out, l.seen().Pieces) // includes tool calls and thoughts
	}
	in := int64(l.sent+3) / 4
	return counted{in, out, in + out}
}

// Close stops the provider if it is still answering. The call is settled and the exchange stored beside the turn, so
// that the reader need not wait.
func (l *answerStream) Close() error {
	l.once.Do(func() {
		s := l.turn.service
		if l.turn.free() { // there is nothing to settle
			s.closeRelayed(l.from)
		} else {
			s.settled(l.from)
		}
		s.leases.release(l.turn.lease)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.ok {
			l.turn.keep(l.ear.done(), l.ended)
		}
	})
	return nil
}

// settled closes a relayed answer beside the turns.
func (b *core) settled(body io.Closer) {
	do := func() { b.closeRelayed(body) }
	if !b.detach(do) {
		do()
	}
}

// closeRelayed closes a relayed answer.
func (b *core) closeRelayed(body io.Closer) {
	if err := body.Close(); err != nil {
		b.Log.Error("a relayed call could not be settled; its reservation counts in full", "error", err)
	}
}

// readAnswer is an answer that is read on its way to the client, for its end and for what says that its provider
// failed.
type readAnswer struct {
	io.ReadCloser
	mu  sync.Mutex
	ear answerReader
}

// readOf reads an answer of the form's wire. stream: it is one of events.
func readOf(from io.ReadCloser, of *form, stream bool) *readAnswer {
	return &readAnswer{ReadCloser: from, ear: answerReader{stream: stream, event: of.event}}
}

func (s *readAnswer) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ear.compact()
	s.ear.read(p[:n])
	if errors.Is(err, io.EOF) && s.ear.stream && !s.ear.streamEnded() {
		return n, errUnfinished
	}
	return n, err
}

func (s *readAnswer) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ear.done()
	return s.ear.failed
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

// Limits on what is read of an answer.
const (
	mostHeard = 1 << 20  // bytes of a plain answer, or of one event
	mostSaid  = 64 << 10 // bytes of text
	compactAt = 4 << 10  // bytes of a stream that are read together: a dozen events
)

// answerReader parses a chat completion while its bytes pass. Of several choices it reads the first.
type answerReader struct {
	stream bool
	event  func(e *answerReader, data []byte) // takes an event, or a whole answer

	raw    []byte
	text   strings.Builder
	finish string
	ended  bool // some choice had a finish_reason, or [DONE] passed
	failed bool // an event was an error
	deaf   bool
}

func (e *answerReader) read(b []byte) {
	if e.deaf || len(b) == 0 {
		return
	}
	e.raw = append(e.raw, b...)
	if e.stream && len(e.raw) >= 2*compactAt { // the reader does not wait for more
		e.events(false)
	}
	if len(e.raw) > mostHeard {
		e.deaf, e.raw = true, nil
	}
}

// compact parses a stream as far as it was read.
func (e *answerReader) compact() {
	if e.stream && len(e.raw) >= compactAt {
		e.events(false)
	}
}

// events parses the whole events of a stream.
func (e *answerReader) events(end bool) {
	rest := e.raw
	for {
		line, after, found := bytes.Cut(rest, []byte("\n"))
		if !found && !end {
			break
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			e.event(e, data)
		}
		rest = after
		if !found {
			break
		}
	}
	e.raw = append(e.raw[:0], rest...)
}

func (e *answerReader) take(data []byte) {
	if string(bytes.TrimSpace(data)) == "[DONE]" {
		e.ended = true
		return
	}
	var choices []byte
	err := jsonscan.Members(data, func(key, value []byte) error {
		switch string(key) {
		case `"choices"`:
			choices = value
		case `"error"`:
			e.failed = e.failed || string(value) != "null"
		}
		return nil
	})
	if err != nil || len(choices) == 0 || choices[0] != '[' {
		return
	}
	s := &jsonscan.Scanner{Body: choices}
	_ = s.Array(func() error { // it was scanned before
		each, err := s.Value()
		e.choice(each.Of(choices))
		return err
	})
}

// choice reads a choice, which was scanned before.
func (e *answerReader) choice(raw []byte) {
	var index, finish, content []byte
	_ = jsonscan.Members(raw, func(key, value []byte) error {
		switch string(key) {
		case `"index"`:
			index = value
		case `"finish_reason"`:
			finish = value
		case `"delta"`, `"message"`:
			_ = jsonscan.Members(value, func(key, value []byte) error {
				if string(key) == `"content"` && value[0] == '"' {
					content = value
				}
				return nil
			})
		}
		return nil
	})
	reason := jsonscan.Unquoted(finish)
	e.ended = e.ended || reason != ""
	if len(index) > 0 && string(index) != "0" && string(index) != "null" {
		return
	}
	if e.text.Len() < mostSaid {
		e.text.WriteString(jsonscan.Unquoted(content))
	}
	e.finish = cmp.Or(reason, e.finish)
}

// streamEnded reports whether the provider marked the stream as ended. A stream that could not be parsed gets the
// benefit of the doubt.
func (e *answerReader) streamEnded() bool {
	e.events(true)
	e.raw = nil
	return e.ended || e.deaf
}

// done is the text of the answer, as far as it was read.
func (e *answerReader) done() spokenAnswer {
	switch {
	case e.stream:
		e.events(true)
	case e.raw != nil:
		e.event(e, e.raw)
	}
	e.raw = nil
	return spokenAnswer{text: e.text.String(), finish: e.finish}
}

// spokenAnswer is an answer to be remembered.
type spokenAnswer struct{ text, finish string }
