// Package imagination holds the activities of REM: the search over scenarios.
package imagination

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Imagination has the activities of REM. In a request, Cycle is the round of the search and Turn the number of the
// scenario, both from 1. Without rounds, scenarios are imagined in parallel, weighed once and kept.
type Imagination struct{ activities.Ports }

// searchRun is what an activity of REM works with.
type searchRun struct{ *core.Run }

func (m *Imagination) open(ctx context.Context, s activities.Stretch) (searchRun, error) {
	run, err := core.Open(ctx, m.Ports, s)
	return searchRun{run}, err
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
func (m *Imagination) Branch(ctx context.Context, r activities.BranchRequest) (activities.StepResult, error) {
	run, err := m.open(ctx, r.Stretch)
	if err != nil {
		return activities.StepResult{}, err
	}
	view, err := run.view(ctx)
	if err != nil {
		return activities.StepResult{}, err
	}
	s := &dream.Scenario{Operation: dream.Branch}
	if r.Fragment != "" {
		f, err := memory.One[*dream.Fragment](ctx, m.Memory, r.Agent, r.Fragment)
		if err != nil {
			return activities.StepResult{}, err
		}
		may, err := core.MayDevelop(ctx, run.Run, f)
		if err != nil {
			return activities.StepResult{}, err
		}
		if may {
			view.Seed = f.Content
			s.Parent = f.ID
			s.Seeds = []string{f.ID}
			s.Sources = []string{f.ID}
			s.Guessed = f.Guessed
		}
	}
	if err := run.setOut(ctx, r, s, &view); err != nil {
		return activities.StepResult{}, err
	}
	counted, err := run.dealt(ctx, r.Turn)
	if err != nil {
		return activities.StepResult{}, err
	}
	view.Counted, _ = core.CountedLines(counted)
	return run.imagine(ctx, r.StepRequest, s, prompt.Imagine(view), counted)
}

// shownCounted is how many regularities a scenario is shown.
const shownCounted = 2

// dealt are the regularities that the scenario of a turn may claim.
func (m searchRun) dealt(ctx context.Context, turn int) ([]claims.Association, error) {
	counted, err := m.Counted(ctx)
	counted = core.Deal(counted, core.CountedImagined, core.CountedParts)
	var dealt []claims.Association
	for i := range min(shownCounted, len(counted)) {
		dealt = append(dealt, counted[(max(0, turn-1)+i)%len(counted)])
	}
	return dealt, err
}

// view is what every REM prompt shows of the agent.
func (m searchRun) view(ctx context.Context) (prompt.ImagineInput, error) {
	self, theme, err := m.Self(ctx)
	if err != nil {
		return prompt.ImagineInput{}, err
	}
	rules, err := m.Playbook(ctx)
	return prompt.ImagineInput{Self: self, Theme: theme, Playbook: rules}, err
}

// setOut draws the what-if of a branch: parts of two or three episodes combined, or one episode with a different
// course. If memory does not allow one kind, the other is used; if neither is possible there is none.
func (m searchRun) setOut(ctx context.Context, r activities.BranchRequest, s *dream.Scenario,
	view *prompt.ImagineInput,
) error {
	episodes, err := m.Pool(ctx)
	if err != nil {
		return err
	}
	changed, reported := hypnagogia.ChangeEpisode(episodes, m.Spec.Knobs.ReplayAlpha,
		hypnagogia.Dice(m.Spec.Seed, dream.REM, 0, r.Turn, "turn"))
	drawn := hypnagogia.Recombine(episodes, 1, hypnagogia.Dice(m.Spec.Seed, dream.REM, 0, r.Turn, "recombine"))
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
func (m searchRun) imagine(ctx context.Context, r activities.StepRequest, s *dream.Scenario,
	text prompt.Text, counted []claims.Association,
) (activities.StepResult, error) {
	_, shows := core.CountedLines(counted)
	c := core.Call{
		Phase:       dream.REM,
		Limit:       r.Limit,
		Tone:        r.Tone,
		Step:        fmt.Sprintf("%s-%d", s.Operation, r.Turn),
		Role:        dream.Imaginer,
		Temperature: r.Temperature,
		MinP:        true,
		Text:        text,
		Behind:      dream.DistinctIDs(append(slices.Clone(s.Sources), shows...)),
		Tokens:      m.Spec.Knobs.AnswerTokens,
		Seed:        m.SeedOf(dream.REM, 0, r.Turn),
	}
	var answer scenario
	_, done, err := m.AskFor(ctx, c, &answer)
	if err != nil || done.End != activities.EndDone {
		return activities.StepResult{CallOutcome: done}, err
	}
	if strings.TrimSpace(answer.Content) == "" {
		return activities.StepResult{
			CallOutcome: activities.CallOutcome{End: activities.EndUnreadable, Reason: "the scenario has no content"},
		}, nil
	}
	s.Head = m.Head(dream.REM, dream.KindScenario, fmt.Sprintf("%d", r.Turn), s.Sources)
	s.Content = answer.Content
	s.Premise = answer.Premise
	s.Round = r.Cycle
	s.Turn = r.Turn
	items := []dream.Item{s}
	if claim := strings.TrimSpace(answer.Claim); claim != "" {
		p := m.Foretell(dream.REM, fmt.Sprintf("%d/p", r.Turn), claim, answer.Criterion, answer.Days,
			answer.Confidence, answer.Trace, s.Sources)
		s.Foretold, err = m.Run.Foretold(ctx, p)
		if err != nil {
			return activities.StepResult{}, err
		}
		lived := map[string]bool{}
		// a scenario inherits the sources of its parents
		if err := core.Roots(ctx, m.Run, s.Sources, 2, lived); err != nil {
			return activities.StepResult{}, err
		}
		p.Scenario, p.Episodes = s.ID, slices.Sorted(maps.Keys(lived))
		p.Guessed = s.Guessed && !s.Counterfactual && !s.Synthetic // otherwise it rests on episodes that were drawn
		core.RestsOn(p, counted)
		if s.Foretold == "" {
			items = append(items, p)
		}
	}
	result, err := m.Keep(ctx, c, done, items, memory.Write{})
	if len(result.Made) > 0 {
		result.Made = result.Made[:1]
	}
	return result, err
}
