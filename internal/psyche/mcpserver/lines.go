package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lines is a connection with one message per line. The library's own ends with the first invalid line, and at the end
// of the input although calls are unanswered.
type lines struct {
	in    *bufio.Reader
	out   io.Writer
	most  int // bytes of a line
	drain time.Duration
	leave <-chan struct{} // closed when the process is asked to end

	input  chan inputLine
	queue  []jsonrpc.Message // of a batch, to be read next; used by Read alone
	closed chan struct{}
	close  sync.Once

	mu       sync.Mutex
	open     map[jsonrpc.ID]call // unanswered calls
	pending  int                 // unwritten responses, without those to endless calls
	answered chan struct{}       // signals, with capacity one, that something was answered
	writing  sync.Mutex
}

// inputLine is a line, or an error: the end of the input, or a line that was too long.
type inputLine struct {
	line []byte
	err  error
}

// call is an unanswered call.
type call struct {
	endless bool   // it stays open until it is cancelled
	batch   *batch // of the same line; nil: it came alone
}

// batch holds the responses to calls that came in one line and are answered in one line.
type batch struct {
	left    int
	answers []json.RawMessage
}

// mostBatch bounds the messages in one line, since responses are many times as long as the shortest call.
const mostBatch = 1000

var errLong = errors.New("the line is too long")

func newLines(in io.Reader, out io.Writer, most int, drain time.Duration, leave <-chan struct{}) *lines {
	return &lines{
		in:       bufio.NewReader(in),
		out:      out,
		most:     most,
		drain:    drain,
		leave:    leave,
		input:    make(chan inputLine),
		closed:   make(chan struct{}),
		open:     map[jsonrpc.ID]call{},
		answered: make(chan struct{}, 1),
	}
}

// Connect begins to read.
func (s *lines) Connect(context.Context) (mcp.Connection, error) {
	go func() { // a read of standard input cannot be interrupted: this ends with the input, or with the process
		for {
			line, err := s.line()
			select {
			case s.input <- inputLine{line, err}:
			case <-s.closed:
				return
			}
			if err != nil && !errors.Is(err, errLong) {
				return
			}
		}
	}()
	return s, nil
}

// line reads a line without its end. One that is too long is read to its end and dropped.
func (s *lines) line() ([]byte, error) {
	var all []byte
	long := false
	for {
		piece, err := s.in.ReadSlice('\n')
		long = long || len(all)+len(piece) > s.most+1
		if !long {
			all = append(all, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLong // the next read returns an end of input
		case errors.Is(err, io.EOF) && len(all) > 0:
			return all, nil
		default:
			return all, err
		}
	}
}

// SessionID is empty: the connection is the session.
func (s *lines) SessionID() string { return "" }

// Close ends the connection. The caller that opened its streams closes them.
func (s *lines) Close() error {
	s.close.Do(func() { close(s.closed) })
	return nil
}

// Read returns the next message, and io.EOF once all calls are answered.
func (s *lines) Read(context.Context) (jsonrpc.Message, error) {
	for len(s.queue) == 0 {
		select {
		case h := <-s.input:
			switch {
			case errors.Is(h.err, errLong):
				if err := s.refuse(nil, jsonrpc.CodeInvalidRequest,
					fmt.Sprintf("a message may be at most %d bytes long, and this line was longer", s.most)); err !=
					nil {
					return nil, err
				}
			case errors.Is(h.err, io.EOF):
				s.last(nil, s.leave)
				return nil, io.EOF
			case h.err != nil:
				return nil, h.err
			default:
				if err := s.take(h.line); err != nil {
					return nil, err
				}
			}
		case <-s.leave:
			s.last(s.input, nil)
			return nil, io.EOF
		case <-s.closed:
			return nil, io.EOF
		}
	}
	next := s.queue[0]
	s.queue = s.queue[1:]
	return next, nil
}

// last waits until all calls are answered, at most for the drain time, or until the other end comes too: of the
// input, or of the process.
func (s *lines) last(in <-chan inputLine, leave <-chan struct{}) {
	within := time.NewTimer(s.drain)
	defer within.Stop()
	for s.hasPending() {
		select {
		case <-s.answered:
		case h := <-in: // nothing new is begun
			if h.err != nil && !errors.Is(h.err, errLong) {
				return
			}
		case <-leave:
			return
		case <-within.C:
			return
		case <-s.closed:
			return
		}
	}
}

func (s *lines) hasPending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending > 0
}

// take queues the messages of a line, and answers what is not a message.
func (s *lines) take(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var each []json.RawMessage
	if err := json.Unmarshal(line, new(json.RawMessage)); err != nil {
		return s.refuse(nil, jsonrpc.CodeParseError,
			fmt.Sprintf("this line is not JSON: %v; a message is one line of JSON", err))
	}
	if json.Unmarshal(line, &each) != nil || each == nil { // not a list
		message, refused := s.message(line, nil)
		if refused != nil {
			return s.write(refused)
		}
		if message != nil {
			s.queue = append(s.queue, message)
		}
		return nil
	}
	if len(each) == 0 {
		return s.refuse(nil, jsonrpc.CodeInvalidRequest, "a batch holds at least one message, and this one holds none")
	}
	if len(each) > mostBatch {
		return s.refuse(nil, jsonrpc.CodeInvalidRequest,
			fmt.Sprintf("a batch holds at most %d messages, and this one holds %d", mostBatch, len(each)))
	}
	b := &batch{}
	for _, one := range each {
		message, refused := s.message(one, b)
		if refused != nil {
			b.answers = append(b.answers, refused)
		}
		if message != nil {
			s.queue = append(s.queue, message)
		}
	}
	s.mu.Lock()
	done := b.left == 0 && len(b.answers) > 0 // all answered, so nobody else writes it
	s.mu.Unlock()
	if done {
		return s.together(b)
	}
	return nil
}

// listening is the method whose call is answered only when it is cancelled.
const listening = "subscriptions/listen"

// message parses a text, or returns the response to a text that is no message. A response that cannot be parsed gets
// no error response, since two such peers would never end.
func (s *lines) message(text json.RawMessage, of *batch) (jsonrpc.Message, json.RawMessage) {
	message, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		var values map[string]json.RawMessage
		_ = json.Unmarshal(text, &values)
		if values["method"] == nil && (values["error"] != nil || values["result"] != nil) {
			return nil, nil
		}
		return nil,
			refusal(values["id"], jsonrpc.CodeInvalidRequest,
				`this is no message of JSON-RPC 2.0, which has "jsonrpc": "2.0", a "method", and as a request an "id" that is a string or a number`)
	}
	request, ok := message.(*jsonrpc.Request)
	if !ok || !request.IsCall() {
		return message, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.open[request.ID]; taken {
		return nil,
			refusal(nil, jsonrpc.CodeInvalidRequest,
				fmt.Sprintf("the id %v is that of a request which is not answered yet; take another", request.ID.Raw()))
	}
	c := call{endless: request.Method == listening, batch: of}
	s.open[request.ID] = c
	if !c.endless {
		s.pending++
	}
	if of != nil {
		of.left++
	}
	return message, nil
}

// Write writes a message. A response to one of a batch is held until all are there.
func (s *lines) Write(_ context.Context, message jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	response, ok := message.(*jsonrpc.Response)
	if !ok {
		return s.write(text)
	}
	c, last := s.answer(response.ID, text)
	switch {
	case c.batch == nil:
		err = s.write(text)
	case last:
		err = s.together(c.batch)
	}
	if c.endless {
		return err
	}
	s.mu.Lock()
	s.pending--
	s.mu.Unlock()
	select {
	case s.answered <- struct{}{}:
	default:
	}
	return err
}

// answer closes a call and reports whether it was the last of its batch.
func (s *lines) answer(id jsonrpc.ID, text json.RawMessage) (c call, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c = s.open[id]
	delete(s.open, id)
	if c.batch != nil {
		c.batch.answers = append(c.batch.answers, text)
		c.batch.left--
		last = c.batch.left == 0
	}
	return c, last
}

func (s *lines) together(b *batch) error {
	text, err := json.Marshal(b.answers)
	if err != nil {
		return err
	}
	return s.write(text)
}

func (s *lines) write(text []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err := s.out.Write(append(slices.Clip(text), '\n'))
	return err
}

func (s *lines) refuse(id json.RawMessage, code int64, why string) error {
	return s.write(refusal(id, code, why))
}

// refusal is the error response to what is no request. The library's encoder leaves out an id where JSON-RPC requires
// null.
func refusal(id json.RawMessage, code int64, why string) json.RawMessage {
	if len(id) == 0 || (id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9')) {
		id = json.RawMessage("null")
	}
	text, _ := json.Marshal(
		map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why}})
	return text
}
