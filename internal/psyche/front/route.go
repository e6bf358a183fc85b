// Package front is the HTTP server in front of the APIs: authentication, limits, and shutdown. A path without a route
// is refused.
package front

import (
	"context"
	"net/http"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
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
	// Refusal is the body of an error on this path, for clients that expect another form than OpenAI's, with the status
	// that they know; nil: OpenAI's. The request's id may be empty.
	Refusal func(f *psyche.Fault, request string) (status int, body any)
	// Rate writes what is left of the key's rate into the headers that the path's clients read; nil: OpenAI's.
	Rate  func(h http.Header, left RateLimit)
	Serve http.HandlerFunc
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
