// Package responseshttp is OpenAI's Responses API: a response is a turn of an agent, as a chat completion is. Where the
// model's provider speaks this wire, a request is edited and passed on; elsewhere it is translated.
package responseshttp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/completion"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/responses"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
)

// Handler serves a psyche.Service.
type Handler struct {
	turnhttp.Turns
	Kept memory.Responses // nil: no response is kept
	For  time.Duration    // how long responses are kept; 0: until they are deleted
	Most int              // most kept responses of a principal; 0: any number
	// BuiltIn says that a paid provider may be asked for tools that it runs itself.
	BuiltIn bool
	// Failed is told of responses that could not be kept; may be nil.
	Failed func(error)
}

// Routes returns the routes.
func (f *Handler) Routes() []front.Route {
	const kept = "/v1/responses/{response}"
	return []front.Route{
		{
			Method: http.MethodPost,
			Path:   "/v1/responses",
			Role:   access.Client,
			Once:   true,
			Stream: true,
			Serve:  f.create,
		},
		{Method: http.MethodGet, Path: kept, Role: access.Client, Serve: f.get},
		{Method: http.MethodDelete, Path: kept, Role: access.Client, Serve: f.remove},
		{Method: http.MethodGet, Path: kept + "/input_items", Role: access.Client, Serve: f.inputItems},
		{Method: http.MethodPost, Path: kept + "/cancel", Role: access.Client, Serve: f.cancel},
	}
}

// path is the wire's path, as figures name it.
const path = "/responses"

// create answers a request with a response.
func (f *Handler) create(w http.ResponseWriter, r *http.Request) {
	q, t, err := f.read(r)
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	if t.Path == path {
		f.pass(w, r, q, t)
		return
	}
	c := &creation{
		Passage: f.Begin(path),
		handler: f,
		w:       w,
		control: http.NewResponseController(w),
		q:       q,
		caller:  t.Caller,
	}
	defer c.End(r)
	reply, err := f.Talk.Chat(r.Context(), *t)
	if err != nil {
		front.Refuse(w, r, f.Unknown(r.Context(), &t.Caller, t.Agent, err))
		return
	}
	defer func() { _ = reply.Body.Close() }()
	c.pass(r, reply)
}

// read reads a request and makes the turn that asks the same.
func (f *Handler) read(r *http.Request) (*responses.Request, *psyche.Turn, error) {
	raw, err := front.Body(r)
	if err != nil {
		return nil, nil, err
	}
	q, err := responses.Scan(raw)
	if err != nil {
		return nil, nil, err
	}
	t, err := turnhttp.New(r, turnhttp.Names{
		Model: q.Model,
		Group: q.CacheKey,
		Users: []turnhttp.Name{
			{Field: "user", Value: q.User},
			{Field: "safety_identifier", Value: q.SafetyIdentifier},
		},
	})
	if err != nil {
		return nil, nil, err
	}
	spec, id, err := f.Talk.ModelFor(r.Context(), t.Caller, t.Agent)
	if err != nil {
		return nil, nil, f.Unknown(r.Context(), &t.Caller, t.Agent, err)
	}
	q.Provider = spec.Provider
	passed := spec.Wires.Speaks(inference.ResponsesWire)
	if !passed {
		if err := q.Check(); err != nil {
			return nil, nil, err
		}
	}
	before, err := f.context(r.Context(), use{caller: t.Caller, agent: id, allowed: own}, q)
	if err != nil {
		return nil, nil, err
	}
	if passed {
		return q, t, f.passes(q, t, before, &spec)
	}
	o := responses.Options{MaxTokens: "max_tokens"}
	if spec.Reasoning {
		o.MaxTokens = "max_completion_tokens"
	}
	body, err := q.Chat(before, o)
	if err != nil {
		return nil, nil, err
	}
	t.Path = "/chat/completions"
	t.Body, err = psyche.ReadBody(body)
	if err == nil {
		psyche.NameAs(t.Body, words.Sent(raw))
	}
	return q, t, err
}

// words are those of this wire for what its translation names otherwise.
var words = &turnhttp.Vocabulary{
	Fields: map[string]string{
		"messages":              "input",
		"max_tokens":            "max_output_tokens",
		"max_completion_tokens": "max_output_tokens",
		"response_format":       "text.format",
		"verbosity":             "text.verbosity",
		"reasoning_effort":      "reasoning.effort",
		"logprobs":              "include",
	},
	Parts: map[string]turnhttp.Part{
		"file":        {Type: "input_file"},
		"image_url":   {Type: "input_image"},
		"input_audio": {Type: "input_audio"},
		"refusal":     {Type: "refusal"},
	},
	Element: func(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) },
	Kept:    "previous_response_id",
}

// context are the items that a request goes on from. It puts those that the input refers to in their places.
func (f *Handler) context(ctx context.Context, u use, q *responses.Request) ([]responses.Item, error) {
	q.Store = q.Store && f.Kept != nil
	if err := f.resolve(ctx, u, q); err != nil {
		return nil, err
	}
	items, err := f.before(ctx, u, q.Previous)
	return items, missing(err, http.StatusBadRequest, "previous_response_not_found", "previous_response_id", q.Previous)
}

// leftOutHeader of an answer names the tools that were not passed on.
const leftOutHeader = "X-Oneiros-Tools-Left-Out"

// creation is a response being made.
type creation struct {
	turnhttp.Passage
	handler *Handler
	w       http.ResponseWriter
	control *http.ResponseController
	head    *turnhttp.Head // of a stream
	q       *responses.Request
	caller  psyche.Caller
}

// pass reads the provider's answer and writes the response.
func (c *creation) pass(r *http.Request, reply *psyche.Reply) {
	c.Answered(reply)
	h := c.w.Header()
	turnhttp.SetHeaders(r.Context(), h, reply.Report)
	if len(c.q.LeftOut) > 0 {
		h.Set(leftOutHeader, strings.Join(c.q.LeftOut, ", "))
	}
	if reply.Status/100 != 2 {
		c.refused(r, reply)
		return
	}
	id := responses.ResponsePrefix + strings.ToLower(rand.Text())
	a := c.q.Answer(id, c.handler.Now())
	from := completion.New(reply.Body, c.Stream)
	if c.q.Stream {
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // nginx would buffer the events
		c.w.WriteHeader(http.StatusOK)
		a.Begin()
		if _, err := c.w.Write(a.Events()); err != nil {
			c.ClientGone = true
			return
		}
		c.head = turnhttp.HoldHead(c.control)
		defer c.head.Release()
	}
	for first := true; ; first = false {
		pieces, err := from.Next()
		if first {
			c.NoteFirst()
		}
		for _, p := range pieces {
			a.Take(p)
		}
		if err != nil {
			if !c.over(r, a, err) {
				return
			}
			break
		}
		if c.q.Stream && !from.Waits() && !c.send(a) {
			return
		}
	}
	a.End(c.handler.Now())
	if _, failed := a.Failed(); !failed && c.q.Store {
		c.handler.keep(r.Context(), c.q, &c.caller, &c.Report, id, a.Response(), a.Output())
	}
	a.Finish()
	if c.q.Stream {
		c.send(a)
		return
	}
	if message, failed := a.Failed(); failed {
		front.Refuse(c.w, r, failure(message))
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	c.w.WriteHeader(http.StatusOK)
	if _, err := c.w.Write(append(a.Response(), '\n')); err != nil {
		c.ClientGone = true
	}
}

// failure is the fault of an answer that failed.
func failure(message string) *psyche.Fault {
	return &psyche.Fault{
		Status: http.StatusBadGateway, Type: "upstream_error", Code: "upstream_broken", Message: message,
	}
}

// over notes the end of the provider's answer, and reports whether there is somebody to tell. A client that hangs up
// ends the provider's answer too, and so does a server that stops: neither is the provider's fault.
func (c *creation) over(r *http.Request, a *responses.Answer, err error) bool {
	if errors.Is(err, io.EOF) {
		if message, failed := a.Failed(); failed {
			front.WriteError(r.Context(), failure(message))
		}
		return true
	}
	c.Broken = r.Context().Err() == nil
	if errors.Is(context.Cause(r.Context()), context.Canceled) {
		if !c.q.Stream {
			front.Refuse(c.w, r, r.Context().Err())
		}
		return false
	}
	fault := turnhttp.BrokenOff(err)
	front.WriteError(r.Context(), fault)
	a.Fail("server_error", fault.Message)
	return true
}

// send sends the events that were written, and reports whether the client takes them.
func (c *creation) send(a *responses.Answer) bool {
	events := a.Events()
	if len(events) == 0 {
		return true
	}
	c.head.Release()
	_, err := c.w.Write(events)
	if err != nil || c.control.Flush() != nil {
		c.ClientGone = true
		return false
	}
	return true
}

// mostRefusal bounds what is passed on of a provider's refusal, in bytes.
const mostRefusal = 1 << 20

// refused passes a provider's refusal on with its status and words, which have the same form on this wire.
func (c *creation) refused(r *http.Request, reply *psyche.Reply) {
	var body bytes.Buffer
	_, err := io.Copy(&body, io.LimitReader(reply.Body, mostRefusal))
	if err != nil && body.Len() == 0 {
		c.Broken = r.Context().Err() == nil
		front.Refuse(c.w, r, turnhttp.BrokenOff(err))
		return
	}
	c.NoteFirst()
	h := c.w.Header()
	for name, values := range reply.Header {
		h[name] = values
	}
	text := completed(body.Bytes(), reply.Status)
	h.Set("Content-Type", "application/json")
	c.w.WriteHeader(reply.Status)
	if _, err := c.w.Write(text); err != nil {
		c.ClientGone = true
	}
}

// completed is a provider's refusal with the members that OpenAI's errors have. One that has them stays as it is.
func completed(body []byte, status int) []byte {
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(body, &outer)
	members := map[string]json.RawMessage{}
	if json.Unmarshal(outer.Error, &members) != nil || len(members) == 0 {
		message := fmt.Sprintf("The model's provider refused the request (HTTP %d).", status)
		_ = json.Unmarshal(outer.Error, &message)
		members = map[string]json.RawMessage{"message": jsonscan.Quoted(message)}
	}
	kind := psyche.Refuse(status, "", "", "").Type
	lacked := false
	for name, value := range map[string][]byte{
		"message": []byte(`""`), "type": jsonscan.Quoted(kind), "param": []byte("null"), "code": []byte("null"),
	} {
		if members[name] == nil || name == "type" && string(members[name]) == "null" {
			members[name], lacked = value, true
		}
	}
	if !lacked {
		return body
	}
	text, _ := json.Marshal(map[string]any{"error": members})
	return append(text, '\n')
}
