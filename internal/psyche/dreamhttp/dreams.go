package dreamhttp

import (
	"context"
	"net/http"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
)

// Begin is the body of POST /v1/dreams. What is left out takes the agent's or the deployment's value.
type Begin struct {
	Agent string `json:"agent"` // handle or id
	Changes
}

// Redream is the body of POST /v1/dreams/{id}/redream. What is left out takes what that dream had.
type Redream struct {
	From dream.Phase `json:"from"` // the first phase that is dreamt anew: nrem, rem, integration or return
	Changes
}

// Changes are what may be wished of a dream.
type Changes struct {
	Instructions string                `json:"instructions,omitempty"` // what to dream about, at most 500 characters
	Theme        string                `json:"theme,omitempty"`        // another name of instructions
	Tier         dream.Tier            `json:"tier,omitempty"`         // core (one call) or hardened (everything)
	Model        string                `json:"model,omitempty"`        // of every role but the embedder
	Models       map[dream.Role]string `json:"models,omitempty"`       // by role, before model
	// hard cap in micro-dollars, at most the agent's own
	Budget *int64 `json:"budget_micros,omitempty"`
	// a whole number of 64 bits, or its decimal digits: same seed, memory and model, same dream
	Seed any `json:"seed,omitempty"`
}

func (f *Handler) begin(w http.ResponseWriter, r *http.Request) {
	var agent string
	request, err := readRequest(r, params.FieldOf("agent", params.Text(&agent)))
	if err == nil && agent == "" {
		err = params.Wrong("agent", "agent is missing: the handle of the agent that is to dream")
	}
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	request.Agent = agent
	begun, err := f.Dreams.Begin(r.Context(), front.CallerOf(r.Context()), request)
	f.respondBegun(w, r, begun, err)
}

func (f *Handler) redream(w http.ResponseWriter, r *http.Request) {
	var from string
	request, err := readRequest(r, params.FieldOf("from", params.Text(&from)))
	if err == nil && from == "" {
		err = params.Wrong("from", "from is missing: the first phase that is dreamt anew, nrem, rem, integration or return")
	}
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	again := psyche.RedreamRequest{DreamRequest: request, Dream: r.PathValue("id"), From: dream.Phase(from)}
	begun, err := f.Dreams.Redream(r.Context(), front.CallerOf(r.Context()), again)
	f.respondBegun(w, r, begun, err)
}

func (f *Handler) respondBegun(w http.ResponseWriter, r *http.Request, begun psyche.Dream, err error) {
	if err == nil {
		w.Header().Set("Location", "/v1/dreams/"+begun.ID)
	}
	answer(w, r, http.StatusCreated, begun, err)
}

// byID handles an operation that needs only the dream's id. The body may be absent or empty.
func (f *Handler) byID(
	activity func(ctx context.Context, c psyche.Caller, id string) (psyche.Dream, error),
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := params.Read(r, nil); err != nil {
			front.Refuse(w, r, err)
			return
		}
		done, err := activity(r.Context(), front.CallerOf(r.Context()), r.PathValue("id"))
		answer(w, r, http.StatusOK, done, err)
	}
}

func (f *Handler) show(w http.ResponseWriter, r *http.Request) {
	_, err := params.QueryOf(r)
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	found, err := f.Dreams.Dream(r.Context(), front.CallerOf(r.Context()), r.PathValue("id"))
	answer(w, r, http.StatusOK, found, err)
}

func (f *Handler) list(w http.ResponseWriter, r *http.Request) {
	q, err := params.QueryOf(r, "after", "limit", "agent", "status", "include_archived")
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	request := psyche.ListRequest{
		Agent:    q.Text("agent"),
		Status:   dream.Status(q.Text("status")),
		After:    q.Text("after"),
		Limit:    q.Limit(psyche.LargestPage),
		Archived: q.Bool("include_archived"),
	}
	if q.Fault != nil {
		front.Refuse(w, r, q.Fault)
		return
	}
	found, err := f.Dreams.List(r.Context(), front.CallerOf(r.Context()), request)
	answer(w, r, http.StatusOK, found, err)
}

func (f *Handler) insights(w http.ResponseWriter, r *http.Request) {
	_, err := params.QueryOf(r)
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	found, err := f.Dreams.Insights(r.Context(), front.CallerOf(r.Context()), r.PathValue("id"))
	answer(w, r, http.StatusOK, found, err)
}
