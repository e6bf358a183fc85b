package front

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/fairqueue"
	"github.com/seed-56a03226/oneiros/internal/hostname"
	"github.com/seed-56a03226/oneiros/internal/ratelimit"
	"github.com/seed-56a03226/oneiros/internal/ratelimit/bucket"
)

// Options configure a server. Zero fields have the defaults named.
type Options struct {
	Routes []Route
	Keys   access.Store
	// Keyless admits clients of a loopback address as owner, as long as no key was ever made
	// (access.Store.KeysRequired). Listen refuses it for other addresses.
	Keyless bool
	Hosts   []string // Host names, without ports, that are accepted beside loopback's while no key is needed
	Origins []string // other origins whose pages may call the server, such as "https://app.example.org"
	Limits  Limits
	TLS     TLS
	// Log is called for every request that has ended; may be nil.
	Log func(Entry)
	// Observe is for metrics; route is "" for a path without a route.
	Observe func(route string, status int, lasted time.Duration, written int64)
	// Load is told of waiting and refused requests; may be nil.
	Load Load
	// Report gets errors that clients are not shown; may be nil.
	Report func(error)
	Now    func() time.Time // nil: time.Now
}

// Limits of callers.
type Limits struct {
	Rate      int            // requests a minute of each key without a rate of its own; 0: unlimited
	Tokens    int            // tokens a minute of each key without a limit of its own; 0: unlimited
	Day       *budget.Micros // what each key without a limit of its own may cost a day; nil: unlimited
	Streams   int            // per key at once; 64
	All       int            // all keys at once; 1,024
	Queue     int            // that wait for a place of those; 0: none
	QueueTime time.Duration  // how long they wait at most; 0: not at all
	Body      int64          // bytes of a body; 16 MiB
	BodyTime  time.Duration  // to receive a body; 30 s
	WriteTime time.Duration  // for a client to take each write; 30 s
	Hold      time.Duration  // to process a request with an Idempotency-Key; 10 min
	// Lease is how long a process that processes such a request may be silent before it counts as dead; it reports
	// three times as often; 15 s.
	Lease   time.Duration
	Keep    time.Duration // how long responses are stored; 24 h
	Answers int           // stored responses per principal; the oldest make room; 0: unlimited
	Again   time.Duration // how often a stream without an end is checked against the keys; 5 s
}

func (l Limits) orDefault() Limits {
	l.Streams, l.All, l.Body = cmp.Or(l.Streams, 64), cmp.Or(l.All, 1024), cmp.Or(l.Body, 16<<20)
	l.BodyTime, l.WriteTime = cmp.Or(l.BodyTime, 30*time.Second), cmp.Or(l.WriteTime, 30*time.Second)
	l.Lease = cmp.Or(l.Lease, 15*time.Second)
	l.Hold, l.Keep, l.Again = cmp.Or(l.Hold, 10*time.Minute), cmp.Or(l.Keep, 24*time.Hour), cmp.Or(l.Again, fresh)
	return l
}

// Entry is a line of the access log. It holds no text of a request or response, and no query string.
type Entry struct {
	ID      string
	At      time.Time
	Remote  string // the client's address without the port
	Key     string // the key's id; empty for none
	Method  string
	Route   string // the route's path; empty for none
	Status  int
	Bytes   int64         // of the response's body
	First   time.Duration // until the response began
	Lasted  time.Duration
	Code    string // of the fault in the response
	Err     error  // its cause; may quote what another program was sent
	Stream  bool
	Dropped bool // the response was cut off, or the client had hung up
}

// Server is the HTTP server in front of all APIs. Use New; the zero value serves nothing.
type Server struct {
	o       Options
	mux     *http.ServeMux
	forms   []*Route // those with a form, by path
	hosts   hostname.Allowed
	origins map[string]bool
	keys    *keyring
	rates   ratelimit.Table
	places  *fairqueue.Queue
	leaving chan struct{} // closed when the server begins to stop
	leave   sync.Once
	net     network
}

// New checks the routes and makes a server that does not listen yet. It can also be used as a handler.
func New(o Options) (*Server, error) {
	o.Limits = o.Limits.orDefault()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	s := &Server{
		o:       o,
		mux:     http.NewServeMux(),
		hosts:   hostname.Allow(o.Hosts...),
		origins: map[string]bool{},
		leaving: make(chan struct{}),
		keys:    &keyring{store: o.Keys, now: o.Now, report: o.Report},
		rates:   bucket.New(o.Now),
		places:  newPlaces(o.Limits, o.Load),
	}
	for _, origin := range o.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
			return nil, fmt.Errorf("origin %q has not the form https://app.example.org", origin)
		}
		s.origins[strings.ToLower(origin)] = true
	}
	if o.Keys == nil {
		return nil, errors.New("a server needs a store of keys")
	}
	return s, s.addRoutes(o.Routes)
}

// Load returns what the queue of places had to do since it was last asked. The first call only begins.
func (s *Server) Load() fairqueue.Load { return s.places.Load() }

// addRoutes registers the routes, by path.
func (s *Server) addRoutes(routes []Route) error {
	byPath := map[string]methods{}
	for _, r := range routes {
		if err := r.validate(); err != nil {
			return err
		}
		at := byPath[r.Path]
		if at == nil {
			at = methods{}
			byPath[r.Path] = at
		}
		if at[r.Method] != nil {
			return fmt.Errorf("two routes name %s %s", cmp.Or(r.Method, "every method of"), r.Path)
		}
		at[r.Method] = &r
	}
	for _, p := range slices.Sorted(maps.Keys(byPath)) {
		if err := s.pattern(p, byPath[p]); err != nil {
			return err
		}
		for _, r := range byPath[p] {
			if r.Form != nil {
				s.forms = append(s.forms, r)
			}
		}
	}
	s.mux.HandleFunc("/", s.unknown)
	return nil
}

// pattern registers a path and returns as an error what the mux panics over: two paths of which neither is more
// specific.
func (s *Server) pattern(p string, at methods) (err error) {
	defer func() {
		if answer := recover(); answer != nil {
			err = fmt.Errorf("route %s: %v", p, answer)
		}
	}()
	s.mux.HandleFunc(p, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, at) })
	return nil
}

func (r Route) validate() error {
	switch {
	case !strings.HasPrefix(r.Path, "/") || path.Clean(r.Path) != r.Path || r.Path == "/":
		return fmt.Errorf("route %q: its path must begin with a slash, name something and not end with one", r.Path)
	case strings.Contains(r.Path, "...}") || strings.Contains(r.Path, "{$}"):
		return fmt.Errorf("route %s names every path below it; each needs a route of its own", r.Path)
	case r.Form != nil && strings.Contains(r.Path, "{"):
		return fmt.Errorf("route %s has a form; its path must have no wildcard", r.Path)
	case r.Serve == nil:
		return fmt.Errorf("route %s has no handler", r.Path)
	case r.Open && r.Path != "/healthz" && r.Path != "/readyz":
		return fmt.Errorf("route %s is open; only /healthz and /readyz may be", r.Path)
	case r.Signed && (r.Open || r.Once || r.Stream || r.Role != "" || r.Method != http.MethodPost || r.Body <= 0):
		return fmt.Errorf("route %s is signed; it must be a bounded POST without a role", r.Path)
	case !r.Open && !r.Signed && !access.Owner.Includes(r.Role):
		return fmt.Errorf("route %s asks for role %q; roles are client, operator and owner", r.Path, r.Role)
	}
	return nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := s.receive(w, r)
	r = r.WithContext(context.WithValue(r.Context(), under{}, x))
	defer func() {
		if answer := recover(); answer != nil {
			s.caught(x, r, answer)
		}
		x.end(r)
		if x.cut {
			// The only way in net/http to cut a response so that its reader notices.
			panic(http.ErrAbortHandler)
		}
	}()
	meant := s.canonical(r.URL)
	x.form = s.formOf(r.Header, cmp.Or(meant, r.URL).Path)
	if x.form != nil {
		x.Header().Set(x.form.RequestID, x.id)
	}
	if done := s.checkOrigin(x, r); done {
		return
	}
	if meant == nil {
		s.unknown(x, r)
		return
	}
	r.URL = meant // of this copy of the request
	s.mux.ServeHTTP(x, r)
}

func (s *Server) caught(x *exchange, r *http.Request, answer any) {
	if err, ok := answer.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		x.cut = true
		return
	}
	s.o.Report(fmt.Errorf("request %s panicked: %v\n%s", x.id, answer, debug.Stack()))
	Refuse(x, r, fmt.Errorf("panic: %v", answer))
}

// receive begins an exchange.
func (s *Server) receive(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{
		ResponseWriter: w,
		control:        http.NewResponseController(w),
		server:         s,
		began:          s.o.Now(),
		two:            r.ProtoMajor >= 2,
	}
	x.id = r.Header.Get("X-Request-Id")
	if !saneID(x.id) {
		x.id = "req_" + strings.ToLower(rand.Text())
	}
	// A refused client is not waited for either: net/http reads the body before it responds.
	if r.ContentLength != 0 {
		_ = x.control.SetReadDeadline(time.Now().Add(headerTime))
	}
	w.Header().Set("X-Request-Id", x.id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	return x
}

// saneID accepts an id that is safe in logs and headers: 1 to 128 letters, digits and -_.:
func saneID(id string) bool {
	return id != "" && len(id) <= 128 && !strings.ContainsFunc(id, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_.:", c)
	})
}
