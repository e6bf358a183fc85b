// Package openaihttp is the OpenAI-compatible API: chat completions, models and embeddings, for clients that know
// nothing of agents.
package openaihttp

import (
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
)

// Handler serves a psyche.Service.
type Handler struct {
	turnhttp.Turns
	Mind psyche.Mind
	// Hold is how long the lease of a session held by its stream lasts without renewal; 0: a minute.
	Hold time.Duration
}

// Routes returns the routes. Nothing below /v1/models wakes an agent.
func (f *Handler) Routes() []front.Route {
	read := func(path string, serve http.HandlerFunc) front.Route {
		return front.Route{Method: http.MethodGet, Path: path, Role: access.Client, Serve: serve}
	}
	change := func(path string, serve http.HandlerFunc) front.Route {
		route := read(path, serve)
		route.Method, route.Once = http.MethodPost, true
		return route
	}
	return []front.Route{
		{
			Method: http.MethodPost,
			Path:   "/v1/chat/completions",
			Role:   access.Client,
			Once:   true,
			Stream: true,
			Serve:  f.chat,
		},
		{
			Method: http.MethodPost,
			Path:   "/v1/completions",
			Role:   access.Client,
			Once:   true,
			Stream: true,
			Serve:  f.completions,
		},
		{
			Method: http.MethodPost,
			Path:   "/v1/embeddings",
			Role:   access.Client,
			Stream: true,
			Serve:  f.embeddings,
		},
		read("/v1/models", ok(f.models)),
		read("/v1/models/{id}", ok(f.model)),
		read("/v1/models/agent/{id}", ok(f.model)),
		read("/v1/models/oneiros/{id}", ok(f.model)),
		read("/v1/agents/{agent}/status", ok(f.status)),
		read("/v1/agents/{agent}/emotion", ok(f.emotion)),
		change("/v1/agents/{agent}/emotion", ok(f.feel)),
		change("/v1/agents/{agent}/session", ok(f.open)),
		{
			Method: http.MethodGet,
			Path:   "/v1/agents/{agent}/session",
			Role:   access.Client,
			Stream: true,
			Serve:  f.holdSession,
		},
		{Method: http.MethodDelete, Path: "/v1/agents/{agent}/session", Role: access.Client, Serve: f.leave},
	}
}
