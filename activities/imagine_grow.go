package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// GrowRequest is the input of Imagination.Refine and Imagination.Merge.
type GrowRequest struct {
	StepRequest
	Scenarios []string `json:"scenarios"` // one to refine, or two to merge
}

// Refine rewrites a scenario to improve its weakest part.
func (m *Imagination) Refine(ctx context.Context, r GrowRequest) (StepResult, error) {
	return m.grow(ctx, r, dream.Refine, 1)
}

// Merge imagines one scenario in which two are true at once.
func (m *Imagination) Merge(ctx context.Context, r GrowRequest) (StepResult, error) {
	return m.grow(ctx, r, dream.Merge, 2)
}

// errGrow says that a request has the wrong number of scenarios.
var errGrow = errors.New("wrong number of scenarios")

func (m *Imagination) grow(ctx context.Context, r GrowRequest, op dream.Operation, want int) (StepResult, error) {
	if len(r.Scenarios) != want {
		return StepResult{},
			toApplicationError(fmt.Errorf("%s %d scenarios: %w: it takes %d", op, len(r.Scenarios), errGrow, want))
	}
	spec, err := m.spec(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	from := make([]*dream.Scenario, want)
	for i, id := range r.Scenarios {
		from[i], err = memory.One[*dream.Scenario](ctx, m.Memory, r.Agent, id)
		if err != nil {
			return StepResult{}, toApplicationError(err)
		}
	}
	view, err := m.view(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	g := prompt.Growing{Self: view.Self, Theme: view.Theme, Playbook: view.Playbook, First: from[0].Content}
	s := descendant(op, from)
	if op == dream.Merge {
		g.Second = from[1].Content
		return m.imagine(ctx, r.StepRequest, spec, s, prompt.Merge(g))
	}
	g.Weakest, g.JudgeReason = weakest(from[0].Worth), from[0].JudgeReason
	g.Claim, err = m.claimOf(ctx, r.Stretch, from[0].ID)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	return m.imagine(ctx, r.StepRequest, spec, s, prompt.Refine(g))
}

// descendant is a scenario made from others; it inherits their sources.
func descendant(op dream.Operation, from []*dream.Scenario) *dream.Scenario {
	s := &dream.Scenario{Operation: op}
	for _, parent := range from {
		s.Parents = append(s.Parents, parent.ID)
		s.Counterfactual, s.Synthetic = s.Counterfactual || parent.Counterfactual, s.Synthetic || parent.Synthetic
		s.Sources = append(append(s.Sources, parent.ID), parent.Sources...)
		s.Seeds = append(s.Seeds, parent.Develops()...)
	}
	s.Sources, s.Seeds = distinct(s.Sources), distinct(s.Seeds)
	if len(s.Seeds) > 0 {
		s.Parent = s.Seeds[0]
	}
	return s
}

// weakest names the lowest part of a score; empty without a score, or when all parts are equal.
func weakest(w *dream.Worth) string {
	if w == nil || w.Novelty == w.Plausible && w.Plausible == w.Matters {
		return ""
	}
	switch least := min(w.Novelty, w.Plausible, w.Matters); least {
	case w.Plausible:
		return "whether it could be true"
	case w.Novelty:
		return "how new it is"
	default:
		return "how much it would matter"
	}
}

// claimOf is the claim of a scenario's prediction; empty when it has none, or it was removed.
func (m *Imagination) claimOf(ctx context.Context, s Stretch, scenario string) (string, error) {
	items, err := m.made(ctx, s, scenario+"/p")
	for _, p := range memory.As[*dream.Prediction](items) {
		return strings.TrimSpace(p.Claim), err
	}
	return "", err
}
