// Package talker is a provider that speaks chat completions, Responses and Messages: it echoes the last message, calls
// each offered tool once, thinks before it answers, and records every request.
package talker

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options shape a talker. The zero value answers at once.
type Options struct {
	First  time.Duration // before the first piece
	Each   time.Duration // before every other piece
	Pieces int           // at least so many, for streams that last; 0: the answer's words

	Call func(Request) (name, arguments string) // which of the offered tools is called; nil: none
	Say  func(Request) string                   // the answer; nil, or empty: an echo of the last message
	// the thought before an answer or a call; nil, or empty: none. On Messages it thinks only where the request allows
	// it
	Think func(Request) string
	Fail  func(Request) int // a status to refuse with; 0: none
}

// Request is one recorded request.
type Request struct {
	Path     string
	Header   http.Header
	Body     []byte
	Model    string
	Messages []Message
	Tools    []string
	Stream   bool
	Thinks   bool      // it may think
	Thoughts []Thought // of the talker's, which came back in the conversation

	seals bool // the seal of a thought is wanted
}

// Thought is one with what proves it: the signature on Messages, the sealed form on Responses, and nothing on chat
// completions.
type Thought struct {
	Text, Proof string
}

// Message is one message with its texts joined.
type Message struct {
	Role, Text string
}

// Last is the newest message.
func (a Request) Last() Message {
	if len(a.Messages) == 0 {
		return Message{}
	}
	return a.Messages[len(a.Messages)-1]
}

// Talker is a running provider.
type Talker struct {
	URL string // with /v1

	o       Options
	server  *http.Server
	serving sync.WaitGroup
	under   atomic.Int64
	dropped atomic.Int64
	begun   atomic.Int64 // streams under way of which ten pieces have been sent

	mu       sync.Mutex
	requests []Request
	thoughts map[Thought]bool // that it had
}

// Start listens at a free port of this machine until Close.
func Start(o Options) (*Talker, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the talker: %w", err)
	}
	t := &Talker{URL: "http://" + l.Addr().String() + "/v1", o: o, thoughts: map[Thought]bool{}}
	mux := http.NewServeMux()
	for path, speech := range map[string]*speech{
		"chat/completions": chats, "messages": messages, "responses": responses,
	} {
		mux.HandleFunc("POST /v1/"+path, func(w http.ResponseWriter, r *http.Request) { t.serve(w, r, speech) })
	}
	mux.HandleFunc("POST /v1/completions", t.complete)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"talker"}]}`)
	})
	mux.HandleFunc("GET /v1/begun", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, t.begun.Load())
	})
	t.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	t.serving.Go(func() {
		if err := t.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic("the talker stopped by itself: " + err.Error())
		}
	})
	return t, nil
}

// Close ends it.
func (t *Talker) Close() {
	_ = t.server.Close()
	t.serving.Wait()
}

// UnderWay is how many answers are being sent.
func (t *Talker) UnderWay() int { return int(t.under.Load()) }

// Dropped is how many answers were cut off by their callers.
func (t *Talker) Dropped() int { return int(t.dropped.Load()) }

// Requests returns all recorded requests.
func (t *Talker) Requests() []Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Request(nil), t.requests...)
}

// Forget drops the recorded requests.
func (t *Talker) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests = nil
}

func (t *Talker) serve(w http.ResponseWriter, r *http.Request, how *speech) {
	t.under.Add(1)
	defer t.under.Add(-1)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a, usage := how.read(r.Header, body)
	a.Path = r.URL.Path
	t.mu.Lock()
	t.requests = append(t.requests, a)
	t.mu.Unlock()
	if t.o.Fail != nil {
		if status := t.o.Fail(a); status != 0 {
			refuse(w, status, fmt.Sprintf("refused with %d", status), "server_error")
			return
		}
	}
	if !t.had(a.Thoughts) {
		refuse(w, http.StatusBadRequest, "a thought is not as it was sent", "invalid_request_error")
		return
	}
	s := scripted{model: a.Model, usage: usage, prompt: len(body) / 4, seals: a.seals}
	s.text, s.tool, s.arguments = t.answer(a)
	s.thought, s.proof = t.think(a, how)
	if !a.Stream {
		if t.pause(r, t.o.First) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, how.whole(&s))
		}
		return
	}
	if !t.stream(w, r, &s, how) {
		t.dropped.Add(1)
	}
}

func refuse(w http.ResponseWriter, status int, message, kind string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":{"message":%s,"type":%q,"code":null}}`, quoted(message), kind)
}

// think returns the thought of an answer with its proof, which has what escapes and encodings may change.
func (t *Talker) think(a Request, how *speech) (thought, proof string) {
	if t.o.Think == nil || !a.Thinks {
		return "", ""
	}
	thought = t.o.Think(a)
	if thought == "" {
		return "", ""
	}
	if how != chats {
		proof = base64.StdEncoding.EncodeToString([]byte(rand.Text() + "\xfb\xef\xff"))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.thoughts[Thought{thought, proof}] = true
	return thought, proof
}

// had says whether it had all these thoughts, byte for byte.
func (t *Talker) had(thoughts []Thought) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, thought := range thoughts {
		if !t.thoughts[thought] {
			return false
		}
	}
	return true
}

// complete goes on from a text by saying how long it is, in one piece or in two.
func (t *Talker) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a, _ := read(r.Header, body)
	t.mu.Lock()
	t.requests = append(t.requests, a)
	t.mu.Unlock()
	const piece = `{"id":"cmpl-1","object":"text_completion","created":1,"model":%s,"choices":[{"index":0,"text":%s,"logprobs":null,"finish_reason":%s}]}`
	if !a.Stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, piece, quoted(a.Model), quoted(fmt.Sprintf(" after %d bytes", len(body))), `"stop"`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: "+piece+"\n\n", quoted(a.Model), quoted(" after"), "null")
	_ = http.NewResponseController(w).Flush()
	_, _ = fmt.Fprintf(w, "data: "+piece+"\n\ndata: [DONE]\n\n", quoted(a.Model), quoted(" that"), `"stop"`)
}

// answer decides the answer: a tool is called as long as its result is not in the conversation.
func (t *Talker) answer(a Request) (text, tool, arguments string) {
	if t.o.Call != nil && len(a.Tools) > 0 && a.Last().Role != "tool" {
		tool, arguments = t.o.Call(a)
		if tool != "" {
			return "", tool, arguments
		}
	}
	if t.o.Say != nil {
		text = t.o.Say(a)
	}
	if text == "" {
		text = "I heard: " + a.Last().Text
	}
	return text, "", ""
}

func (t *Talker) pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return r.Context().Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func (t *Talker) stream(w http.ResponseWriter, r *http.Request, s *scripted, how *speech) bool {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	flush := http.NewResponseController(w)
	if flush.Flush() != nil || !t.pause(r, t.o.First) {
		return false
	}
	pieces := how.pieces(s)
	for len(pieces) < t.o.Pieces {
		pieces = append(pieces, how.more(s))
	}
	for i, p := range append(pieces, how.end(s)...) {
		if i == 10 {
			t.begun.Add(1)
			defer t.begun.Add(-1)
		}
		if i > 0 && i < len(pieces) && !t.pause(r, t.o.Each) {
			return false
		}
		if _, err := io.WriteString(w, p); err != nil || flush.Flush() != nil {
			return false
		}
	}
	return true
}

func read(h http.Header, body []byte) (a Request, usage bool) {
	var q struct {
		Model   string
		Stream  bool
		Options struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Messages []struct {
			Role    string
			Content json.RawMessage
			Thought string `json:"reasoning_content"`
		}
		Tools []struct{ Function struct{ Name string } }
	}
	_ = json.Unmarshal(body, &q)
	a = Request{Header: h.Clone(), Body: body, Model: q.Model, Stream: q.Stream}
	a.Thinks = true
	for _, m := range q.Messages {
		if m.Thought != "" {
			a.Thoughts = append(a.Thoughts, Thought{Text: m.Thought})
		}
		a.Messages = append(a.Messages, Message{Role: m.Role, Text: textOf(m.Content)})
	}
	for _, tool := range q.Tools {
		a.Tools = append(a.Tools, tool.Function.Name)
	}
	return a, q.Options.IncludeUsage
}

func textOf(raw json.RawMessage) string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(raw, &parts)
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}
