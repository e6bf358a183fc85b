// Package front is the server before the faces: who may pass, how much, and how it ends. A path that no route names is
// refused.
package front

import (
	"context"
	"net/http"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// Route is one path of a face.
type Route struct {
	Method string // of HTTP; empty: every method, which only a protocol of its own may ask for
	Path   string // as http.ServeMux patterns write it, such as "/v1/dreams/{id}"
	Role   access.Role
	Open   bool  // it needs no key: health alone
	Once   bool  // an Idempotency-Key is honoured: it starts or writes something
	Stream bool  // its answer may last: no time is set for all of it, each write has its own
	Body   int64 // most bytes of a body; 0: the deployment's
	Serve  http.HandlerFunc
}

type caller struct{}

// CallerOf is who asks. Inside a route it is always known.
func CallerOf(ctx context.Context) psyche.Caller {
	if c, ok := ctx.Value(caller{}).(psyche.Caller); ok {
		return c
	}
	if x := exchangeOf(ctx); x != nil && x.caller != nil {
		return *x.caller
	}
	return psyche.Caller{}
}

// WithCaller is for faces that take over a caller, and for their tests.
func WithCaller(ctx context.Context, c psyche.Caller) context.Context {
	return context.WithValue(ctx, caller{}, c)
}
