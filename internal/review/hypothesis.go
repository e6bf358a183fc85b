package review

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// HypothesisStatuses are those that a list of hypotheses can be narrowed to.
var HypothesisStatuses = []string{
	dream.HypothesisStaged, dream.HypothesisPromoted, dream.HypothesisRefuted, dream.HypothesisRetired,
	dream.HypothesisLapsed, dream.HypothesisRested,
}

// HypothesesOf asks for an agent's hypotheses of a status, the most confident first; without one for those that are
// staged or promoted. Those that have ended are archived.
func HypothesesOf(agent, status string) memory.Query {
	q := memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindHypothesis}, Sort: memory.HighestScore}
	switch status {
	case "":
		q.Statuses = []string{dream.HypothesisStaged, dream.HypothesisPromoted}
	case dream.HypothesisStaged, dream.HypothesisPromoted:
		q.Statuses = []string{status}
	default:
		q.Statuses, q.States = []string{status}, []dream.State{dream.Archived}
	}
	return q
}

// HypothesisExplanation says where a hypothesis stands, and what it rests on.
type HypothesisExplanation struct {
	Held        int          `json:"held"`             // its predictions that came true
	Of          int          `json:"of"`               // its predictions that came true or did not
	Independent bool         `json:"independent"`      // it is in prose: only independent outcomes are counted
	Awaits      string       `json:"awaits,omitempty"` // what it waits for; empty once it is promoted or over
	Predictions []SourceText `json:"predictions"`      // those with an outcome
	Claims      []SourceText `json:"claims"`           // those that decide it, in words
}

// StandingOf counts the outcomes of a hypothesis and says what it waits for, with no word of what it rests on. gate is
// the preset predictions.gate.
func StandingOf(h *dream.Hypothesis, gate string) HypothesisExplanation {
	e := HypothesisExplanation{
		Held: len(h.Confirmed), Of: len(h.Confirmed) + len(h.Contradicted), Independent: h.InProse(),
		Awaits: awaits(h, gate), Predictions: []SourceText{}, Claims: []SourceText{},
	}
	if !h.InProse() {
		return e
	}
	e.Held, e.Of = prediction.Held(h)
	return e
}

// awaits says what promotes a staged hypothesis.
func awaits(h *dream.Hypothesis, gate string) string {
	switch {
	case h.Status != dream.HypothesisStaged:
		return ""
	case len(h.Claims) == 1:
		return "It is promoted when " + h.Claims[0] + " passes."
	case !h.InProse():
		return "It is promoted when " + strings.Join(h.Claims, " and ") + " pass."
	case gate == dream.GateStrict:
		return fmt.Sprintf("It is promoted when its first %d independent predictions come true.", prediction.Attempts)
	}
	return "No program can check it, and predictions.gate is " + dream.GateMeasured + ": it is not promoted."
}

// ExplainHypothesis reads what a hypothesis rests on.
func ExplainHypothesis(ctx context.Context, s memory.DreamStore, h *dream.Hypothesis,
	gate string,
) (HypothesisExplanation, error) {
	e := StandingOf(h, gate)
	var predictions []string
	for _, o := range h.Outcomes {
		predictions = append(predictions, o.Prediction)
	}
	items, err := s.Get(ctx, h.Agent, append(predictions, h.Claims...)...)
	if err == nil {
		err = memory.ReadClaims(ctx, s, h.Agent, items)
	}
	if err != nil {
		return e, fmt.Errorf("read what %s rests on: %w", h.ID, err)
	}
	texts := textsOf(items)
	for _, id := range predictions {
		e.Predictions = append(e.Predictions, SourceText{id, texts[id]})
	}
	for _, id := range h.Claims {
		e.Claims = append(e.Claims, SourceText{id, texts[id]})
	}
	return e, nil
}
