package imagination

import (
	"context"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Survey reads which fragments may be developed, how much money the phase has left under every cap, and the highest
// price of a call of each kind. It makes no paid call.
func (m *Imagination) Survey(ctx context.Context, r activities.SurveyRequest) (activities.SurveyResult, error) {
	run, err := m.open(ctx, r.Stretch)
	if err != nil {
		return activities.SurveyResult{}, err
	}
	items, err := run.Get(ctx, r.Fragments...)
	if err != nil {
		return activities.SurveyResult{}, err
	}
	result := activities.SurveyResult{Budget: hypnagogia.SearchBudget{Left: budget.Unlimited}}
	for _, f := range memory.As[*dream.Fragment](items) {
		may, err := core.MayDevelop(ctx, run.Run, f)
		if err != nil {
			return activities.SurveyResult{}, err
		}
		if may {
			result.Seeds = append(result.Seeds, f.ID)
		}
	}
	if run.Spec.Free {
		return result, nil
	}
	accounts := run.Charge(core.Call{Phase: dream.REM, Limit: r.Limit}, "").Accounts
	result.Budget.Left, err = core.Remaining(ctx, run.Run, accounts)
	if err != nil {
		return activities.SurveyResult{}, err
	}
	result.Budget.Prices, err = run.prices(ctx)
	return result, err
}

// longest is a text of the greatest length that a prompt quotes.
var longest = strings.Repeat("imagined ", 66)

// prices are the highest prices of a call of each kind, with every text at its greatest length. The repair of an
// unreadable answer is not included; the spend guard holds the caps in any case. They are the same in all rounds.
func (m searchRun) prices(ctx context.Context) (map[string]budget.Micros, error) {
	var prices map[string]budget.Micros
	m.Cached(ctx, func(v *core.CachedRun) { prices = v.Prices })
	if prices != nil {
		return prices, nil
	}
	view, err := m.view(ctx)
	if err != nil {
		return nil, err
	}
	view.Seed = longest
	view.Context = longest
	view.Action = longest
	view.Outcome = longest
	counted, err := m.Counted(ctx)
	if err != nil {
		return nil, err
	}
	for range min(shownCounted, len(counted)) {
		view.Counted = append(view.Counted, prompt.Line{Ref: "x1", Text: longest})
	}
	g := prompt.GrowInput{
		Self:     view.Self,
		Theme:    view.Theme,
		Playbook: view.Playbook,
		First:    longest,
		Counted:  view.Counted,
	}
	refined, merged := g, g
	refined.Claim, refined.JudgeReason, merged.Second = longest, longest, longest
	most := max(m.Spec.Knobs.Branches, m.Spec.Knobs.RemBeam)
	lines := make([]string, most)
	existing := make([]prompt.WeighScore, shownKnown)
	for i := range lines {
		lines[i] = longest
	}
	for i := range existing {
		existing[i].Text = longest
	}
	prices = map[string]budget.Micros{}
	for name, c := range map[string]core.Call{
		string(dream.Branch): {Role: dream.Imaginer, Text: prompt.Imagine(view), Tokens: m.Spec.Knobs.AnswerTokens},
		string(dream.Refine): {Role: dream.Imaginer, Text: prompt.Refine(refined), Tokens: m.Spec.Knobs.AnswerTokens},
		string(dream.Merge):  {Role: dream.Imaginer, Text: prompt.Merge(merged), Tokens: m.Spec.Knobs.AnswerTokens},
		hypnagogia.PriceOfWeighing: {
			Role: dream.Observer,
			Text: prompt.Weigh(
				prompt.WeighInput{Self: view.Self, Lines: prompt.Lines("s", lines...), Scored: existing}),
			Tokens: weighTokens(m.Spec.Knobs, most),
		},
	} {
		prices[name], err = m.worst(c)
		if err != nil {
			return nil, err
		}
	}
	m.Cached(ctx, func(v *core.CachedRun) { v.Prices = prices })
	return prices, nil
}

// worst is what the spend guard would reserve for a call.
func (m searchRun) worst(c core.Call) (budget.Micros, error) {
	model, err := m.Catalog.Lookup(m.Spec.Models[c.Role])
	if err != nil || model.Price == nil { // the spend guard refuses a model without a price with an explanation
		return 0, err
	}
	if c.Role == dream.Observer && !model.Judges { // then the embedder measures, for about a hundredth of the price
		return 0, nil
	}
	out := int64(c.Tokens) + spend.Overrun
	if model.Reasoning {
		out += int64(m.Spec.Knobs.ReasoningTokens)
	}
	return model.Price.Worst(inference.CountPrompt(model, m.Request(c)), out), nil
}
