// Package provider is a scripted OpenAI-compatible server that keeps a bill: it answers the same to the same prompt,
// fails as planned, and counts every token that it really served.
package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Model is one model that the server serves.
type Model struct {
	Name       string             // its name on the wire
	Price      *budget.Price      // nil: unpriced; a call of it fails the run
	JSON       inference.JSONMode // how it is made to answer in a schema; empty for json_schema
	NoSampling bool               // answers 400 to any sampling field
	// gives one answer to the same memories, unless several are requested at once
	Typical  bool
	Feverish float64 // above this temperature it repeats itself in answers without a schema; 0: never
	LogProbs bool    // returns the log-probability of each token when requested
	Thinks   int     // tokens of reasoning before the answer; 0 for none
	Dim      int     // dimensions of its vectors; 0 for a model that generates
}

// Options shape a server. The zero value serves DefaultModels at once, without delays or faults.
type Options struct {
	Addr       string // where to listen; empty for a free port of 127.0.0.1
	Key        string // when set, other bearer tokens are answered 401
	Seed       uint64
	Models     []Model
	First      time.Duration // before the first token
	Each       time.Duration // before every other token
	Jitter     time.Duration // added to every delay, at random
	JitterSeed uint64
	AtLeast    int           // tokens of an answer, as far as the caller allows so many: for long streams
	Plan       Plan          // which calls fail; nil for none
	RetryAfter time.Duration // delay in a 429 answer with a delay; 0 for 1 s

	Reading  Reading // when set, bodies are parsed this way, and billed by the most that this allows
	Window   int64   // tokens that such a provider bills at most where a body names no maximum; 0 for 128,000
	Thinking int64   // tokens that its models think beside an answer

	// of a prompt, the only ones of its answer; nil, or where it has none: the server's own, and any words of the
	// prompt
	Nouns *regexp.Regexp `json:"-"`

	Say func(Request) string `json:"-"` // the answer to a request; empty, or nil: the server generates one
}

// Request is a request as the author of a scripted answer sees it.
type Request struct {
	Schema string // the name of the requested schema; empty for free text
	Prompt string // all messages
}

// DefaultPrice is that of the default models: $0.15 in, $0.075 cached, $0.60 out, per million tokens.
var DefaultPrice = budget.Price{In: 150_000, CachedIn: 75_000, Out: 600_000}

// DefaultModels are one of each kind.
func DefaultModels() []Model {
	price := DefaultPrice
	return []Model{
		{Name: "script", Price: &price, LogProbs: true},
		{Name: "script-object", Price: &price, JSON: inference.JSONObject},
		{Name: "script-prompt", Price: &price, JSON: inference.JSONPrompt},
		{Name: "strict", Price: &price, NoSampling: true},
		{Name: "typical", Price: &price, NoSampling: true, Typical: true},
		{Name: "feverish", Price: &price, Feverish: 1.25},
		{Name: "thinker", Price: &price, NoSampling: true, Thinks: 20},
		{Name: "unpriced"},
		{Name: "vectors", Price: &price, Dim: 64},
	}
}

// Server is a running provider.
type Server struct {
	URL     string // the base address, with /v1
	Billing *Billing

	options Options
	models  map[string]Model
	http    *http.Server
	closing chan struct{}
	serving sync.WaitGroup

	mu      sync.Mutex
	next    []Fault
	arrived map[string]int
	jitter  uint64
}

// Start listens and serves until Close.
func Start(o Options) (*Server, error) {
	if o.Models == nil {
		o.Models = DefaultModels()
	}
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.RetryAfter <= 0 {
		o.RetryAfter = time.Second
	}
	s := &Server{options: o, models: map[string]Model{}, closing: make(chan struct{}), arrived: map[string]int{}}
	s.Billing = newBilling()
	for _, m := range o.Models {
		s.models[m.Name] = m
	}
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for the scripted provider at %s: %w", o.Addr, err)
	}
	s.URL = "http://" + l.Addr().String() + "/v1"
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}
	s.serving.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.Billing.fail("the server stopped by itself: " + err.Error())
		}
	})
	return s, nil
}

// Close ends every connection and stops the server.
func (s *Server) Close() {
	close(s.closing)
	_ = s.http.Close()
	s.serving.Wait()
}

// Next makes the next calls fail in this order, before the plan is used. None is a call without a fault.
func (s *Server) Next(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = append(s.next, faults...)
}

// Catalog is what a deployment would configure about this server's models, under "<provider>/<model>".
func (s *Server) Catalog(provider string) inference.Table { return Catalog(provider, s.options.Models) }

// Catalog describes models as a deployment would.
func Catalog(provider string, models []Model) inference.Table {
	t := inference.Table{}
	for _, m := range models {
		spec := inference.Spec{
			Name:      provider + "/" + m.Name,
			Provider:  provider,
			Wire:      m.Name,
			Price:     m.Price,
			Context:   128_000,
			JSON:      m.JSON,
			Reasoning: m.Thinks > 0,
			Embeds:    m.Dim > 0,
			Stop:      true,
			Judges:    true,
			LogProbs:  m.LogProbs,
		}
		if spec.JSON == "" {
			spec.JSON = inference.JSONSchema
		}
		if !m.NoSampling {
			spec.MaxTemperature = 2
			spec.MinP = true
			spec.TopP = true
			spec.Seed = true
		}
		t[spec.Name] = spec
	}
	return t
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("POST /v1/messages", s.message)
	mux.HandleFunc("POST /v1/responses", s.respond)
	mux.HandleFunc("POST /v1/embeddings", s.embed)
	mux.HandleFunc("GET /v1/models", s.list)
	mux.HandleFunc("GET /till",
		func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, s.Billing.Book()) })
	return mux
}

func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	out := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list"}
	for _, m := range s.options.Models {
		out.Data = append(out.Data, model{ID: m.Name, Object: "model"})
	}
	reply(w, http.StatusOK, out)
}

// pause waits before a token; false when the caller hung up or the server closes.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	if s.options.Jitter > 0 {
		s.mu.Lock()
		s.jitter++
		d += time.Duration(mix(s.options.JitterSeed, s.jitter) % uint64(s.options.Jitter))
		s.mu.Unlock()
	}
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-s.closing:
		return false
	case <-t.C:
		return true
	}
}

// hang waits until the caller disconnects or the server closes.
func (s *Server) hang(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.closing:
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller may have hung up
}

// refuse answers as OpenAI does.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	reply(w, status,
		map[string]any{"error": map[string]any{"message": message, "type": kind, "code": kind, "param": nil}})
}
