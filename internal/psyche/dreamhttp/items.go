package dreamhttp

import (
	"net/http"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
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
	q, err := queryOf(r, "after", "limit")
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	limit := q.limit()
	if q.fault != nil {
		front.Refuse(w, r, q.fault)
		return
	}
	found, err := psyche.ItemsOf[T](r.Context(), f.Dreams, front.CallerOf(r.Context()), r.PathValue("id"), kind,
		q.text("after"), limit)
	answer(w, r, http.StatusOK, found, err)
}

func (f *Handler) entries(w http.ResponseWriter, r *http.Request) {
	q, err := queryOf(r, "after", "limit")
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	limit := q.limit()
	if q.fault != nil {
		front.Refuse(w, r, q.fault)
		return
	}
	found, err := psyche.ItemsOf[*dream.Journal](r.Context(), f.Dreams, front.CallerOf(r.Context()),
		r.PathValue("id"), dream.KindJournal, q.text("after"), limit)
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
	q, err := queryOf(r, "after", "limit", "status")
	if err != nil {
		return psyche.Page[*dream.Hypothesis]{}, err
	}
	limit, status := q.limit(), q.status(psyche.HypothesisStatuses)
	if q.fault != nil {
		return psyche.Page[*dream.Hypothesis]{}, q.fault
	}
	return f.Dreams.ListHypotheses(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), status,
		q.text("after"), limit)
}

func (f *Handler) explainHypothesis(w http.ResponseWriter, r *http.Request) {
	e, err := f.Dreams.ExplainHypothesis(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"),
		r.PathValue("hypothesis"))
	answer(w, r, http.StatusOK, e, err)
}

// morning reports what is new for an agent.
func (f *Handler) morning(w http.ResponseWriter, r *http.Request) {
	q, err := queryOf(r, "since")
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	since, err := psyche.ReadSince(q.text("since"))
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
	if err := readOptional(r, []field{{"look_only", boolInto(&c.LookOnly)}}); err != nil {
		front.Refuse(w, r, err)
		return
	}
	done, err := f.Dreams.CheckPredictions(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), c.LookOnly)
	answer(w, r, http.StatusOK, done, err)
}

func (f *Handler) resolvePrediction(w http.ResponseWriter, r *http.Request) {
	var v psyche.ResolveRequest
	err := readFields(r, []field{
		{"id", text(&v.Prediction)},
		{"verdict", text(&v.Verdict)},
		{"because", text(&v.Because)},
		{"tool", text(&v.Tool)},
		{"again", boolInto(&v.Again)},
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
	q, err := queryOf(r, names...)
	if err != nil {
		return psyche.Page[T]{}, err
	}
	limit := q.limit()
	if status := q.status(statuses); status != "" {
		of.Statuses = []string{status}
	}
	if q.fault != nil {
		return psyche.Page[T]{}, q.fault
	}
	return psyche.HeldOf[T](r.Context(), f.Dreams, front.CallerOf(r.Context()), r.PathValue("agent"), of,
		q.text("after"), limit)
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
