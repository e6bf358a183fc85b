package messageshttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/completion"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
	"github.com/seed-56a03226/oneiros/internal/wire/messages"
)

// create answers a request with a message.
func (h *Handler) create(w http.ResponseWriter, r *http.Request) {
	q, err := h.ask(r)
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	if q.Request == nil {
		h.pass(w, r, q)
		return
	}
	p := &passage{Passage: h.Begin(path), w: w, control: http.NewResponseController(w)}
	defer p.End(r)
	reply, err := h.Talk.Chat(r.Context(), *q.turn)
	if err != nil {
		front.Refuse(w, r, h.Unknown(r.Context(), &q.turn.Caller, q.turn.Agent, err))
		return
	}
	defer func() { _ = reply.Body.Close() }()
	q.turn = nil // a stream may last for long, and needs none of it
	p.Answered(reply)
	turnhttp.SetHeaders(r.Context(), w.Header(), reply.Report)
	q.setIgnored(w.Header())
	for _, name := range []string{"Retry-After", "Retry-After-Ms", "X-Should-Retry"} {
		if v := reply.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	p.answer = messages.NewAnswer(q.Request, newID("msg_"), func() string { return newID("toolu_") })
	switch {
	case reply.Status/100 != 2:
		p.refused(r, reply)
	case q.Stream:
		p.stream(r, reply)
	default:
		p.whole(r, reply)
	}
}

// pass passes a request on whose wire the provider speaks, and its answer back.
func (h *Handler) pass(w http.ResponseWriter, r *http.Request, q *question) {
	p := turnhttp.NewRelay(h.Begin(path), w, func(f *psyche.Fault) []byte {
		return errorEvent(f, front.RequestID(r.Context()))
	})
	defer p.End(r)
	reply, err := h.Talk.Chat(r.Context(), *q.turn)
	if err != nil {
		front.Refuse(w, r, h.Unknown(r.Context(), &q.turn.Caller, q.turn.Agent, err))
		return
	}
	q.turn = nil // a stream may last for long, and needs none of it
	q.setIgnored(w.Header())
	if reply.Status/100 != 2 {
		reply.Body = inForm(reply, front.RequestID(r.Context()))
	}
	p.Answer(r, reply)
}

// inForm is the body of a provider's refusal in Anthropic's form: as it is, or with the words of one of another form,
// as servers of this wire that are not Anthropic's have.
func inForm(reply *psyche.Reply, request string) io.ReadCloser {
	type body struct {
		io.Reader
		io.Closer
	}
	raw, _ := io.ReadAll(io.LimitReader(reply.Body, mostRefusal))
	var form struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &form) == nil && form.Type == "error" {
		return body{io.MultiReader(bytes.NewReader(raw), reply.Body), reply.Body}
	}
	reply.Header.Set("Content-Type", "application/json")
	raw, _ = json.Marshal(errorBody(reply.Status, wordsOf(raw, reply.Status), request))
	return body{bytes.NewReader(raw), reply.Body}
}

// errorEvent ends a stream.
func errorEvent(f *psyche.Fault, request string) []byte {
	body, _ := json.Marshal(errorBody(f.Status, f.Message, request))
	return slices.Concat([]byte("event: error\ndata: "), body, []byte("\n\n"))
}

// passage is a turn whose answer is translated.
type passage struct {
	turnhttp.Passage
	w       http.ResponseWriter
	control *http.ResponseController
	head    *turnhttp.Head // of a stream
	answer  *messages.Answer

	writing sync.Mutex // held to write to the client
	ended   bool       // no ping is written any more
}

// mostRefusal is how many bytes of a provider's refusal are read.
const mostRefusal = 1 << 20

// refused passes the provider's refusal on, with its status and words.
func (p *passage) refused(r *http.Request, reply *psyche.Reply) {
	raw, _ := io.ReadAll(io.LimitReader(reply.Body, mostRefusal))
	status := reply.Status
	if status == http.StatusServiceUnavailable {
		status = statusOverloaded
	}
	p.NoteFirst()
	front.Answer(p.w, status, errorBody(status, wordsOf(raw, reply.Status), front.RequestID(r.Context())))
}

// wordsOf are the words of a provider's refusal.
func wordsOf(raw []byte, status int) string {
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &body) == nil {
		if message := messageOf(body.Error); message != "" {
			return message
		}
	}
	return "The model's provider refused the request (HTTP " + strconv.Itoa(status) + ")."
}

// messageOf is the message of a provider's error, which is an object with one, or a string.
func messageOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var e struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(raw, &e)
	return e.Message
}

// whole answers with a message in one piece.
func (p *passage) whole(r *http.Request, reply *psyche.Reply) {
	reader := completion.New(reply.Body, psyche.EventStream(reply.Header))
	if err := p.read(reader, func() bool { return true }); err != nil {
		if r.Context().Err() == nil {
			p.Broken = true
			err = turnhttp.BrokenOff(err)
		}
		front.Refuse(p.w, r, err)
		return
	}
	p.NoteFirst()
	body := append(p.answer.Whole(), '\n')
	p.w.Header().Set("Content-Type", "application/json")
	p.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	p.w.WriteHeader(http.StatusOK)
	if _, err := p.w.Write(body); err != nil {
		p.ClientGone = true
	}
}

// pingEvery is how often a stream has a ping.
const pingEvery = 15 * time.Second

// stream answers with events.
func (p *passage) stream(r *http.Request, reply *psyche.Reply) {
	p.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	p.w.Header().Set("Cache-Control", "no-cache")
	p.w.Header().Set("X-Accel-Buffering", "no") // nginx would buffer the pieces
	p.w.WriteHeader(http.StatusOK)
	p.answer.Begin()
	if _, err := p.w.Write(p.answer.Events()); err != nil {
		p.ClientGone = true
		return
	}
	p.head = turnhttp.HoldHead(p.control)
	defer p.head.Release()
	stop := p.ping()
	defer stop()
	reader := completion.New(reply.Body, psyche.EventStream(reply.Header))
	err := p.read(reader, func() bool { return reader.Waits() || p.send() })
	switch {
	case p.ClientGone:
	case err == nil:
		p.answer.End()
		p.send()
	case errors.Is(context.Cause(r.Context()), context.Canceled): // the client has hung up
	default:
		p.Broken = r.Context().Err() == nil
		p.fail(r, turnhttp.BrokenOff(err))
	}
}

// read reads an answer to its end, and calls each after every event; false ends it.
func (p *passage) read(reader *completion.Reader, each func() bool) error {
	for {
		pieces, err := reader.Next()
		for i := range pieces {
			if fault := p.take(&pieces[i]); fault != nil {
				return fault
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !each() {
			return nil
		}
	}
}

// take adds a piece to the answer.
func (p *passage) take(piece *completion.Piece) error {
	a := p.answer
	switch piece.Kind {
	case completion.Text:
		a.Text(piece.Text)
	case completion.Refusal:
		a.Refusal(piece.Text)
	case completion.Reasoning:
		a.Thought(piece.Field, piece.Text)
	case completion.Thought:
		a.Proof(piece.Field, piece.Raw)
	case completion.Call:
		a.Call(piece.Place, piece.ID, piece.Name, piece.Raw)
	case completion.Arguments:
		a.Arguments(piece.Place, piece.Text)
	case completion.Finish:
		a.Finish(piece.Text)
	case completion.UsageCount:
		a.Count(messages.ReadUsage(piece.Raw))
	case completion.Failure:
		message := messageOf(piece.Raw)
		if message == "" {
			message = "The model's provider ended the answer with an error."
		}
		return &psyche.Fault{
			Status:  http.StatusBadGateway,
			Type:    "upstream_error",
			Code:    "upstream_error",
			Message: message,
		}
	case completion.Head, completion.Other, completion.LogProbs:
		// Anthropic's wire has no place for them, and no request of it asks for any.
	}
	return nil
}

// send writes the events that are there, and reports whether the client took them.
func (p *passage) send() bool {
	events := p.answer.Events()
	if len(events) == 0 {
		return true
	}
	if p.First == 0 {
		p.NoteFirst()
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	return p.write(events)
}

// write writes events; its caller holds the lock.
func (p *passage) write(events []byte) bool {
	p.head.Release()
	if _, err := p.w.Write(events); err != nil || p.control.Flush() != nil {
		p.ClientGone = true
		return false
	}
	return true
}

// ping writes a ping again and again, so that nothing between takes the connection for dead, until stop.
func (p *passage) ping() (stop func()) {
	p.writing.Lock() // timer is set before it is used
	defer p.writing.Unlock()
	var timer *time.Timer
	timer = time.AfterFunc(pingEvery, func() {
		p.writing.Lock()
		defer p.writing.Unlock()
		if p.ended {
			return
		}
		p.head.Release()
		_, err := io.WriteString(p.w, messages.Ping)
		if err == nil && p.control.Flush() == nil {
			timer.Reset(pingEvery)
		}
	})
	return func() {
		p.writing.Lock()
		defer p.writing.Unlock()
		p.ended = true
		timer.Stop()
	}
}

// fail ends a stream with an error event.
func (p *passage) fail(r *http.Request, f *psyche.Fault) {
	front.WriteError(r.Context(), f)
	p.send()
	p.writing.Lock()
	defer p.writing.Unlock()
	p.write(errorEvent(f, front.RequestID(r.Context())))
}
