package mcpserver

import (
	"context"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// sessionless is the first version of the protocol in which each request stands for itself.
const sessionless = "2026-07-28"

// sessionVersions are those that begin with a handshake and go on in a session.
var sessionVersions = func() (older []string) {
	for _, v := range mcp.SupportedProtocolVersions() {
		if v < sessionless {
			older = append(older, v)
		}
	}
	return older
}()

// Routes is the face over streamable HTTP.
func (f *Face) Routes() []front.Route {
	serve := func(r *http.Request) *mcp.Server { return f.serverOf(front.CallerOf(r.Context())) }
	single := admit(mcp.NewStreamableHTTPHandler(serve, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: f.options.Body,
		DisableLocalhostProtection: true,
	}))
	lasting := admit(mcp.NewStreamableHTTPHandler(serve, &mcp.StreamableHTTPOptions{
		SessionTimeout: f.options.Idle, MaxRequestBodyBytes: f.options.Body, DisableLocalhostProtection: true,
	}))
	return []front.Route{{
		Path: "/mcp", Role: access.Client, Stream: true, Body: f.options.Body,
		Serve: func(w http.ResponseWriter, r *http.Request) {
			c, fault := f.callerOf(r)
			if fault != nil {
				front.Refuse(w, r, fault)
				return
			}
			r, err := f.taken(w, r.WithContext(front.WithCaller(r.Context(), c)))
			if err != nil {
				front.Refuse(w, r, err)
				return
			}
			if r.Header.Get(versionHeader) >= sessionless {
				single.ServeHTTP(w, untilLeaving(r, r.Header.Get("Mcp-Method") == "subscriptions/listen"))
				return
			}
			if r.Method == http.MethodPost && r.Header.Get(sessionHeader) == "" {
				f.makeRoom(c)
			}
			lasting.ServeHTTP(w, untilLeaving(r, r.Method == http.MethodGet))
		},
	}}
}

// callerOf is who asks, among the users of a key the one that the client names.
func (f *Face) callerOf(r *http.Request) (psyche.Caller, *psyche.Fault) {
	c := front.CallerOf(r.Context())
	if fault := f.guard(r, c); fault != nil {
		return c, fault
	}
	named, err := front.NamedCaller(r)
	var fault *psyche.Fault
	if errors.As(err, &fault) {
		return c, fault
	}
	if named.User != "" {
		c.User = named.User
	}
	return c, nil
}

const sessionHeader = "Mcp-Session-Id"

// untilLeaving ends a stream that would never end by itself when the server begins to end.
func untilLeaving(r *http.Request, endless bool) *http.Request {
	leaving := front.Leaving(r.Context())
	if !endless || leaving == nil {
		return r
	}
	ctx, cancel := context.WithCancel(r.Context())
	go func() { // it ends with the request, if not before
		defer cancel()
		select {
		case <-leaving:
		case <-ctx.Done():
		}
	}()
	return r.WithContext(ctx)
}
