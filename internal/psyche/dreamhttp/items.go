package dreamhttp

import (
	"net/http"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/morning"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
)

// itemsReader reads a page of items as a request asks for it.
type itemsReader[T dream.Item] func(r *http.Request) (psyche.Page[T], error)

// made returns the items of one kind that a dream made, as in the command line's --json.
func made[T dream.Item](f *Handler, kind dream.Kind) itemsReader[T] {
	return func(r *http.Request) (found psyche.Page[T], err error) {
		q, err := params.QueryOf(r, "after", "limit")
		if err != nil {
			return found, err
		}
		limit := q.Limit(psyche.LargestPage)
		if q.Fault != nil {
			return found, q.Fault
		}
		return psyche.ItemsOf[T](r.Context(), f.Dreams, front.CallerOf(r.Context()), r.PathValue("id"), kind,
			q.Text("after"), limit)
	}
}

// held returns an agent's live items of one kind, of the status that is asked for where statuses name some.
func held[T dream.Item](f *Handler, kind dream.Kind, sort memory.SortOrder, statuses []string) itemsReader[T] {
	return func(r *http.Request) (found psyche.Page[T], err error) {
		names := []string{"after", "limit"}
		if statuses != nil {
			names = append(names, "status")
		}
		q, err := params.QueryOf(r, names...)
		if err != nil {
			return found, err
		}
		limit, of := q.Limit(psyche.LargestPage), memory.Query{Kinds: []dream.Kind{kind}, Sort: sort}
		if status := q.OneOf("status", statuses); status != "" {
			of.Statuses = []string{status}
		}
		if q.Fault != nil {
			return found, q.Fault
		}
		return psyche.HeldOf[T](r.Context(), f.Dreams, front.CallerOf(r.Context()), r.PathValue("agent"), of,
			q.Text("after"), limit)
	}
}

// public shows of journal entries what is for clients.
func public(read itemsReader[*dream.Journal]) http.HandlerFunc {
	return ok(func(r *http.Request) (psyche.Page[journal.Public], error) {
		p, err := read(r)
		result := psyche.Page[journal.Public]{
			Object: p.Object,
			Data:   make([]journal.Public, len(p.Data)),
			First:  p.First,
			Last:   p.Last,
			More:   p.More,
		}
		for i, j := range p.Data {
			result.Data[i] = journal.PublicOf(j)
		}
		return result, err
	})
}

func (f *Handler) explainClaim(r *http.Request) (psyche.ClaimExplanation, error) {
	return f.Dreams.ExplainClaim(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), r.PathValue("claim"))
}

// hypotheses returns the hypotheses of an agent, over all dreams.
func (f *Handler) hypotheses(r *http.Request) (found psyche.Page[*dream.Hypothesis], err error) {
	q, err := params.QueryOf(r, "after", "limit", "status")
	if err != nil {
		return found, err
	}
	limit, status := q.Limit(psyche.LargestPage), q.OneOf("status", psyche.HypothesisStatuses)
	if q.Fault != nil {
		return found, q.Fault
	}
	return f.Dreams.ListHypotheses(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), status,
		q.Text("after"), limit)
}

func (f *Handler) explainHypothesis(r *http.Request) (psyche.HypothesisExplanation, error) {
	return f.Dreams.ExplainHypothesis(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"),
		r.PathValue("hypothesis"))
}

// morning reports what is new for an agent.
func (f *Handler) morning(r *http.Request) (report morning.Report, err error) {
	q, err := params.QueryOf(r, "since")
	if err != nil {
		return report, err
	}
	since, err := psyche.ReadSince(q.Text("since"))
	if err != nil {
		return report, err
	}
	return f.Dreams.Morning(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), since)
}

// Check is the body of POST /v1/agents/{agent}/predictions/check.
type Check struct {
	LookOnly bool `json:"look_only,omitempty"` // ask no model, and spend nothing
}

func (f *Handler) checkPredictions(r *http.Request) (done psyche.PredictionCheck, err error) {
	var c Check
	if err := params.OptionalObject(r, &c); err != nil {
		return done, err
	}
	return f.Dreams.CheckPredictions(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), c.LookOnly)
}

func (f *Handler) resolvePrediction(r *http.Request) (done psyche.PredictionResolution, err error) {
	var v psyche.ResolveRequest
	if err := params.Object(r, &v); err != nil {
		return done, err
	}
	return f.Dreams.ResolvePrediction(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), v)
}
