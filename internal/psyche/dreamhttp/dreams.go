package dreamhttp

import (
	"context"
	"net/http"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
)

func (f *Handler) begin(r *http.Request) (begun psyche.Dream, err error) {
	var in Begin
	if err := params.Object(r, &in); err != nil {
		return begun, err
	}
	if in.Agent == "" {
		return begun, params.Wrong("agent", "agent is missing: the handle of the agent that is to dream")
	}
	request, err := in.request()
	if err != nil {
		return begun, err
	}
	request.Agent = in.Agent
	return f.Dreams.Begin(r.Context(), front.CallerOf(r.Context()), request)
}

func (f *Handler) redream(r *http.Request) (begun psyche.Dream, err error) {
	var in Redream
	if err := params.Object(r, &in); err != nil {
		return begun, err
	}
	if in.From == "" {
		return begun,
			params.Wrong("from", "from is missing: the first phase that is dreamt anew, nrem, rem, integration or return")
	}
	request, err := in.request()
	if err != nil {
		return begun, err
	}
	again := psyche.RedreamRequest{DreamRequest: request, Dream: r.PathValue("id"), From: in.From}
	return f.Dreams.Redream(r.Context(), front.CallerOf(r.Context()), again)
}

// begins answers with a dream that begins, and where it is read.
func begins(do func(r *http.Request) (psyche.Dream, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		begun, err := do(r)
		if err == nil {
			w.Header().Set("Location", "/v1/dreams/"+begun.ID)
		}
		answer(w, r, http.StatusCreated, begun, err)
	}
}

// byID handles an operation that needs only the dream's id. The body may be absent or empty.
func byID(
	activity func(ctx context.Context, c psyche.Caller, id string) (psyche.Dream, error),
) http.HandlerFunc {
	return ok(func(r *http.Request) (psyche.Dream, error) {
		if err := params.Read(r, nil); err != nil {
			return psyche.Dream{}, err
		}
		return activity(r.Context(), front.CallerOf(r.Context()), r.PathValue("id"))
	})
}

func (f *Handler) show(r *http.Request) (found psyche.Dream, err error) {
	if _, err := params.QueryOf(r); err != nil {
		return found, err
	}
	return f.Dreams.Dream(r.Context(), front.CallerOf(r.Context()), r.PathValue("id"))
}

func (f *Handler) list(r *http.Request) (found psyche.Page[psyche.Dream], err error) {
	q, err := params.QueryOf(r, "after", "limit", "agent", "status", "include_archived")
	if err != nil {
		return found, err
	}
	request := psyche.ListRequest{
		Agent:    q.Text("agent"),
		Status:   dream.Status(q.Text("status")),
		After:    q.Text("after"),
		Limit:    q.Limit(psyche.LargestPage),
		Archived: q.Bool("include_archived"),
	}
	if q.Fault != nil {
		return found, q.Fault
	}
	return f.Dreams.List(r.Context(), front.CallerOf(r.Context()), request)
}

func (f *Handler) insights(r *http.Request) (found psyche.Page[psyche.Insight], err error) {
	if _, err := params.QueryOf(r); err != nil {
		return found, err
	}
	return f.Dreams.Insights(r.Context(), front.CallerOf(r.Context()), r.PathValue("id"))
}
