package imagination

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Refine rewrites a scenario to improve its weakest part.
func (m *Imagination) Refine(ctx context.Context, r activities.GrowRequest) (activities.StepResult, error) {
	return m.grow(ctx, r, dream.Refine, 1)
}

// Merge imagines one scenario in which two are true at once.
func (m *Imagination) Merge(ctx context.Context, r activities.GrowRequest) (activities.StepResult, error) {
	return m.grow(ctx, r, dream.Merge, 2)
}

// errGrow says that a request has the wrong number of scenarios.
var errGrow = errors.New("wrong number of scenarios")

func (m *Imagination) grow(ctx context.Context, r activities.GrowRequest, op dream.Operation,
	want int,
) (activities.StepResult, error) {
	if len(r.Scenarios) != want {
		return activities.StepResult{},
			fmt.Errorf("%s %d scenarios: %w: it takes %d", op, len(r.Scenarios), errGrow, want)
	}
	run, err := m.open(ctx, r.Stretch)
	if err != nil {
		return activities.StepResult{}, err
	}
	from := make([]*dream.Scenario, want)
	for i, id := range r.Scenarios {
		from[i], err = memory.One[*dream.Scenario](ctx, m.Memory, r.Agent, id)
		if err != nil {
			return activities.StepResult{}, err
		}
	}
	view, err := run.view(ctx)
	if err != nil {
		return activities.StepResult{}, err
	}
	g := prompt.GrowInput{Self: view.Self, Theme: view.Theme, Playbook: view.Playbook, First: from[0].Content}
	counted, err := run.dealt(ctx, r.Turn)
	if err != nil {
		return activities.StepResult{}, err
	}
	g.Counted, _ = core.CountedLines(counted)
	s := descendant(op, from)
	if op == dream.Merge {
		g.Second = from[1].Content
		return run.imagine(ctx, r.StepRequest, s, prompt.Merge(g), counted)
	}
	g.Weakest, g.JudgeReason = weakest(from[0].Worth), from[0].JudgeReason
	g.Claim, err = run.claimOf(ctx, from[0].ID)
	if err != nil {
		return activities.StepResult{}, err
	}
	return run.imagine(ctx, r.StepRequest, s, prompt.Refine(g), counted)
}

// descendant is a scenario made from others; it inherits their sources.
func descendant(op dream.Operation, from []*dream.Scenario) *dream.Scenario {
	s := &dream.Scenario{Operation: op}
	for _, parent := range from {
		s.Parents = append(s.Parents, parent.ID)
		s.Counterfactual, s.Synthetic = s.Counterfactual || parent.Counterfactual, s.Synthetic || parent.Synthetic
		s.Sources = append(append(s.Sources, parent.ID), parent.Sources...)
		s.Seeds = append(s.Seeds, parent.Develops()...)
		s.Guessed = s.Guessed || parent.Guessed
	}
	s.Sources, s.Seeds = dream.DistinctIDs(s.Sources), dream.DistinctIDs(s.Seeds)
	if len(s.Seeds) > 0 {
		s.Parent = s.Seeds[0]
	}
	return s
}

// weakest names the lowest part of a score; empty without a score, or when all parts are equal.
func weakest(w *dream.Worth) string {
	if w == nil || w.Novelty == w.Plausible && w.Plausible == w.Relevance {
		return ""
	}
	switch least := min(w.Novelty, w.Plausible, w.Relevance); least {
	case w.Plausible:
		return "whether it could be true"
	case w.Novelty:
		return "how new it is"
	default:
		return "how much it would matter"
	}
}

// claimOf is the claim of a scenario's prediction; empty when it has none, or it was removed.
func (m searchRun) claimOf(ctx context.Context, scenario string) (string, error) {
	items, err := m.Made(ctx, scenario+"/p")
	for _, p := range memory.As[*dream.Prediction](items) {
		return strings.TrimSpace(p.Claim), err
	}
	return "", err
}
