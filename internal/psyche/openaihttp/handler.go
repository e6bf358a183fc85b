// Package openaihttp is the OpenAI-compatible API: chat completions, models and embeddings, for clients that know
// nothing of agents.
package openaihttp

import (
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// Handler serves a psyche.Service.
type Handler struct {
	Talk psyche.Talk
	Mind psyche.Mind
	Now  func() time.Time
	// Note is called when a turn begins, and the function it returns when the turn is over; may be nil.
	Note func(path string) (over func(TurnFigures))
	// Hold is how long the lease of a session held by its stream lasts without renewal; 0: a minute.
	Hold time.Duration
}

// TurnFigures are the figures of a turn. They hold no text.
type TurnFigures struct {
	Path    string // "/chat/completions" or "/embeddings"
	Status  int    // the provider's; 0 when there was no response
	Stream  bool
	First   time.Duration // from the end of the request to the first byte of the response
	Took    time.Duration // to its last
	Broken  bool          // the provider's response broke off
	Dropped bool          // the client hung up
	Report  psyche.TurnReport
}

// Routes returns the routes. Nothing below /v1/models wakes an agent.
func (f *Handler) Routes() []front.Route {
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
			Path:   "/v1/embeddings",
			Role:   access.Client,
			Stream: true,
			Serve:  f.embeddings,
		},
		{Method: http.MethodGet, Path: "/v1/models", Role: access.Client, Serve: ok(f.models)},
		{Method: http.MethodGet, Path: "/v1/models/{id}", Role: access.Client, Serve: ok(f.model)},
		{Method: http.MethodGet, Path: "/v1/models/agent/{id}", Role: access.Client, Serve: ok(f.model)},
		{Method: http.MethodGet, Path: "/v1/agents/{agent}/status", Role: access.Client, Serve: ok(f.status)},
		{Method: http.MethodGet, Path: "/v1/agents/{agent}/emotion", Role: access.Client, Serve: ok(f.emotion)},
		{
			Method: http.MethodPost,
			Path:   "/v1/agents/{agent}/emotion",
			Role:   access.Client,
			Once:   true,
			Serve:  ok(f.feel),
		},
		{
			Method: http.MethodPost,
			Path:   "/v1/agents/{agent}/session",
			Role:   access.Client,
			Once:   true,
			Serve:  ok(f.open),
		},
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

func (f *Handler) note(path string) func(TurnFigures) {
	if f.Note == nil {
		return func(TurnFigures) {}
	}
	return f.Note(path)
}
