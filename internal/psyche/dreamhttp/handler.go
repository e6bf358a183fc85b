// Package dreamhttp is the HTTP API of dreams and memories: begin, read, cancel, resume and archive dreams, follow
// events, and search, add, forget and restore memories.
package dreamhttp

import (
	_ "embed" // for openapi.json beside this file
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
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
		activity("/v1/dreams", begins(f.begin)),
		read("/v1/dreams", access.Client, ok(f.list)),
		read("/v1/dreams/{id}", access.Client, ok(f.show)),
		activity("/v1/dreams/{id}/cancel", byID(f.Dreams.Cancel)),
		activity("/v1/dreams/{id}/resume", byID(f.Dreams.Resume)),
		activity("/v1/dreams/{id}/archive", byID(f.Dreams.Archive)),
		activity("/v1/dreams/{id}/redream", begins(f.redream)),
		read("/v1/dreams/{id}/insights", access.Client, ok(f.insights)),
		read("/v1/dreams/{id}/fragments", access.Operator, ok(made[*dream.Fragment](f, dream.KindFragment))),
		read("/v1/dreams/{id}/scenarios", access.Operator, ok(made[*dream.Scenario](f, dream.KindScenario))),
		read("/v1/dreams/{id}/hypotheses", access.Operator, ok(made[*dream.Hypothesis](f, dream.KindHypothesis))),
		read("/v1/dreams/{id}/predictions", access.Operator, ok(made[*dream.Prediction](f, dream.KindPrediction))),
		read("/v1/dreams/{id}/journal", access.Operator, public(made[*dream.Journal](f, dream.KindJournal))),
		read("/v1/agents/{agent}/memories", access.Client, ok(f.recall)),
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
			Serve:  ok(f.forget),
		},
		read("/v1/agents/{agent}/memories/archived", access.Operator, ok(f.archived)),
		activity("/v1/agents/{agent}/memories/restore", ok(f.restore)),
		read("/v1/agents/{agent}/owners", access.Owner, ok(f.owners)),
		read("/v1/agents/{agent}/journal", access.Operator,
			public(held[*dream.Journal](f, dream.KindJournal, memory.Newest, nil))),
		read("/v1/agents/{agent}/playbook", access.Operator,
			ok(held[*dream.Playbook](f, dream.KindPlaybook, memory.HighestScore, nil))),
		read("/v1/agents/{agent}/predictions", access.Operator,
			ok(held[*dream.Prediction](f, dream.KindPrediction, memory.SoonestDue, psyche.PredictionStatuses))),
		activity("/v1/agents/{agent}/predictions/check", ok(f.checkPredictions)),
		activity("/v1/agents/{agent}/predictions/resolve", ok(f.resolvePrediction)),
		read("/v1/agents/{agent}/claims", access.Operator,
			ok(held[*dream.Claim](f, dream.KindClaim, memory.HighestScore, psyche.ClaimStatuses))),
		read("/v1/agents/{agent}/claims/{claim}", access.Operator, ok(f.explainClaim)),
		read("/v1/agents/{agent}/hypotheses", access.Operator, ok(f.hypotheses)),
		read("/v1/agents/{agent}/hypotheses/{hypothesis}", access.Operator, ok(f.explainHypothesis)),
		read("/v1/agents/{agent}/morning", access.Operator, ok(f.morning)),
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

// ok answers with what do returns.
func ok[T any](do func(r *http.Request) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := do(r)
		answer(w, r, http.StatusOK, body, err)
	}
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
