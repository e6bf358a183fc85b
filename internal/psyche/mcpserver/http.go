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

// sessionless is the first version of the protocol without sessions.
const sessionless = "2026-07-28"

// sessionVersions begin with a handshake and use a session.
var sessionVersions = func() (older []string) {
	for _, v := range mcp.SupportedProtocolVersions() {
		if v < sessionless {
			older = append(older, v)
		}
	}
	return older
}()

// Routes are the routes for streamable HTTP.
func (f *Handler) Routes() []front.Route {
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
			r, err := f.limitBatch(w, r.WithContext(front.WithCaller(r.Context(), c)))
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

// callerOf is the authenticated caller with the user that the client names.
func (f *Handler) callerOf(r *http.Request) (psyche.Caller, *psyche.Fault) {
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

// untilLeaving ends a stream without an end when the server begins to stop.
func untilLeaving(r *http.Request, endless bool) *http.Request {
	leaving := front.Leaving(r.Context())
	if !endless || leaving == nil {
		return r
	}
	ctx, cancel := context.WithCancel(r.Context())
	go func() { // ends with the request at the latest
		defer cancel()
		select {
		case <-leaving:
		case <-ctx.Done():
		}
	}()
	return r.WithContext(ctx)
}
