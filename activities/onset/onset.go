// Package onset holds the activities of the onset: gathering, induction, Dali cycles, the observer and lucid capture.
package onset

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Onset has the activities of the onset: induction, Dali cycles and lucid capture.
type Onset struct{ activities.Ports }

// onsetRun is what an activity of the onset works with.
type onsetRun struct{ *core.Run }

func (o *Onset) open(ctx context.Context, s activities.Stretch) (onsetRun, error) {
	run, err := core.Open(ctx, o.Ports, s)
	return onsetRun{run}, err
}

// batch is how many texts one embedding call carries.
const batch = 64

// Embed embeds memories that have no vector, so that distances can be measured: with half of the memory unembedded,
// everything would seem new. It makes one call of at most a batch. If another process embeds them in the background,
// it waits for that for a while.
func (o *Onset) Embed(ctx context.Context, r activities.StepRequest) (activities.StepResult, error) {
	run, err := o.open(ctx, r.Stretch)
	if err != nil {
		return activities.StepResult{}, err
	}
	if result, waits, err := core.AwaitEmbedding(ctx, run.Run); waits || err != nil {
		return result, err
	}
	space, err := o.Memory.Space(ctx, r.Agent)
	if err != nil {
		return activities.StepResult{}, err
	}
	items, err := o.Memory.WithoutVector(ctx, r.Agent, space, core.Measurable, batch)
	if err != nil || len(items) == 0 {
		return activities.StepResult{CallOutcome: activities.CallOutcome{NoCall: err == nil}}, err
	}
	c := core.Call{
		Phase: cmp.Or(r.Phase, dream.Onset),
		Limit: r.Limit,
		Tone:  r.Tone,
	}
	vectors, done, err := run.Place(ctx, c, fmt.Sprintf("place-%d", r.Turn), items)
	if err != nil || done.End != activities.EndDone {
		return activities.StepResult{CallOutcome: done}, err
	}
	return activities.StepResult{Made: make([]activities.MadeItem, len(vectors))},
		run.Write(ctx, memory.Write{Vectors: vectors})
}

type inducedFragments struct {
	Fragments []struct {
		Text        string   `json:"text"`
		Sources     []string `json:"sources"`
		Probability *float64 `json:"probability"`
	} `json:"fragments"`
}

// Induce makes the one call of the induction and compares its fragments with memory.
func (o *Onset) Induce(ctx context.Context, r activities.StepRequest) (activities.StepResult, error) {
	run, text, behind, err := o.prepare(ctx, r)
	if err != nil {
		return activities.StepResult{}, err
	}
	c := core.Call{
		Phase:       dream.Onset,
		Limit:       r.Limit,
		Tone:        r.Tone,
		Step:        "induction",
		Stage:       r.Stage,
		Role:        dream.Generator,
		Text:        prompt.Induce(text),
		Behind:      behind,
		Temperature: hypnagogia.PartialTemperature(run.Spec.Loosening[dream.Generator], r.Temperature),
		MinP:        true,
		Seed:        run.SeedOf(dream.Onset, 0, 0),
		Tokens:      run.Spec.Knobs.AnswerTokens,
	}
	var answer inducedFragments
	paid, done, err := run.AskFor(ctx, c, &answer)
	if err != nil || done.End != activities.EndDone {
		return activities.StepResult{CallOutcome: done}, err
	}
	var fragments []*dream.Fragment
	for i, f := range answer.Fragments {
		if strings.TrimSpace(f.Text) == "" {
			continue
		}
		set := run.settings(c, paid.Effective)
		set.Probability, set.Steering = core.Stated(f.Probability), paid.Steered
		fragments = append(fragments, &dream.Fragment{
			Head: run.Head(dream.Onset, dream.KindFragment, core.FragmentStep(0, i+1),
				core.SourcesOf(f.Sources, text.Lines, behind)),
			Content: f.Text, Tone: r.Tone, Stage: cmp.Or(r.Stage, hypnagogia.StageAt(r.Temperature)), Settings: set,
		})
	}
	return run.judgeMeasured(ctx, r, c, fragments)
}

// Partial makes one partial completion that is cut off or, for a model that is loosened by words, all partials of a
// cycle. The text stays in the spend ledger until it is judged.
func (o *Onset) Partial(ctx context.Context, r activities.StepRequest) (activities.StepResult, error) {
	run, text, behind, err := o.prepare(ctx, r)
	if err != nil {
		return activities.StepResult{}, err
	}
	if hypnagogia.Verbal(run.Spec.Loosening[dream.Generator]) {
		return run.verbalise(ctx, r, text, behind)
	}
	c := run.partialCall(r, text)
	c.Behind = behind
	_, done, err := run.Ask(ctx, c)
	if err != nil || done.End != activities.EndDone || r.JudgeTemperature == nil {
		return activities.StepResult{CallOutcome: done}, err
	}
	return o.judgeAtOnce(ctx, r, done), nil
}

// judgeAtOnce judges a partial that was just bought, which saves an activity. Where the judge gives no verdict, the
// result is that of the partial alone, and the workflow lets an activity of its own judge it. An interrupted judge
// interrupts the whole activity: when it runs again, the ledger has the partial.
func (o *Onset) judgeAtOnce(ctx context.Context, r activities.StepRequest,
	bought activities.CallOutcome,
) activities.StepResult {
	r.Temperature, r.Drift = *r.JudgeTemperature, r.Temperature
	judged, err := o.Judge(ctx, r)
	switch {
	case err != nil:
		return activities.StepResult{CallOutcome: bought}
	case judged.Interrupted():
		return judged
	case judged.End != activities.EndDone:
		return activities.StepResult{CallOutcome: bought}
	default:
		return activities.StepResult{CallOutcome: bought, Judged: &judged}
	}
}

// partialCall is the call of one partial.
func (o onsetRun) partialCall(r activities.StepRequest, text prompt.OnsetInput) core.Call {
	return core.Call{
		Phase:       dream.Onset,
		Limit:       r.Limit,
		Tone:        r.Tone,
		Step:        partialStep(r.Cycle, r.Turn),
		Stage:       r.Stage,
		Role:        dream.Generator,
		Text:        prompt.Partial(text, seedWords(o.Spec, r, text.Lines, 3)),
		LogProbs:    true,
		Temperature: hypnagogia.PartialTemperature(o.Spec.Loosening[dream.Generator], r.Temperature),
		MinP:        true,
		Seed:        o.SeedOf(dream.Onset, r.Cycle, r.Turn),
		Tokens:      o.Spec.Knobs.PartialTokens,
	}
}

// seedWords are words of randomly chosen memories: noise that works with every model.
func seedWords(spec activities.Spec, r activities.StepRequest, lines []prompt.Line, n int) []string {
	dice := hypnagogia.Dice(spec.Seed, dream.Onset, r.Cycle, r.Turn, "seed words")
	var words []string
	for range min(n, len(lines)) {
		words = append(words, journal.Topics(lines[dice.IntN(len(lines))].Text, 1)...)
	}
	return words
}

func partialStep(cycle, turn int) string { return fmt.Sprintf("%d/partial-%d", cycle, turn) }

// prepare reads what the prompts of an onset step show.
func (o *Onset) prepare(ctx context.Context, r activities.StepRequest) (onsetRun, prompt.OnsetInput, []string, error) {
	run, err := o.open(ctx, r.Stretch)
	if err != nil {
		return run, prompt.OnsetInput{}, nil, err
	}
	self, theme, err := run.Self(ctx)
	if err != nil {
		return run, prompt.OnsetInput{}, nil, err
	}
	lines, behind, err := run.remember(ctx, r.Source)
	if err != nil {
		return run, prompt.OnsetInput{}, nil, err
	}
	world, err := run.letIn(ctx, r)
	text := prompt.OnsetInput{Self: self, Theme: theme, Lines: lines, World: world}
	if hypnagogia.Verbal(run.Spec.Loosening[dream.Generator]) {
		text.Rare = hypnagogia.Rare
	}
	return run, text, behind, err
}

// settings are the settings of a call as they are stored with its items.
func (o onsetRun) settings(c core.Call, effective string) dream.Settings {
	s := dream.Settings{
		Model: o.Spec.Models[c.Role], Temperature: &c.Temperature, Effective: effective,
		Loosening: o.Spec.Loosening[c.Role],
	}
	if c.MinP {
		s.MinP = &o.Spec.Knobs.MinP
	}
	return s
}
