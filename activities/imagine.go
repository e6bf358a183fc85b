package activities

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Imagination has the activities of REM. In a request, Cycle is the round of the search and Turn the number of the
// scenario, both from 1. Without rounds, scenarios are imagined in parallel, weighed once and kept.
type Imagination struct{ Ports }

// BranchRequest is the input of Imagination.Branch.
type BranchRequest struct {
	StepRequest
	Fragment string `json:"fragment,omitempty"` // the fragment to develop; empty: only a what-if
}

type scenario struct {
	Premise    string  `json:"premise"`
	Content    string  `json:"content"`
	Claim      string  `json:"claim"`
	Criterion  string  `json:"criterion"`
	Days       int     `json:"days"`
	Confidence float64 `json:"confidence"`
	Trace      string  `json:"trace"`
}

// Branch imagines one scenario from a fragment and a what-if, with its prediction. A barred fragment is not used: the
// scenario then has only the what-if.
func (m *Imagination) Branch(ctx context.Context, r BranchRequest) (StepResult, error) {
	spec, err := m.spec(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	view, err := m.view(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	s := &dream.Scenario{Operation: dream.Branch}
	if r.Fragment != "" {
		f, err := memory.One[*dream.Fragment](ctx, m.Memory, r.Agent, r.Fragment)
		if err != nil {
			return StepResult{}, toApplicationError(err)
		}
		may, err := mayDevelop(spec, f)
		if err != nil {
			return StepResult{}, toApplicationError(err)
		}
		if may {
			view.Seed = f.Content
			s.Parent = f.ID
			s.Seeds = []string{f.ID}
			s.Sources = []string{f.ID}
		}
	}
	if err := m.setOut(ctx, spec, r, s, &view); err != nil {
		return StepResult{}, toApplicationError(err)
	}
	return m.imagine(ctx, r.StepRequest, spec, s, prompt.Imagine(view))
}

// view is what every REM prompt shows of the agent.
func (m *Imagination) view(ctx context.Context, s Stretch) (prompt.Imagining, error) {
	self, theme, err := m.self(ctx, s)
	if err != nil {
		return prompt.Imagining{}, err
	}
	rules, err := m.playbook(ctx, s)
	return prompt.Imagining{Self: self, Theme: theme, Playbook: rules}, err
}

// setOut draws the what-if of a branch: parts of two or three episodes combined, or one episode with a different
// course. If memory does not allow one kind, the other is used; if neither is possible there is none.
func (m *Imagination) setOut(ctx context.Context, spec Spec, r BranchRequest, s *dream.Scenario,
	view *prompt.Imagining,
) error {
	episodes, err := m.pool(ctx, spec, r.Stretch)
	if err != nil {
		return err
	}
	changed, reported := hypnagogia.ChangeEpisode(episodes, spec.Knobs.ReplayAlpha,
		hypnagogia.Dice(spec.Seed, dream.REM, 0, r.Turn, "turn"))
	drawn := hypnagogia.Recombine(episodes, 1, hypnagogia.Dice(spec.Seed, dream.REM, 0, r.Turn, "recombine"))
	otherwise := r.Cycle > 0 && reported &&
		(hypnagogia.WhatIfOf(r.Turn) == hypnagogia.Counterfactual || len(drawn) == 0)
	switch {
	case otherwise:
		view.Context = changed.Context
		view.Action = changed.Action
		view.Outcome = changed.Outcome
		view.Turned = changed.Part
		s.Counterfactual, s.Sources = true, append(s.Sources, changed.Source)
	case len(drawn) > 0:
		one := drawn[0]
		view.Context, view.Action, view.Outcome = one.Context, one.Action, one.Outcome
		s.Synthetic, s.Counterfactual, s.Sources = true, r.Cycle == 0, append(s.Sources, one.Sources...)
	}
	return nil
}

// imagine buys one scenario and stores it with its prediction.
func (m *Imagination) imagine(ctx context.Context, r StepRequest, spec Spec, s *dream.Scenario,
	text prompt.Text,
) (StepResult, error) {
	c := call{
		spec:        spec,
		phase:       dream.REM,
		limit:       r.Limit,
		tone:        r.Tone,
		stretch:     r.Stretch,
		step:        fmt.Sprintf("%s-%d", s.Operation, r.Turn),
		role:        dream.Imaginer,
		temperature: r.Temperature,
		minP:        true,
		text:        text,
		behind:      s.Sources,
		tokens:      spec.Knobs.AnswerTokens,
		seed:        seedOf(spec, dream.REM, 0, r.Turn),
	}
	var answer scenario
	_, done, err := m.askFor(ctx, c, &answer)
	if err != nil || done.End != EndDone {
		return StepResult{Done: done}, toApplicationError(err)
	}
	if strings.TrimSpace(answer.Content) == "" {
		return StepResult{Done: Done{End: EndUnreadable, Reason: "the scenario has no content"}}, nil
	}
	s.Head = head(spec, dream.REM, dream.KindScenario, fmt.Sprintf("%d", r.Turn), s.Sources)
	s.Content = answer.Content
	s.Premise = answer.Premise
	s.Round = r.Cycle
	s.Turn = r.Turn
	items := []dream.Item{s}
	if claim := strings.TrimSpace(answer.Claim); claim != "" {
		p := foretell(spec, dream.REM, fmt.Sprintf("%d/p", r.Turn), claim, answer.Criterion, answer.Days,
			answer.Confidence, answer.Trace, s.Sources)
		lived := map[string]bool{}
		// a scenario inherits the sources of its parents
		if err := m.roots(ctx, r.Stretch, s.Sources, 2, lived); err != nil {
			return StepResult{}, toApplicationError(err)
		}
		p.Scenario, p.Episodes = s.ID, slices.Sorted(maps.Keys(lived))
		items = append(items, p)
	}
	result, err := m.keep(ctx, r.Stretch, c, done, items, memory.Write{})
	if len(result.Made) > 0 {
		result.Made = result.Made[:1]
	}
	return result, err
}
