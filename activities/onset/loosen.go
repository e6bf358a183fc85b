package onset

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// verbalise makes all partials of a cycle in one call, with the probability that the model states for each. For a
// model without a temperature setting, another call goes before it whose stream is cut off.
func (o onsetRun) verbalise(ctx context.Context, r activities.StepRequest, text prompt.OnsetInput,
	behind []string,
) (activities.StepResult, error) {
	scenes, sources, err := o.scenes(ctx, r)
	if err != nil {
		return activities.StepResult{}, err
	}
	variation := prompt.Variation{
		Words: seedWords(o.Spec, r, text.Lines, 2*o.Spec.Knobs.Partials), Scenes: scenes, Count: o.Spec.Knobs.Partials,
	}
	c := core.Call{
		Phase:       dream.Onset,
		Limit:       r.Limit,
		Tone:        r.Tone,
		Step:        scrapsStep(r.Cycle),
		Stage:       r.Stage,
		Role:        dream.Generator,
		Behind:      append(append([]string{}, behind...), sources...),
		MinP:        true,
		LogProbs:    true,
		Temperature: hypnagogia.PartialTemperature(o.Spec.Loosening[dream.Generator], r.Temperature),
	}
	if o.Spec.Loosening[dream.Generator] == dream.TwoPhase {
		c.Text, c.Tokens, c.Seed = prompt.Diverge(text, variation), hypnagogia.ScrapTokens(o.Spec.Knobs),
			o.SeedOf(dream.Onset, r.Cycle, diverging)
		paid, done, err := o.Ask(ctx, c)
		if err != nil || done.End != activities.EndDone {
			return activities.StepResult{CallOutcome: done}, err
		}
		variation = prompt.Variation{Scraps: paid.Text, Count: variation.Count}
	}
	c.Step = core.IdeasStep(r.Cycle)
	c.Text = prompt.Ideas(text, variation)
	c.Tokens = hypnagogia.IdeaTokens(o.Spec.Knobs)
	c.Seed = o.SeedOf(dream.Onset, r.Cycle, 0)
	paid, done, err := o.Ask(ctx, c)
	if err == nil && done.End == activities.EndDone && len(core.ReadIdeas(paid.Text, o.Spec.Knobs.Partials)) == 0 {
		again := o.Request(c) // a cycle has one such call instead of several partials, so one retry is affordable
		again.Messages = append(again.Messages, inference.Repair(errNoIdea, paid.Text)...)
		paid, done, err = o.Buy(ctx, c, o.Key(c)+core.Repairing, again)
	}
	if err != nil || done.End != activities.EndDone {
		return activities.StepResult{CallOutcome: done}, err
	}
	found := core.ReadIdeas(paid.Text, o.Spec.Knobs.Partials)
	if len(found) == 0 {
		return activities.StepResult{
			CallOutcome: activities.CallOutcome{End: activities.EndUnreadable, Reason: core.Unreadable},
		}, nil
	}
	return activities.StepResult{CallOutcome: done, Ideas: len(found)}, nil
}

var errNoIdea = errors.New("it holds no idea")

// diverging is the dice step of a divergent call; partials use 1 to 5, judges above 100.
const diverging = 90

func scrapsStep(cycle int) string { return fmt.Sprintf("%d/scraps", cycle) }

// scenesShown is how many invented scenes loosen a cycle.
const scenesShown = 2

// scenes combine episodes that never occurred together; the second result is the ids of those episodes.
func (o onsetRun) scenes(ctx context.Context, r activities.StepRequest) ([]prompt.Scene, []string, error) {
	episodes, err := o.Pool(ctx)
	if err != nil {
		return nil, nil, err
	}
	var scenes []prompt.Scene
	var sources []string
	for _, made := range hypnagogia.Recombine(episodes, scenesShown,
		hypnagogia.Dice(o.Spec.Seed, dream.Onset, r.Cycle, r.Turn, "recombine")) {
		scenes = append(scenes, prompt.Scene{Context: made.Context, Action: made.Action, Outcome: made.Outcome})
		sources = append(sources, made.Sources...)
	}
	return scenes, sources, nil
}

// partial is what one turn of a cycle produced, in whichever call.
type partial struct {
	text     string
	settings dream.Settings
	logProb  *float64 // mean over the call's visible tokens; nil when the model does not state it
}

// partial reads the text of a turn from the spend ledger: a partial of its own, or one idea of the cycle's only call,
// cut off at the same number of visible tokens. temperature is the requested one.
func (o onsetRun) partial(ctx context.Context, cycle, turn int, temperature float64) (partial, error) {
	loosening := o.Spec.Loosening[dream.Generator]
	c := core.Call{
		Phase:       dream.Onset,
		Step:        partialStep(cycle, turn),
		Role:        dream.Generator,
		Temperature: hypnagogia.PartialTemperature(loosening, temperature),
		MinP:        true,
	}
	if hypnagogia.Verbal(loosening) {
		c.Step = core.IdeasStep(cycle)
	}
	answer, err := core.Bought(ctx, o.Guard.Ledger, o.Key(c))
	if err != nil {
		return partial{}, err
	}
	got := partial{
		text: strings.TrimSpace(answer.Text), settings: o.settings(c, answer.Effective),
		logProb: answer.LogProb,
	}
	got.settings.Steering = answer.Steered
	if !hypnagogia.Verbal(loosening) {
		return got, nil
	}
	got.text = ""
	found := core.ReadIdeas(answer.Text, o.Spec.Knobs.Partials)
	if len(found) == 0 {
		answer, err = core.Bought(ctx, o.Guard.Ledger, o.Key(c)+core.Repairing)
		if err != nil {
			return partial{}, err
		}
		found = core.ReadIdeas(answer.Text, o.Spec.Knobs.Partials)
	}
	if turn >= 1 && turn <= len(found) {
		model, err := o.Catalog.Lookup(o.Spec.Models[dream.Generator])
		if err != nil {
			return got, err
		}
		got.text, got.settings.Probability = inference.CutAtTokens(model, found[turn-1].Text,
			o.Spec.Knobs.PartialTokens),
			found[turn-1].Probability
	}
	return got, nil
}
