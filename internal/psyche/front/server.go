package front

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/hostname"
)

// Options say what a server serves, to whom, and how much of it. What is zero has the default that is named.
type Options struct {
	Routes []Route
	Keys   access.Store
	// Keyless lets whoever comes to a loopback address in as owner, as long as no key was ever made
	// (access.Store.KeysRequired). Listen refuses it for any other address.
	Keyless bool
	Hosts   []string // names that a Host header may bear beside a loopback's while nobody needs a key, without ports
	Origins []string // pages that browsers may call from beside the server's own, such as "https://app.example.org"
	Limits  Limits
	TLS     TLS
	// told of every request that has ended; nil: nobody
	Log func(Entry)
	// for metrics; route is "" of a path that none names
	Observe func(route string, status int, lasted time.Duration, written int64)
	// told of what no client is told; nil: nobody
	Report func(error)
	Now    func() time.Time // nil: the system's clock
}

// Limits bound what callers may take.
type Limits struct {
	Rate      int            // requests a minute of each key that names no rate of its own; 0: any number
	Day       *budget.Micros // what each key that names no sum of its own may cost a day; nil: any sum
	Streams   int            // of each key at once; 64
	All       int            // streams at once; 1,024
	Body      int64          // bytes of a body; 16 MiB
	BodyTime  time.Duration  // for a body to come; 30 s
	WriteTime time.Duration  // for a client to take what is written, each time; 30 s
	Hold      time.Duration  // for a request with an Idempotency-Key to be done; 10 min
	// after which its process is taken for dead unless it says three times as often that it lives; 15 s
	Lease   time.Duration
	Keep    time.Duration // for its answer to be kept; 24 h
	Answers int           // of each principal that are kept; the oldest make room; 0: any number
	Again   time.Duration // until a stream without end is held against the keys again, each time; 5 s
}

func (l Limits) orDefault() Limits {
	l.Streams, l.All, l.Body = cmp.Or(l.Streams, 64), cmp.Or(l.All, 1024), cmp.Or(l.Body, 16<<20)
	l.BodyTime, l.WriteTime = cmp.Or(l.BodyTime, 30*time.Second), cmp.Or(l.WriteTime, 30*time.Second)
	l.Lease = cmp.Or(l.Lease, 15*time.Second)
	l.Hold, l.Keep, l.Again = cmp.Or(l.Hold, 10*time.Minute), cmp.Or(l.Keep, 24*time.Hour), cmp.Or(l.Again, fresh)
	return l
}

// Entry is a line of the access log. It holds no text of a request or an answer, and no query.
type Entry struct {
	ID      string
	At      time.Time
	Remote  string // the address that it came from, without the port
	Key     string // the key's id; empty for none
	Method  string
	Route   string // as the route names its path; empty when none does
	Status  int
	Bytes   int64         // of the answer's body
	First   time.Duration // until the answer began
	Lasted  time.Duration
	Code    string // of the fault that was answered
	Err     error  // what is behind it; of another program's making, so that it may quote what that was sent
	Stream  bool
	Dropped bool // the answer was cut, or nobody was left to take it
}

// Server is the front of all faces. Its zero value serves nothing; New makes one.
type Server struct {
	o       Options
	mux     *http.ServeMux
	hosts   hostname.Allowed
	origins map[string]bool
	keys    *keyring
	rates   rates
	streams streams
	leaving chan struct{} // closed when the server begins to end
	leave   sync.Once
	net     network
}

// New checks the routes and makes a server that does not listen yet. It may be used as a handler, too.
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
		rates:   rates{now: o.Now, byKey: map[string]*limiter{}},
		streams: streams{byKey: map[string]int{}, each: o.Limits.Streams, all: o.Limits.All},
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
	return s, s.hang(o.Routes)
}

// hang puts the routes up, by path.
func (s *Server) hang(routes []Route) error {
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
	paths := make([]string, 0, len(byPath))
	for p := range byPath {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		if err := s.pattern(p, byPath[p]); err != nil {
			return err
		}
	}
	s.mux.HandleFunc("/", s.unknown)
	return nil
}

// pattern answers what the mux panics over: two paths of which neither is the more exact.
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
	case r.Serve == nil:
		return fmt.Errorf("route %s has nobody to serve it", r.Path)
	case r.Open && r.Path != "/healthz":
		return fmt.Errorf("route %s is open; /healthz alone may be", r.Path)
	case !r.Open && !access.Owner.Includes(r.Role):
		return fmt.Errorf("route %s asks for role %q; roles are client, operator and owner", r.Path, r.Role)
	}
	return nil
}

// ServeHTTP answers one request, whoever asks.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := s.receive(w, r)
	r = r.WithContext(context.WithValue(r.Context(), under{}, x))
	defer func() {
		if answer := recover(); answer != nil {
			s.caught(x, r, answer)
		}
		x.end(r)
		if x.cut {
			// the one way in which net/http lets an answer be cut so that its reader sees it
			panic(http.ErrAbortHandler)
		}
	}()
	if done := s.browsed(x, r); done {
		return
	}
	if p := r.URL.EscapedPath(); !strings.HasPrefix(p, "/") || path.Clean(p) != p {
		s.unknown(x, r) // the mux would send the caller to the clean path, before anybody has asked who it is
		return
	}
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
	// whoever is refused is not waited for either: net/http reads what was sent before it answers
	if r.ContentLength != 0 {
		_ = x.control.SetReadDeadline(time.Now().Add(headerTime))
	}
	w.Header().Set("X-Request-Id", x.id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	return x
}

// saneID takes what can stand in a log and a header: 1 to 128 letters, digits and -_.:
func saneID(id string) bool {
	return id != "" && len(id) <= 128 && !strings.ContainsFunc(id, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_.:", c)
	})
}
