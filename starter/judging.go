package starter

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// perToken is about how many characters of a prompt make a token, shownRules how many playbook entries a judge is
// shown, and nearest how many memories are shown with each thought.
const (
	perToken   = 4
	shownRules = 12
	nearest    = 3
)

// observer is how the fragments of a dream are judged: as configured, or by the price of each way.
func (s drafter) observer(ctx context.Context, spec activities.Spec,
	model inference.Spec,
) (*hypnagogia.JudgingChoice, error) {
	rules, err := s.Memory.Count(ctx,
		memory.Query{Agent: spec.Agent, Kinds: []dream.Kind{dream.KindPlaybook}, Until: spec.AsOf.Add(1)})
	if err != nil {
		return nil, fmt.Errorf("count the playbook of %s: %w", spec.Handle, err)
	}
	k := spec.Knobs
	j := hypnagogia.Judging{
		Fragments: k.Partials, Base: int64(promptOverhead+min(rules, shownRules)*otherLine) / perToken,
		Each: int64(k.PartialTokens + nearest*otherLine/perToken), Answer: int64(k.ObserverTokens),
		Window: model.Context,
	}
	if model.Reasoning {
		j.Thinking = int64(k.ReasoningTokens)
	}
	b := hypnagogia.ChooseJudging(j, *model.Price)
	switch {
	case !model.Judges:
		b.Way, b.Why = dream.BySingle, "the observer's model does not judge: verdicts are measured, which costs no call"
	case k.Judging == dream.BySingle || k.Judging == dream.ByTogether:
		b.Way, b.Why = k.Judging, "dream.judging says so"
	}
	return &b, nil
}
