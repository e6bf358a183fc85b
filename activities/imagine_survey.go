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

// SurveyRequest asks what a round of the search has to go by.
type SurveyRequest struct {
	Stretch
	Limit     budget.Micros `json:"limit"`               // the phase's cap
	Fragments []string      `json:"fragments,omitempty"` // that might be developed, in order; empty when that is known
}

// SurveyResult is what a round has to go by.
type SurveyResult struct {
	Seeds []string         `json:"seeds,omitempty"` // the fragments that may be developed, in the order asked
	Means hypnagogia.Means `json:"means"`
}

// Survey reads which fragments may be developed, what is left for the phase under every cap, and what a call of each
// kind costs at most. It costs nothing.
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

// longest is a text as long as a prompt quotes one.
var longest = strings.Repeat("imagined ", 66)

// prices are the worst prices of a call of each kind, with every text as long as a prompt shows it. A second call that
// repairs an unreadable answer is not in them; the spend guard holds its cap all the same.
func (m *Imagination) prices(ctx context.Context, s Stretch, o Spec) (map[string]budget.Micros, error) {
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
	refined.Claim, refined.Said, merged.Second = longest, longest, longest
	most := max(o.Knobs.Branches, o.Knobs.RemBeam)
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
		string(dream.Branch): {role: dream.Imaginer, text: prompt.Imagine(view), tokens: o.Knobs.AnswerTokens},
		string(dream.Refine): {role: dream.Imaginer, text: prompt.Refine(refined), tokens: o.Knobs.AnswerTokens},
		string(dream.Merge):  {role: dream.Imaginer, text: prompt.Merge(merged), tokens: o.Knobs.AnswerTokens},
		hypnagogia.PriceOfWeighing: {
			role:   dream.Observer,
			text:   prompt.Weigh(prompt.Weighing{Self: view.Self, Lines: prompt.Lines("s", lines...), Known: existing}),
			tokens: weighTokens(o.Knobs, most),
		},
	} {
		c.spec = o
		prices[name], err = m.worst(c)
		if err != nil {
			return nil, err
		}
	}
	return prices, nil
}

// worst is what the spend guard would reserve for a call.
func (m *Imagination) worst(c call) (budget.Micros, error) {
	spec, err := m.Catalog.Lookup(c.spec.Models[c.role])
	if err != nil || spec.Price == nil { // the spend guard refuses a model without a price, and says so
		return 0, err
	}
	if c.role == dream.Observer && !spec.Judges { // then the embedder measures, for a hundredth of it
		return 0, nil
	}
	out := int64(c.tokens) + spend.Overrun
	if spec.Reasoning {
		out += int64(c.spec.Knobs.ReasoningTokens)
	}
	return spec.Price.Worst(inference.CountPrompt(spec, c.request()), out), nil
}
