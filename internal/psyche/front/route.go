// Package front is the HTTP server in front of the APIs: authentication, limits, and shutdown. A path without a route
// is refused.
package front

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/ratelimit"
)

// Route is one path of an API.
type Route struct {
	Method string // HTTP method; empty: every method, for protocols of their own only
	Path   string // as in http.ServeMux patterns, such as "/v1/dreams/{id}"
	Role   access.Role
	Open   bool  // it needs no key: only for health
	Signed bool  // it needs no key: the handler checks a signature before it does anything
	Once   bool  // Idempotency-Key is honoured, since it starts or writes something
	Stream bool  // the response may last: only each write has a time limit
	Body   int64 // limit of the body in bytes; 0: the deployment's
	// Form is for clients that expect another form than OpenAI's, on this path and on those below it; nil: OpenAI's.
	Form  *Form
	Serve http.HandlerFunc
}

// Form is what a wire's clients expect of every answer, whatever it is about.
type Form struct {
	// Refusal is the body of an error, with the status that the clients know. The request's id may be empty.
	Refusal func(f *psyche.Fault, request string) (status int, body any)
	// Left writes what is left of the key's "Requests" or "Tokens" into the headers that the clients read.
	Left func(h http.Header, of string, left ratelimit.State)
	// RequestID is the header in which the clients look for the request's id, beside X-Request-Id.
	RequestID string
	// Elsewhere says of a request on a path without a form whether its client expects this one; nil: none does.
	Elsewhere func(h http.Header, path string) bool
}

// formOf is the form of a request on a path: that of the nearest route at it or above it which has one, else of one
// that is expected elsewhere.
func (s *Server) formOf(h http.Header, path string) *Form {
	for _, at := range slices.Backward(s.forms) {
		rest, found := strings.CutPrefix(path, at.Path)
		if found && (rest == "" || rest[0] == '/') {
			return at.Form
		}
	}
	for _, at := range s.forms {
		if at.Form.Elsewhere != nil && at.Form.Elsewhere(h, path) {
			return at.Form
		}
	}
	return nil
}

type caller struct{}

// CallerOf is the authenticated caller. Inside a route it is always known.
func CallerOf(ctx context.Context) psyche.Caller {
	if c, ok := ctx.Value(caller{}).(psyche.Caller); ok {
		return c
	}
	if x := exchangeOf(ctx); x != nil && x.caller != nil {
		return *x.caller
	}
	return psyche.Caller{}
}

// WithCaller is for handlers that take over a caller, and for tests.
func WithCaller(ctx context.Context, c psyche.Caller) context.Context {
	return context.WithValue(ctx, caller{}, c)
}
