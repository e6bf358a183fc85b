package onset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/activity"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/policy"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

type breaches struct {
	Breaches []breach `json:"breaches"`
}

type breach struct {
	Ref    string   `json:"ref"`
	Breaks []string `json:"breaks"`
	Reason string   `json:"reason"`
}

// breachTokens is the answer budget per fragment: its reference, the rules' names and about ten words.
const breachTokens = 40

// CageTokens is the largest answer about so many fragments.
func CageTokens(k dream.Knobs, fragments int) int { return k.ObserverTokens + breachTokens*fragments }

// separateBarred separates barred fragments from a lucid capture: they keep their flags, are not rated and make no
// predictions. Before that the observer applies the rules in words, once for all fragments of the dream.
func (o onsetRun) separateBarred(ctx context.Context, r activities.CaptureRequest, all []*dream.Fragment,
	w *memory.Write) (
	free []*dream.Fragment, made []activities.MadeItem, done activities.CallOutcome, err error,
) {
	flags, done, err := o.breaking(ctx, r, all)
	if err != nil || done.Interrupted() {
		return nil, nil, done, err
	}
	free, made = o.applyFlags(r, all, flags, w)
	return free, made, activities.CallOutcome{}, nil
}

// applyFlags flags fragments by the rules in words and separates free ones from barred ones, which are written.
func (o onsetRun) applyFlags(r activities.CaptureRequest, all []*dream.Fragment, flags map[string][]dream.Flag,
	w *memory.Write,
) (free []*dream.Fragment, made []activities.MadeItem) {
	for _, f := range all {
		if o.Spec.Policy != nil && !barredOtherwise(f, o.Spec.Policy) {
			f.HeldTo = o.Spec.Policy.Words()
		}
		core.Flag(o.Run, f, flags[f.ID], w)
		flag, barred := f.Barred()
		if !barred {
			free = append(free, f)
			continue
		}
		f.Reason = flag.Barring()
		w.Change = append(w.Change, f)
		made = append(made,
			activities.MadeItem{ID: f.ID, Score: f.Verdict.Composite, Kept: f.Status != dream.FragmentDiscarded})
	}
	return free, made
}

// CheckPolicy applies the rules in words to fragments without a lucid capture, because an alarm ended their onset or
// the capture failed. A recorded answer is used again without a new call; without an answer each fragment counts as
// unclear. Nothing is rated.
func (o *Onset) CheckPolicy(ctx context.Context, r activities.CaptureRequest) (activities.StepResult, error) {
	run, err := o.open(ctx, r.Stretch)
	if err != nil {
		return activities.StepResult{}, err
	}
	items, err := run.Get(ctx, r.Fragments...)
	if err != nil {
		return activities.StepResult{}, err
	}
	all := memory.As[*dream.Fragment](items)
	flags, done, err := run.breaking(ctx, r, all)
	if done.Interrupted() {
		return activities.StepResult{CallOutcome: done}, nil
	}
	if failure, failed := inference.AsFailure(err); failed && (!failure.Again() || lastAttempt(ctx, run.Spec)) {
		flags, err = unclear(run.Spec.Policy, askable(run.Spec.Policy, all), "nobody answered"), nil
	}
	if err != nil {
		return activities.StepResult{}, err
	}
	w := memory.Write{}
	free, made := run.applyFlags(r, all, flags, &w)
	for _, f := range free {
		w.Change = append(w.Change, f)
		made = append(made,
			activities.MadeItem{ID: f.ID, Score: f.Verdict.Composite, Kept: f.Status != dream.FragmentDiscarded})
	}
	return activities.StepResult{Made: inOrder(r.Fragments, made)}, run.Write(ctx, w)
}

// lastAttempt says whether a failing activity will not be retried.
func lastAttempt(ctx context.Context, spec activities.Spec) bool {
	return !activity.IsActivity(ctx) || int(activity.GetInfo(ctx).Attempt) >= spec.Knobs.Attempts
}

// askable are the fragments that only the rules in words may bar.
func askable(p *policy.Rules, all []*dream.Fragment) []*dream.Fragment {
	return slices.DeleteFunc(slices.Clone(all), func(f *dream.Fragment) bool { return barredOtherwise(f, p) })
}

// inOrder sorts results of a capture into the order of the request.
func inOrder(ids []string, made []activities.MadeItem) []activities.MadeItem {
	place := func(m activities.MadeItem) int { return slices.Index(ids, m.ID) }
	slices.SortStableFunc(made, func(a, b activities.MadeItem) int { return place(a) - place(b) })
	return made
}

// breaking asks the observer which fragments break the rules in words, and returns the flags of each. Fragments that
// are already barred are not shown. Without a judging model, without money or without a readable answer, every
// fragment is flagged as unclear, and the policy decides whether that means review or barred.
func (o onsetRun) breaking(ctx context.Context, r activities.CaptureRequest,
	all []*dream.Fragment,
) (map[string][]dream.Flag, activities.CallOutcome, error) {
	flags := map[string][]dream.Flag{}
	if o.Spec.Policy == nil || len(o.Spec.Policy.Sentences) == 0 {
		return flags, activities.CallOutcome{}, nil
	}
	shown := askable(o.Spec.Policy, all)
	if len(shown) == 0 {
		return flags, activities.CallOutcome{}, nil
	}
	model, err := o.Catalog.Lookup(o.Spec.Models[dream.Observer])
	if err != nil {
		return nil, activities.CallOutcome{}, err
	}
	if !model.Judges {
		return unclear(o.Spec.Policy, shown, "what "+model.Name+" answers as a judge has no meaning"),
			activities.CallOutcome{},
			nil
	}
	answer, done, err := o.askBreaches(ctx, r, shown)
	if err != nil || done.Interrupted() {
		return nil, done, err
	}
	switch done.End {
	case activities.EndCap:
		return unclear(o.Spec.Policy, shown, "there was no money left to ask"), activities.CallOutcome{}, nil
	case activities.EndUnreadable:
		return unclear(o.Spec.Policy, shown, "the answer could not be read"), activities.CallOutcome{}, nil
	}
	for i, f := range shown {
		flags[f.ID] = answer.flags(o.Spec.Policy, fmt.Sprintf("f%d", i+1))
	}
	return flags, activities.CallOutcome{}, nil
}

func (o onsetRun) askBreaches(ctx context.Context, r activities.CaptureRequest,
	shown []*dream.Fragment,
) (breaches, activities.CallOutcome, error) {
	var answer breaches
	self, _, err := o.Self(ctx)
	if err != nil {
		return answer, activities.CallOutcome{}, err
	}
	rules := make([]string, len(o.Spec.Policy.Sentences))
	for i, s := range o.Spec.Policy.Sentences {
		rules[i] = s.Text
	}
	c := core.Call{
		Phase:       dream.Onset,
		Limit:       r.Limit,
		Tone:        r.Tone,
		Step:        "policy",
		Role:        dream.Observer,
		Temperature: o.Spec.Knobs.ObserverTemperature,
		Behind:      core.IdsOf(shown),
		Seed:        o.SeedOf(dream.Onset, 98, 0),
		Text: prompt.Cage(
			prompt.CageInput{
				Self: self, Fragments: prompt.Lines("f", core.TextsOf(shown)...),
				Rules: prompt.Lines("s", rules...),
			}),
		Tokens: CageTokens(o.Spec.Knobs, len(shown)),
	}
	_, done, err := o.AskFor(ctx, c, &answer)
	return answer, done, err
}

// flags are the flags that an answer gives to one fragment.
func (b breaches) flags(p *policy.Rules, ref string) []dream.Flag {
	at := slices.IndexFunc(b.Breaches, func(one breach) bool { return core.TrimRef(one.Ref) == ref })
	if at < 0 {
		return []dream.Flag{unclearFlag(p, "the answer left it out")}
	}
	answer := b.Breaches[at]
	var flags []dream.Flag
	for _, broken := range answer.Breaks {
		n := -1
		for i := range p.Sentences {
			if core.TrimRef(broken) == fmt.Sprintf("s%d", i+1) {
				n = i
			}
		}
		if n < 0 {
			return []dream.Flag{unclearFlag(p, "the answer names a rule that does not exist")}
		}
		reason := strings.TrimSpace(answer.Reason)
		if reason == "" {
			reason = "it breaks: " + p.Sentences[n].Text
		}
		flags = append(flags, dream.Flag{By: core.ByPolicy + p.Sentences[n].Name, Reason: reason, Bars: true})
	}
	return flags
}

func unclear(p *policy.Rules, all []*dream.Fragment, why string) map[string][]dream.Flag {
	flags := map[string][]dream.Flag{}
	for _, f := range all {
		flags[f.ID] = []dream.Flag{unclearFlag(p, why)}
	}
	return flags
}

func unclearFlag(p *policy.Rules, why string) dream.Flag {
	return dream.Flag{
		By: core.ByPolicy + policy.RuleUnclear, Reason: "not judged by the rules in words: " + why,
		Bars: p.Unclear == policy.Bar,
	}
}

// barredOtherwise says whether a fragment is barred by anything but the rules in words. Earlier results of those
// rules are ignored, so that a retried activity asks the same question.
func barredOtherwise(f *dream.Fragment, p *policy.Rules) bool {
	return slices.ContainsFunc(f.Flags, func(flag dream.Flag) bool {
		inWords := flag.By == core.ByPolicy+policy.RuleUnclear ||
			slices.ContainsFunc(p.Sentences, func(s policy.Sentence) bool { return flag.By == core.ByPolicy+s.Name })
		return flag.Bars && !inWords
	})
}
