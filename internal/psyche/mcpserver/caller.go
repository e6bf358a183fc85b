package mcpserver

import (
	"context"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// A session outlives the request that opened it and may carry requests for hours, so that the caller is set anew with
// each of them. The library passes on what it calls token information: here the caller that the server has
// authenticated.

// client is the sender of one HTTP request, with that request's context, which ends when the client hangs up.
type client struct {
	caller psyche.Caller
	ctx    context.Context // as long-lived as the request that it replaces
}

type clientKey struct{}

const clientExtra = "visitor"

// admit passes the caller to the library. It gets none of the secret headers.
func admit(next http.Handler) http.Handler {
	existing := auth.RequireBearerToken(func(ctx context.Context, _ string, r *http.Request) (*auth.TokenInfo, error) {
		v, ok := ctx.Value(clientKey{}).(client)
		if !ok {
			return nil, errors.New("the request has no authenticated caller")
		}
		r.Header.Del("Authorization")
		// A session belongs to the owner who opened it: the library compares UserID with each request (403).
		return &auth.TokenInfo{UserID: v.caller.Owner(), Extra: map[string]any{clientExtra: v}}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := client{front.CallerOf(r.Context()), r.Context()}
		r = r.WithContext(context.WithValue(r.Context(), clientKey{}, v))
		header := make(http.Header, len(r.Header))
		for name, values := range r.Header {
			if !secret[name] {
				header[name] = values
			}
		}
		header.Set("Authorization", "Bearer admitted")
		r.Header = header
		existing.ServeHTTP(w, r)
	})
}

// secret are headers with credentials.
var secret = map[string]bool{"Authorization": true, "Proxy-Authorization": true, "Cookie": true, "X-Api-Key": true}

// clientOf is the sender of a protocol request; false when it is not known.
func clientOf(req mcp.Request) (client, bool) {
	extra := req.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return client{}, false
	}
	v, ok := extra.TokenInfo.Extra[clientExtra].(client)
	return v, ok
}

// withRequest is ctx, ended also when the HTTP request ends, with the values of that request before those of the one
// that opened the session.
func withRequest(ctx context.Context, request context.Context) (context.Context, context.CancelFunc) {
	both, cancel := context.WithCancelCause(layered{ctx, request})
	stop := context.AfterFunc(request, func() { cancel(context.Cause(request)) })
	return both, func() {
		stop()
		cancel(nil)
	}
}

type layered struct {
	context.Context
	over context.Context // embedded as the context itself
}

func (l layered) Value(key any) any {
	if v := l.over.Value(key); v != nil {
		return v
	}
	return l.Context.Value(key)
}
