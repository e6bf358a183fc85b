package front

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// methods are the routes of one path.
type methods map[string]*Route

// of finds the route of a method. HEAD is GET without its body, except for streams.
func (m methods) of(method string) *Route {
	if r := m[method]; r != nil {
		return r
	}
	if get := m[http.MethodGet]; method == http.MethodHead && get != nil && !get.Stream {
		return get
	}
	return m[""]
}

func (m methods) allowed() string {
	names := slices.Sorted(maps.Keys(m))
	if r := m.of(http.MethodHead); r != nil && m[http.MethodHead] == nil && r.Method != "" {
		names = append(names, http.MethodHead)
	}
	return strings.Join(names, ", ")
}

// serve answers a request whose path has a route: it authenticates, checks role and limits, and calls the handler.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, at methods) {
	x := exchangeOf(r.Context())
	x.route = at.of(r.Method)
	if x.route != nil && (x.route.Open || x.route.Signed) {
		if err := x.limitBody(r); err != nil {
			Refuse(x, r, err)
			return
		}
		x.route.Serve(x, r)
		return
	}
	caller, err := s.admit(r)
	if err == nil {
		x.key, x.caller = caller.Key.ID, caller
		err = s.pass(x, r, at)
	}
	if err != nil {
		Refuse(w, r, err)
	}
}

func (s *Server) pass(x *exchange, r *http.Request, at methods) error {
	caller := x.caller
	if err := x.rate(&caller.Key); err != nil {
		return err
	}
	if x.route == nil {
		if why := unserved[r.URL.Path]; why != "" {
			return psyche.Refuse(http.StatusNotFound, "unknown_path", "", "%s", why)
		}
		x.Header().Set("Allow", at.allowed())
		return psyche.Refuse(http.StatusMethodNotAllowed, "method_not_allowed", "",
			"this path takes %s", at.allowed())
	}
	if !caller.Key.Role.Includes(x.route.Role) {
		return notAllowed("role_too_low",
			"this needs the role "+string(x.route.Role)+"; the key has "+string(caller.Key.Role))
	}
	if err := x.limitBody(r); err != nil {
		return err
	}
	if x.route.Stream {
		leave, err := s.takePlace(r, &caller.Key)
		if err != nil {
			return err
		}
		defer leave()
	}
	if x.route.Once && len(r.Header.Values("Idempotency-Key")) > 0 {
		return s.idempotent(x, r, caller)
	}
	if x.route.Stream && r.Method == http.MethodGet {
		var leave context.CancelFunc
		r, leave = s.whileAdmitted(r)
		defer leave()
	}
	x.route.Serve(x, r)
	return nil
}

// whileAdmitted ends a stream without an end, as no response to a POST is, when its key is no longer valid. A list of
// keys that cannot be read ends nothing.
func (s *Server) whileAdmitted(r *http.Request) (*http.Request, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	go func() {
		again := s.o.Limits.Again
		if CallerOf(r.Context()).Key.ID == "" {
			again = min(again, freshOpen) // the first key ends requests without one
		}
		tick := time.NewTicker(again)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			var f *psyche.Fault
			if _, err := s.admit(r); errors.As(err, &f) &&
				(f.Status == http.StatusUnauthorized || f.Code == keysLostCode) {
				cancel()
				return
			}
		}
	}()
	return r.WithContext(ctx), cancel
}

// unserved says why a path of a wire has no route where it looks like one of another route.
var unserved = map[string]string{
	"/v1/responses/compact": "this server compacts no conversation: send fewer items; " +
		"what was said is in the agent's memory",
	"/v1/responses/input_tokens": "this server does not count the tokens of a response's input; " +
		"POST /v1/messages/count_tokens counts those of a message",
}

// wellKnown is the prefix of paths under which a server describes itself (RFC 8615). MCP clients look there for a way
// to log in, and take any response but 404 for OAuth, which this server does not support.
const wellKnown = "/.well-known/"

func unknownPath(meant string) *psyche.Fault {
	message := "this server has nothing under this path"
	if meant != "" {
		message += "; did you mean " + meant + "?"
	}
	return psyche.Refuse(http.StatusNotFound, "unknown_path", "", "%s", message)
}

// canonical is the address whose route answers a request: with one slash where there are several, as base URLs that
// end with a slash make, and with /v1 once before a path that has a route only there. It is nil for a path with dot
// segments or a slash at its end, which the mux would redirect before the caller is authenticated. Encoded slashes and
// dots stay as they are. Everything behind it, such as the role, the idempotency key and the log, sees this address
// alone.
func (s *Server) canonical(u *url.URL) *url.URL {
	given := u.EscapedPath()
	p := given
	for strings.Contains(p, "//") {
		p = strings.ReplaceAll(p, "//", "/")
	}
	if !strings.HasPrefix(p, "/") || path.Clean(p) != p {
		return nil
	}
	other := "/v1" + p
	if rest, found := strings.CutPrefix(p, "/v1"); found && strings.HasPrefix(rest, "/v1/") {
		other = rest
	}
	if !s.routed(withPath(u, p)) && s.routed(withPath(u, other)) {
		p = other
	}
	if p == given {
		return u
	}
	return withPath(u, p)
}

// withPath is an address with another path, which is escaped.
func withPath(u *url.URL, escaped string) *url.URL {
	other := *u
	plain, err := url.PathUnescape(escaped)
	if err != nil { // of a part of a path that was unescaped before
		plain = escaped
	}
	other.Path, other.RawPath = plain, escaped
	return &other
}

// routed reports whether an address has a route, for whatever method.
func (s *Server) routed(u *url.URL) bool {
	_, pattern := s.mux.Handler(&http.Request{Method: http.MethodGet, URL: u})
	return pattern != "" && pattern != "/"
}

// suggestion is the path that the client most likely wanted: in its plain form, with /v1 once instead of twice, or
// without a prefix. Empty when no route is near.
func (s *Server) suggestion(question string) string {
	plain := path.Clean("/" + strings.ToLower(question))
	candidates := []string{plain, "/v1" + plain}
	if at := strings.LastIndex(plain, "/v1/"); at > 0 {
		candidates = append(candidates, plain[at:])
	}
	for _, candidate := range candidates {
		if candidate == question {
			continue
		}
		if s.routed(&url.URL{Path: candidate}) {
			return candidate
		}
	}
	return ""
}

// unknown answers a path without a route. A request without a valid key is not told so, except under wellKnown.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, wellKnown) {
		Refuse(w, r, unknownPath(""))
		return
	}
	caller, err := s.admit(r)
	if err == nil {
		x := exchangeOf(r.Context())
		x.key = caller.Key.ID
		err = x.rate(&caller.Key)
	}
	if err == nil {
		err = unknownPath(s.suggestion(r.URL.Path))
	}
	Refuse(w, r, err)
}
