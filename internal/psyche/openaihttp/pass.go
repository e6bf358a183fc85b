package openaihttp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

func (f *Face) chat(w http.ResponseWriter, r *http.Request) {
	f.serve(w, r, "/chat/completions", f.Talk.Chat)
}

func (f *Face) embeddings(w http.ResponseWriter, r *http.Request) {
	f.serve(w, r, "/embeddings", f.Talk.Embeddings)
}

// serve passes a turn on and its answer back.
func (f *Face) serve(w http.ResponseWriter, r *http.Request, path string, ask func(context.Context, psyche.Turn) (*psyche.Reply, error)) {
	t, err := turn(r, path)
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	began, over := f.Now(), f.note(path)
	p := Passed{Path: path}
	defer func() {
		p.Took, p.Dropped = f.Now().Sub(began), r.Context().Err() != nil
		over(p)
	}()
	reply, err := ask(r.Context(), t)
	if err != nil {
		front.Refuse(w, r, f.unknown(r.Context(), t.Caller, t.Agent, err))
		return
	}
	defer func() { _ = reply.Body.Close() }()
	p.Told, p.Status = reply.Told, reply.Status
	tell(w.Header(), reply)
	p.Stream = streams(reply.Header)
	answer := passage{w: w, control: http.NewResponseController(w), first: func() { p.First = f.Now().Sub(began) }}
	if p.Stream {
		answer.stream(reply)
	} else {
		answer.whole(r, reply)
	}
	p.Broken = answer.broken
}

// own are headers of the provider's answer that stay here: they speak of the provider's door, not of ours.
var own = []string{"Set-Cookie", "Strict-Transport-Security", "Alt-Svc", "Server", "Date", "Content-Length", "Www-Authenticate", "Proxy-Authenticate"}

// tell puts what the provider said and what the agent did into the headers of the answer.
func tell(h http.Header, reply *psyche.Reply) {
	for name, values := range reply.Header {
		switch {
		case strings.HasPrefix(name, "X-Oneiros-"), strings.HasPrefix(name, "Access-Control-"):
		case name == "X-Request-Id" && h.Get(name) != "":
			h["X-Upstream-Request-Id"] = values
		default:
			h[name] = values
		}
	}
	for _, name := range own {
		delete(h, name)
	}
	Tell(h, reply.Told)
}

// Tell puts what an agent did for a turn into headers.
func Tell(h http.Header, t psyche.Told) {
	set := func(name, value string) {
		if value != "" {
			h.Set("X-Oneiros-"+name, value)
		}
	}
	set("Agent", t.Agent)
	set("Conversation", headerText(t.Conversation))
	set("Recalled", strconv.Itoa(t.Recalled))
	set("Recall-Skipped", t.Skipped)
	if t.Epoch > 0 {
		set("Epoch", strconv.FormatInt(t.Epoch, 10))
	}
	if t.Woke {
		set("Woke", "true")
	}
	set("Degraded", headerText(t.Degraded))
}

// headerText keeps what a header can carry: a name of other letters is given in JSON's own escapes.
func headerText(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return s
	}
	return strings.Trim(strconv.QuoteToASCII(s), `"`)
}

func streams(h http.Header) bool {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}

// passage brings an answer through.
type passage struct {
	w       http.ResponseWriter
	control *http.ResponseController
	first   func() // called once, at the first byte
	broken  bool   // by the provider
}

// pieces are the buffers of streams under way. A provider's piece is a few hundred bytes; a larger one takes several rounds.
var pieces = sync.Pool{New: func() any { return new([4 << 10]byte) }}

// stream passes events on as they come. One that breaks off ends with an event that says so, as OpenAI's clients expect it.
func (p *passage) stream(reply *psyche.Reply) {
	p.w.Header().Set("X-Accel-Buffering", "no") // nginx would hold the pieces back
	p.w.WriteHeader(reply.Status)
	if p.control.Flush() != nil {
		return
	}
	buffer := pieces.Get().(*[4 << 10]byte)
	defer pieces.Put(buffer)
	var last [2]byte
	for {
		n, err := reply.Body.Read(buffer[:])
		if n > 0 {
			p.begin()
			if _, fault := p.w.Write(buffer[:n]); fault != nil || p.control.Flush() != nil {
				return
			}
			if last[0] = last[1]; n > 1 {
				last[0] = buffer[n-2]
			}
			last[1] = buffer[n-1]
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			p.broken = true
			p.lament(last, err)
		}
		return
	}
}

// lament ends a stream that broke off. What was said of an event that never ended stays as it is; the next one tells why.
func (p *passage) lament(last [2]byte, err error) {
	fault := faultOf(err)
	body, _ := json.Marshal(map[string]any{"error": map[string]any{
		"message": fault.Message, "type": fault.Type, "code": fault.Code, "param": nil,
	}})
	end := "\n\n"
	if last == [2]byte{} || last == [2]byte{'\n', '\n'} {
		end = ""
	}
	if _, fault := io.WriteString(p.w, end+"data: "+string(body)+"\n\n"); fault == nil {
		_ = p.control.Flush()
	}
}

// whole passes an answer of one piece on. One that breaks off before its first byte is told as what it is; later the connection
// is cut, so that nobody takes a part for the whole.
func (p *passage) whole(r *http.Request, reply *psyche.Reply) {
	buffer := pieces.Get().(*[4 << 10]byte)
	defer pieces.Put(buffer)
	n, err := reply.Body.Read(buffer[:])
	for n == 0 && err == nil {
		n, err = reply.Body.Read(buffer[:])
	}
	if n == 0 && !errors.Is(err, io.EOF) {
		p.broken = true
		p.w.Header().Del("Content-Type")
		front.Refuse(p.w, r, faultOf(err))
		return
	}
	p.begin()
	p.w.WriteHeader(reply.Status)
	for {
		if _, fault := p.w.Write(buffer[:n]); fault != nil {
			return
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			p.broken = true
			front.Refuse(p.w, r, faultOf(err))
			return
		}
		n, err = reply.Body.Read(buffer[:])
	}
}

func (p *passage) begin() {
	if p.first != nil {
		p.first()
		p.first = nil
	}
}

// faultOf is what a client is told of an answer that broke off. The cause is for the log.
func faultOf(err error) *psyche.Fault {
	var known *psyche.Fault
	if errors.As(err, &known) {
		return known
	}
	return &psyche.Fault{
		Status: http.StatusBadGateway, Type: "upstream_error", Code: "upstream_broken", Err: err,
		Message: "The model's answer broke off before its end. What came until then is all there is; the request may be sent again.",
	}
}
