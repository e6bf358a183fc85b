package activities

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// SurveyRequest is the input of Imagination.Survey.
type SurveyRequest struct {
	Stretch
	Limit budget.Micros `json:"limit"` // the phase's cap
	// candidates for development, in order; empty after the first round
	Fragments []string `json:"fragments,omitempty"`
}

// SurveyResult is what a round of the search is planned with.
type SurveyResult struct {
	// the candidates that may be developed, in the order of the request
	Seeds []string         `json:"seeds,omitempty"`
	Means hypnagogia.Means `json:"means"`
}

// Survey reads which fragments may be developed, how much money the phase has left under every cap, and the highest
// price of a call of each kind. It makes no paid call.
func (m *Imagination) Survey(ctx context.Context, r SurveyRequest) (SurveyResult, error) {
	spec, err := m.spec(ctx, r.Stretch)
	if err != nil {
		return SurveyResult{}, toApplicationError(err)
	}
	items, err := m.Memory.Get(ctx, r.Agent, r.Fragments...)
	if err != nil {
		return SurveyResult{}, toApplicationError(err)
	}
	result := SurveyResult{Means: hypnagogia.Means{Left: budget.Unlimited}}
	for _, f := range memory.As[*dream.Fragment](items) {
		may, err := mayDevelop(spec, f)
		if err != nil {
			return SurveyResult{}, toApplicationError(err)
		}
		if may {
			result.Seeds = append(result.Seeds, f.ID)
		}
	}
	if spec.Free {
		return result, nil
	}
	accounts := call{spec: spec, phase: dream.REM, limit: r.Limit}.charge("").Accounts
	for _, account := range accounts {
		if account.Limit == budget.Unlimited {
			continue
		}
		balance, err := m.Guard.Ledger.Balance(ctx, account.Scope)
		if err != nil {
			return SurveyResult{}, toApplicationError(fmt.Errorf("read account %s: %w", account.Scope, err))
		}
		result.Means.Left = min(result.Means.Left, max(0, account.Limit-balance.Reserved-balance.Spent))
	}
	result.Means.Prices, err = m.prices(ctx, r.Stretch, spec)
	return result, toApplicationError(err)
}

// longest is a text of the greatest length that a prompt quotes.
var longest = strings.Repeat("imagined ", 66)

// prices are the highest prices of a call of each kind, with every text at its greatest length. The repair of an
// unreadable answer is not included; the spend guard holds the caps in any case.
func (m *Imagination) prices(ctx context.Context, s Stretch, spec Spec) (map[string]budget.Micros, error) {
	view, err := m.view(ctx, s)
	if err != nil {
		return nil, err
	}
	view.Seed = longest
	view.Context = longest
	view.Action = longest
	view.Outcome = longest
	g := prompt.Growing{Self: view.Self, Theme: view.Theme, Playbook: view.Playbook, First: longest}
	refined, merged := g, g
	refined.Claim, refined.JudgeReason, merged.Second = longest, longest, longest
	most := max(spec.Knobs.Branches, spec.Knobs.RemBeam)
	lines := make([]string, most)
	existing := make([]prompt.Weighed, shownKnown)
	for i := range lines {
		lines[i] = longest
	}
	for i := range existing {
		existing[i].Text = longest
	}
	prices := map[string]budget.Micros{}
	for name, c := range map[string]call{
		string(dream.Branch): {role: dream.Imaginer, text: prompt.Imagine(view), tokens: spec.Knobs.AnswerTokens},
		string(dream.Refine): {role: dream.Imaginer, text: prompt.Refine(refined), tokens: spec.Knobs.AnswerTokens},
		string(dream.Merge):  {role: dream.Imaginer, text: prompt.Merge(merged), tokens: spec.Knobs.AnswerTokens},
		hypnagogia.PriceOfWeighing: {
			role: dream.Observer,
			text: prompt.Weigh(
				prompt.Weighing{Self: view.Self, Lines: prompt.Lines("s", lines...), Scored: existing}),
			tokens: weighTokens(spec.Knobs, most),
		},
	} {
		c.spec = spec
		prices[name], err = m.worst(c)
		if err != nil {
			return nil, err
		}
	}
	return prices, nil
}

// worst is what the spend guard would reserve for a call.
func (m *Imagination) worst(c call) (budget.Micros, error) {
	model, err := m.Catalog.Lookup(c.spec.Models[c.role])
	if err != nil || model.Price == nil { // the spend guard refuses a model without a price with an explanation
		return 0, err
	}
	if c.role == dream.Observer && !model.Judges { // then the embedder measures, for about a hundredth of the price
		return 0, nil
	}
	out := int64(c.tokens) + spend.Overrun
	if model.Reasoning {
		out += int64(c.spec.Knobs.ReasoningTokens)
	}
	return model.Price.Worst(inference.CountPrompt(model, c.request()), out), nil
}
