// Package dreamhttp is the HTTP API of dreams and memories: begin, read, cancel, resume and archive dreams, follow
// events, and search, add, forget and restore memories.
package dreamhttp

import (
	_ "embed" // for openapi.json beside this file
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// Handler serves the dreams and memories of all agents.
type Handler struct {
	Dreams    *psyche.Dreams
	Memories  psyche.Memories
	Heartbeat time.Duration // interval of comments in a silent event stream; 0: 15 s
}

// largest is the limit of a body in bytes: a theme of dream.LongestTheme characters, all escaped, and the other
// fields.
const largest = 16 << 10

// description is generated from types and routes by go generate; a test compares it.
//
//go:generate go test -run TheDescriptionIsThatOfTheTypesAndRoutes . -update
//go:embed openapi.json
var description []byte

// Routes returns the routes. None of them wakes an agent.
func (f *Handler) Routes() []front.Route {
	read := func(path string, role access.Role, serve http.HandlerFunc) front.Route {
		return front.Route{Method: http.MethodGet, Path: path, Role: role, Serve: serve}
	}
	activity := func(path string, serve http.HandlerFunc) front.Route {
		return front.Route{
			Method: http.MethodPost,
			Path:   path,
			Role:   access.Operator,
			Once:   true,
			Body:   largest,
			Serve:  serve,
		}
	}
	return []front.Route{
		activity("/v1/dreams", f.begin),
		read("/v1/dreams", access.Client, f.list),
		read("/v1/dreams/{id}", access.Client, f.show),
		activity("/v1/dreams/{id}/cancel", f.byID(f.Dreams.Cancel)),
		activity("/v1/dreams/{id}/resume", f.byID(f.Dreams.Resume)),
		activity("/v1/dreams/{id}/archive", f.byID(f.Dreams.Archive)),
		activity("/v1/dreams/{id}/redream", f.redream),
		read("/v1/dreams/{id}/insights", access.Client, f.insights),
		read("/v1/dreams/{id}/fragments", access.Operator, f.fragments),
		read("/v1/dreams/{id}/scenarios", access.Operator, f.scenarios),
		read("/v1/dreams/{id}/hypotheses", access.Operator, f.hypotheses),
		read("/v1/dreams/{id}/predictions", access.Operator, f.predictionsOf),
		read("/v1/dreams/{id}/journal", access.Operator, f.entries),
		read("/v1/agents/{agent}/memories", access.Client, f.recall),
		{
			Method: http.MethodPost,
			Path:   "/v1/agents/{agent}/memories",
			Role:   access.Client,
			Once:   true,
			Body:   largest,
			Serve:  f.add,
		},
		{
			Method: http.MethodPost,
			Path:   "/v1/agents/{agent}/memories/forget",
			Role:   access.Owner,
			Once:   true,
			Body:   largestForget,
			Serve:  f.forget,
		},
		read("/v1/agents/{agent}/memories/archived", access.Operator, f.archived),
		activity("/v1/agents/{agent}/memories/restore", f.restore),
		read("/v1/agents/{agent}/owners", access.Owner, f.owners),
		read("/v1/agents/{agent}/journal", access.Operator, f.journal),
		read("/v1/agents/{agent}/playbook", access.Operator, f.playbook),
		read("/v1/agents/{agent}/predictions", access.Operator, f.predictions),
		activity("/v1/agents/{agent}/predictions/check", f.checkPredictions),
		activity("/v1/agents/{agent}/predictions/resolve", f.resolvePrediction),
		read("/v1/agents/{agent}/claims", access.Operator, f.claims),
		read("/v1/agents/{agent}/claims/{claim}", access.Operator, f.explainClaim),
		read("/v1/agents/{agent}/hypotheses", access.Operator, f.heldHypotheses),
		read("/v1/agents/{agent}/hypotheses/{hypothesis}", access.Operator, f.explainHypothesis),
		read("/v1/agents/{agent}/morning", access.Operator, f.morning),
		{
			Method: http.MethodGet,
			Path:   "/v1/events",
			Role:   access.Client,
			Stream: true,
			Serve:  f.events,
		},
		read("/v1/openapi.json", access.Client, f.describe),
	}
}

func (f *Handler) describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(description)
}

// answer writes a result or an error.
func answer[T any](w http.ResponseWriter, r *http.Request, status int, body T, err error) {
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	front.Answer(w, status, body)
}
