// Package serve is an OpenAI-compatible server for one model that runs in this process.
package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/hostname"
	"github.com/seed-56a03226/oneiros/internal/llama"
)

// Bounds of one exchange.
const (
	headerLimit = 64 << 10
	bodyLimit   = 4 << 20
	headerWait  = 10 * time.Second
	bodyWait    = time.Minute
	idleWait    = time.Minute
	writeWait   = 30 * time.Second // a client that reads nothing for so long is disconnected
	usualDrain  = 30 * time.Second
)

// Engine makes the answers; *llama.Engine is one.
type Engine interface {
	Answer(ctx context.Context, a llama.AnswerRequest, say func(llama.Piece) bool) (llama.Generation, error)
	Shape() llama.Shape
	Vectors() []string
}

// Options describe a server.
type Options struct {
	Engine Engine
	Name   string           // of the model on the wire
	Steer  inference.Steers // defaults of a request that names a vector; its Vector is not used
	Key    string           // that every request must have; empty for none
	Drain  time.Duration    // how long answers may continue after the end was requested; 0: 30 s
	Now    func() time.Time // nil for time.Now
}

// Server answers requests. Its zero value is not usable.
type Server struct {
	options Options
	key     [sha256.Size]byte
	number  atomic.Int64
	ended   context.Context // when running answers are cut
	end     context.CancelFunc
	http    *http.Server
	local   bool
}

// New makes a server.
func New(o Options) (*Server, error) {
	if o.Engine == nil || o.Name == "" || strings.Contains(o.Name, aliasMark) {
		return nil, fmt.Errorf("the model is called %q; it needs a name without %s", o.Name, aliasMark)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Drain <= 0 {
		o.Drain = usualDrain
	}
	s := &Server{options: o, key: sha256.Sum256([]byte("Bearer " + o.Key))}
	s.ended, s.end = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           s.Handler(),
		MaxHeaderBytes:    headerLimit,
		ReadHeaderTimeout: headerWait,
		ReadTimeout:       bodyWait,
		IdleTimeout:       idleWait,
	}
	return s, nil
}

// Listen opens the address. One that other machines can reach needs a key.
func (s *Server) Listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil,
			fmt.Errorf("listen on %q: it must be an address with a port, such as 127.0.0.1:8089: %w", address, err)
	}
	s.local = hostname.Loopback(host)
	if !s.local && s.options.Key == "" {
		return nil,
			fmt.Errorf("listen on %q: others can reach it, so a key is needed; name one, or listen on 127.0.0.1",
				address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// Serve answers until the context ends; then it accepts no more requests, lets running answers finish for as long as
// the drain lasts, and cuts the rest at a token.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	removed := make(chan error, 1)
	go func() { removed <- s.http.Serve(l) }()
	select {
	case err := <-removed:
		s.end()
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	late := time.AfterFunc(s.options.Drain, s.end)
	defer late.Stop()
	defer s.end()
	wait, over := context.WithTimeout(context.WithoutCancel(ctx), s.options.Drain+writeWait)
	defer over()
	err := s.http.Shutdown(wait)
	if served := <-removed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Handler answers the requests of the wire.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("GET /v1/models/{id}", s.model)
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, &fault{http.StatusNotFound, "invalid_request_error", "", "unknown_url", fmt.Sprintf(
			"%s %s is nothing here; there are POST /v1/chat/completions, GET /v1/models and GET /health", r.Method,
			r.URL.Path)})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := s.admit(r); f != nil {
			refuse(w, f)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// admit checks the key, and, on a loopback address, that the request does not come from a web page.
func (s *Server) admit(r *http.Request) *fault {
	if s.options.Key != "" {
		given := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if subtle.ConstantTimeCompare(given[:], s.key[:]) != 1 {
			return &fault{
				http.StatusUnauthorized, "authentication_error", "", "invalid_api_key",
				"the key is missing or is not this server's",
			}
		}
	}
	if s.local && (!hostname.Loopback(hostname.Of(r.Host)) || r.Header.Get("Origin") != "") {
		return &fault{
			http.StatusForbidden, "invalid_request_error", "", "forbidden",
			"this server answers programs of its own machine, and no pages",
		}
	}
	return nil
}
