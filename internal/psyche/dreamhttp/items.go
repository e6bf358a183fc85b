package dreamhttp

import (
	"net/http"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
)

func (f *Handler) fragments(w http.ResponseWriter, r *http.Request) {
	made[*dream.Fragment](f, w, r, dream.KindFragment)
}

func (f *Handler) scenarios(w http.ResponseWriter, r *http.Request) {
	made[*dream.Scenario](f, w, r, dream.KindScenario)
}

func (f *Handler) hypotheses(w http.ResponseWriter, r *http.Request) {
	made[*dream.Hypothesis](f, w, r, dream.KindHypothesis)
}

func (f *Handler) predictionsOf(w http.ResponseWriter, r *http.Request) {
	made[*dream.Prediction](f, w, r, dream.KindPrediction)
}

// made returns the items of one kind that a dream made, as in the command line's --json.
func made[T dream.Item](f *Handler, w http.ResponseWriter, r *http.Request, kind dream.Kind) {
	q, err := params.QueryOf(r, "after", "limit")
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	limit := q.Limit(psyche.LargestPage)
	if q.Fault != nil {
		front.Refuse(w, r, q.Fault)
		return
	}
	found, err := psyche.ItemsOf[T](r.Context(), f.Dreams, front.CallerOf(r.Context()), r.PathValue("id"), kind,
		q.Text("after"), limit)
	answer(w, r, http.StatusOK, found, err)
}

func (f *Handler) entries(w http.ResponseWriter, r *http.Request) {
	q, err := params.QueryOf(r, "after", "limit")
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	limit := q.Limit(psyche.LargestPage)
	if q.Fault != nil {
		front.Refuse(w, r, q.Fault)
		return
	}
	found, err := psyche.ItemsOf[*dream.Journal](r.Context(), f.Dreams, front.CallerOf(r.Context()),
		r.PathValue("id"), dream.KindJournal, q.Text("after"), limit)
	answer(w, r, http.StatusOK, public(found), err)
}

func (f *Handler) journal(w http.ResponseWriter, r *http.Request) {
	found, err := liveItems[*dream.Journal](f, r,
		memory.Query{Kinds: []dream.Kind{dream.KindJournal}, Sort: memory.Newest}, nil)
	answer(w, r, http.StatusOK, public(found), err)
}

func (f *Handler) playbook(w http.ResponseWriter, r *http.Request) {
	found, err := liveItems[*dream.Playbook](f, r,
		memory.Query{Kinds: []dream.Kind{dream.KindPlaybook}, Sort: memory.HighestScore}, nil)
	answer(w, r, http.StatusOK, found, err)
}

func (f *Handler) claims(w http.ResponseWriter, r *http.Request) {
	found, err := liveItems[*dream.Claim](f, r,
		memory.Query{Kinds: []dream.Kind{dream.KindClaim}, Sort: memory.HighestScore}, psyche.ClaimStatuses)
	answer(w, r, http.StatusOK, found, err)
}

func (f *Handler) explainClaim(w http.ResponseWriter, r *http.Request) {
	e, err := f.Dreams.ExplainClaim(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), r.PathValue("claim"))
	answer(w, r, http.StatusOK, e, err)
}

// heldHypotheses returns the hypotheses of an agent, over all dreams.
func (f *Handler) heldHypotheses(w http.ResponseWriter, r *http.Request) {
	found, err := f.listHypotheses(r)
	answer(w, r, http.StatusOK, found, err)
}

func (f *Handler) listHypotheses(r *http.Request) (psyche.Page[*dream.Hypothesis], error) {
	q, err := params.QueryOf(r, "after", "limit", "status")
	if err != nil {
		return psyche.Page[*dream.Hypothesis]{}, err
	}
	limit, status := q.Limit(psyche.LargestPage), q.OneOf("status", psyche.HypothesisStatuses)
	if q.Fault != nil {
		return psyche.Page[*dream.Hypothesis]{}, q.Fault
	}
	return f.Dreams.ListHypotheses(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), status,
		q.Text("after"), limit)
}

func (f *Handler) explainHypothesis(w http.ResponseWriter, r *http.Request) {
	e, err := f.Dreams.ExplainHypothesis(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"),
		r.PathValue("hypothesis"))
	answer(w, r, http.StatusOK, e, err)
}

// morning reports what is new for an agent.
func (f *Handler) morning(w http.ResponseWriter, r *http.Request) {
	q, err := params.QueryOf(r, "since")
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	since, err := psyche.ReadSince(q.Text("since"))
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	report, err := f.Dreams.Morning(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), since)
	answer(w, r, http.StatusOK, report, err)
}

func (f *Handler) predictions(w http.ResponseWriter, r *http.Request) {
	found, err := liveItems[*dream.Prediction](f, r,
		memory.Query{Kinds: []dream.Kind{dream.KindPrediction}, Sort: memory.SoonestDue}, psyche.PredictionStatuses)
	answer(w, r, http.StatusOK, found, err)
}

// Check is the body of POST /v1/agents/{agent}/predictions/check.
type Check struct {
	LookOnly bool `json:"look_only,omitempty"` // ask no model, and spend nothing
}

func (f *Handler) checkPredictions(w http.ResponseWriter, r *http.Request) {
	var c Check
	if err := params.ReadOptional(r, []params.Field{params.FieldOf("look_only", boolInto(&c.LookOnly))}); err != nil {
		front.Refuse(w, r, err)
		return
	}
	done, err := f.Dreams.CheckPredictions(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), c.LookOnly)
	answer(w, r, http.StatusOK, done, err)
}

func (f *Handler) resolvePrediction(w http.ResponseWriter, r *http.Request) {
	var v psyche.ResolveRequest
	err := params.Read(r, []params.Field{
		params.FieldOf("id", params.Text(&v.Prediction)),
		params.FieldOf("verdict", params.Text(&v.Verdict)),
		params.FieldOf("because", params.Text(&v.Because)),
		params.FieldOf("tool", params.Text(&v.Tool)),
		params.FieldOf("again", boolInto(&v.Again)),
	})
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	done, err := f.Dreams.ResolvePrediction(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), v)
	answer(w, r, http.StatusOK, done, err)
}

// liveItems returns an agent's live items of one kind.
func liveItems[T dream.Item](f *Handler, r *http.Request, of memory.Query, statuses []string) (psyche.Page[T], error) {
	names := []string{"after", "limit"}
	if statuses != nil {
		names = append(names, "status")
	}
	q, err := params.QueryOf(r, names...)
	if err != nil {
		return psyche.Page[T]{}, err
	}
	limit := q.Limit(psyche.LargestPage)
	if status := q.OneOf("status", statuses); status != "" {
		of.Statuses = []string{status}
	}
	if q.Fault != nil {
		return psyche.Page[T]{}, q.Fault
	}
	return psyche.HeldOf[T](r.Context(), f.Dreams, front.CallerOf(r.Context()), r.PathValue("agent"), of,
		q.Text("after"), limit)
}

func public(p psyche.Page[*dream.Journal]) psyche.Page[journal.Public] {
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
	return result
}
