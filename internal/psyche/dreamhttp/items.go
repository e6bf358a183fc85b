package dreamhttp

import (
	"net/http"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/memory"
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
	found, err := held[*dream.Journal](f, r,
		memory.Query{Kinds: []dream.Kind{dream.KindJournal}, Sort: memory.Newest}, nil)
	answer(w, r, http.StatusOK, public(found), err)
}

func (f *Handler) playbook(w http.ResponseWriter, r *http.Request) {
	found, err := held[*dream.Playbook](f, r,
		memory.Query{Kinds: []dream.Kind{dream.KindPlaybook}, Sort: memory.HighestScore}, nil)
	answer(w, r, http.StatusOK, found, err)
}

// outcomes are the statuses of predictions.
var outcomes = []string{dream.PredictionOpen, dream.PredictionRight, dream.PredictionWrong, dream.PredictionVoid}

func (f *Handler) predictions(w http.ResponseWriter, r *http.Request) {
	found, err := held[*dream.Prediction](f, r,
		memory.Query{Kinds: []dream.Kind{dream.KindPrediction}, Sort: memory.SoonestDue}, outcomes)
	answer(w, r, http.StatusOK, found, err)
}

// held returns an agent's live items of one kind.
func held[T dream.Item](f *Handler, r *http.Request, of memory.Query, statuses []string) (psyche.Page[T], error) {
	names := []string{"after", "limit"}
	if statuses != nil {
		names = append(names, "status")
	}
	q, err := queryOf(r, names...)
	if err != nil {
		return psyche.Page[T]{}, err
	}
	limit := q.limit()
	if status := q.text("status"); status != "" {
		if !slices.Contains(statuses, status) {
			q.wrong("status", "open, correct, incorrect or void")
		}
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
