// Package openaihttp is the OpenAI wire of a being: chat completions, models and embeddings, for clients that know
// nothing of agents.
package openaihttp

import (
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// Face answers for a being.
type Face struct {
	Talk psyche.Talk
	Mind psyche.Mind
	Now  func() time.Time
	// told when a turn begins, and by what it answers when it is over; nil: nobody is
	Note func(path string) (over func(Passed))
	// how long the lease of a session that is held by its stream lasts without renewal; 0: a minute
	Hold time.Duration
}

// Passed is a turn as figures see it. It holds no text.
type Passed struct {
	Path    string // "/chat/completions" or "/embeddings"
	Status  int    // of the provider; 0 when nothing came of it
	Stream  bool
	First   time.Duration // from the request's last byte to the answer's first
	Took    time.Duration // to its last
	Broken  bool          // the provider's answer broke off
	Dropped bool          // the client hung up
	Report  psyche.TurnReport
}

// Routes of the face. Nothing below /v1/models wakes anybody.
func (f *Face) Routes() []front.Route {
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
		{Method: http.MethodGet, Path: "/v1/models", Role: access.Client, Serve: f.models},
		{Method: http.MethodGet, Path: "/v1/models/{id}", Role: access.Client, Serve: f.model},
		{Method: http.MethodGet, Path: "/v1/models/agent/{id}", Role: access.Client, Serve: f.model},
		{Method: http.MethodGet, Path: "/v1/agents/{agent}/status", Role: access.Client, Serve: f.status},
		{Method: http.MethodGet, Path: "/v1/agents/{agent}/emotion", Role: access.Client, Serve: f.emotion},
		{
			Method: http.MethodPost,
			Path:   "/v1/agents/{agent}/emotion",
			Role:   access.Client,
			Once:   true,
			Serve:  f.feel,
		},
		{
			Method: http.MethodPost,
			Path:   "/v1/agents/{agent}/session",
			Role:   access.Client,
			Once:   true,
			Serve:  f.open,
		},
		{
			Method: http.MethodGet,
			Path:   "/v1/agents/{agent}/session",
			Role:   access.Client,
			Stream: true,
			Serve:  f.hold,
		},
		{Method: http.MethodDelete, Path: "/v1/agents/{agent}/session", Role: access.Client, Serve: f.leave},
	}
}

func (f *Face) note(path string) func(Passed) {
	if f.Note == nil {
		return func(Passed) {}
	}
	return f.Note(path)
}
