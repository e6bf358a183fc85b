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

// lines is a connection of one message a line. The library's own ends with the first line that is no message, and with
// its input, although answers are owed.
type lines struct {
	in    *bufio.Reader
	out   io.Writer
	most  int // bytes of a line
	drain time.Duration
	leave <-chan struct{} // closed when the process is told to end

	heard  chan inputLine
	queue  []jsonrpc.Message // of a batch, to be read next; Read's alone
	closed chan struct{}
	close  sync.Once

	mu       sync.Mutex
	open     map[jsonrpc.ID]call // not answered yet
	owed     int                 // answers that are not written yet, but to calls without an end
	answered chan struct{}       // has a place for one: something was
	writing  sync.Mutex
}

// inputLine is a line, or why there is none: the input's end, or that it was longer than it may be.
type inputLine struct {
	line []byte
	err  error
}

// call is one that is owed an answer.
type call struct {
	endless bool   // it stays open until it is cancelled
	batch   *batch // that it came in; nil: it came alone
}

// batch are the answers to calls that came in one line; they go in one line.
type batch struct {
	left int
	said []json.RawMessage
}

// mostBatch messages come in one line: what answers one is many times as long as the shortest.
const mostBatch = 1000

var errLong = errors.New("the line is too long")

func newLines(in io.Reader, out io.Writer, most int, drain time.Duration, leave <-chan struct{}) *lines {
	return &lines{
		in:       bufio.NewReader(in),
		out:      out,
		most:     most,
		drain:    drain,
		leave:    leave,
		heard:    make(chan inputLine),
		closed:   make(chan struct{}),
		open:     map[jsonrpc.ID]call{},
		answered: make(chan struct{}, 1),
	}
}

// Connect begins to read.
func (s *lines) Connect(context.Context) (mcp.Connection, error) {
	go func() { // a read of standard input cannot be cut: this ends with the input, or with the process
		for {
			line, err := s.line()
			select {
			case s.heard <- inputLine{line, err}:
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

// line reads one, without its end. One that is too long is read to its end and forgotten.
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
			return nil, errLong // an end that follows is met by the next read
		case errors.Is(err, io.EOF) && len(all) > 0:
			return all, nil
		default:
			return all, err
		}
	}
}

// SessionID is empty: the connection is the session.
func (s *lines) SessionID() string { return "" }

// Close ends the connection. Its streams are closed by whoever opened them.
func (s *lines) Close() error {
	s.close.Do(func() { close(s.closed) })
	return nil
}

// Read answers the next message, and the end once what is owed was answered.
func (s *lines) Read(context.Context) (jsonrpc.Message, error) {
	for len(s.queue) == 0 {
		select {
		case h := <-s.heard:
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
			s.last(s.heard, nil)
			return nil, io.EOF
		case <-s.closed:
			return nil, io.EOF
		}
	}
	next := s.queue[0]
	s.queue = s.queue[1:]
	return next, nil
}

// last waits until nothing is owed any more, for as long as it may, or until the other end came, too: of the input that
// is still read, or of the process.
func (s *lines) last(in <-chan inputLine, leave <-chan struct{}) {
	within := time.NewTimer(s.drain)
	defer within.Stop()
	for s.owing() {
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

func (s *lines) owing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owed > 0
}

// take puts the messages of a line into the queue, and answers what is none.
func (s *lines) take(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var each []json.RawMessage
	if err := json.Unmarshal(line, new(json.RawMessage)); err != nil {
		return s.refuse(nil, jsonrpc.CodeParseError,
			fmt.Sprintf("this line is not JSON: %v; a message is one line of JSON", err))
	}
	if json.Unmarshal(line, &each) != nil || each == nil { // no list
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
			b.said = append(b.said, refused)
		}
		if message != nil {
			s.queue = append(s.queue, message)
		}
	}
	s.mu.Lock()
	done := b.left == 0 && len(b.said) > 0 // nobody else will write it
	s.mu.Unlock()
	if done {
		return s.together(b)
	}
	return nil
}

// listening is the call whose answer comes only when it is cancelled.
const listening = "subscriptions/listen"

// message is what a text says, or the answer to a text that is no message. A refusal that cannot be read is not refused
// in turn: two that do so never end.
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
		s.owed++
	}
	if of != nil {
		of.left++
	}
	return message, nil
}

// Write writes a message; an answer to one of a batch, with the others' once all are there.
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
	s.owed--
	s.mu.Unlock()
	select {
	case s.answered <- struct{}{}:
	default:
	}
	return err
}

// answer closes a call, and says whether it was the last of its batch.
func (s *lines) answer(id jsonrpc.ID, text json.RawMessage) (c call, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c = s.open[id]
	delete(s.open, id)
	if c.batch != nil {
		c.batch.said = append(c.batch.said, text)
		c.batch.left--
		last = c.batch.left == 0
	}
	return c, last
}

func (s *lines) together(b *batch) error {
	text, err := json.Marshal(b.said)
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

// refusal answers what is no request. The library's encoder leaves an id out where JSON-RPC wants null.
func refusal(id json.RawMessage, code int64, why string) json.RawMessage {
	if len(id) == 0 || (id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9')) {
		id = json.RawMessage("null")
	}
	text, _ := json.Marshal(
		map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why}})
	return text
}
