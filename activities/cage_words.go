package activities

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/activity"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/memory"
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
func (o *Onset) separateBarred(ctx context.Context, r CaptureRequest, spec Spec, all []*dream.Fragment,
	w *memory.Write) (
	free []*dream.Fragment, made []Made, done Done, err error,
) {
	flags, done, err := o.breaking(ctx, r, spec, all)
	if err != nil || done.Interrupted() {
		return nil, nil, done, err
	}
	free, made = o.applyFlags(r, spec, all, flags, w)
	return free, made, Done{}, nil
}

// applyFlags flags fragments by the rules in words and separates free ones from barred ones, which are written.
func (o *Onset) applyFlags(r CaptureRequest, spec Spec, all []*dream.Fragment, flags map[string][]dream.Flag,
	w *memory.Write,
) (free []*dream.Fragment, made []Made) {
	for _, f := range all {
		if spec.Policy != nil && !barredOtherwise(f, spec.Policy) {
			f.HeldTo = spec.Policy.Words()
		}
		o.flag(r.Stretch, f, flags[f.ID], w)
		flag, barred := f.Barred()
		if !barred {
			free = append(free, f)
			continue
		}
		f.Reason = barredBy(flag)
		w.Change = append(w.Change, f)
		made = append(made, Made{ID: f.ID, Score: f.Verdict.Composite, Kept: f.Status != dream.FragmentDiscarded})
	}
	return free, made
}

// Hold applies the rules in words to fragments without a lucid capture, because an alarm ended their onset or the
// capture failed. A recorded answer is used again without a new call; without an answer each fragment counts as
// unclear. Nothing is rated.
func (o *Onset) Hold(ctx context.Context, r CaptureRequest) (StepResult, error) {
	spec, err := o.spec(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	items, err := o.Memory.Get(ctx, r.Agent, r.Fragments...)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	all := memory.As[*dream.Fragment](items)
	flags, done, err := o.breaking(ctx, r, spec, all)
	if done.Interrupted() {
		return StepResult{Done: done}, nil
	}
	if failure, failed := inference.AsFailure(err); failed && (!failure.Again() || lastAttempt(ctx, spec)) {
		flags, err = unclear(spec.Policy, askable(spec.Policy, all), "nobody answered"), nil
	}
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	w := memory.Write{}
	free, made := o.applyFlags(r, spec, all, flags, &w)
	for _, f := range free {
		w.Change = append(w.Change, f)
		made = append(made, Made{ID: f.ID, Score: f.Verdict.Composite, Kept: f.Status != dream.FragmentDiscarded})
	}
	return StepResult{Made: inOrder(r.Fragments, made)}, toApplicationError(o.write(ctx, r.Stretch, w))
}

// lastAttempt says whether a failing activity will not be retried.
func lastAttempt(ctx context.Context, spec Spec) bool {
	return !activity.IsActivity(ctx) || int(activity.GetInfo(ctx).Attempt) >= spec.Knobs.Attempts
}

// unheld says whether the policy bars a fragment because the rules in words were never applied to it.
func unheld(spec Spec, f *dream.Fragment) bool {
	return spec.Policy != nil && spec.Policy.Unclear == policy.Bar && f.HeldTo != spec.Policy.Words()
}

// askable are the fragments that only the rules in words may bar.
func askable(p *policy.Rules, all []*dream.Fragment) []*dream.Fragment {
	return slices.DeleteFunc(slices.Clone(all), func(f *dream.Fragment) bool { return barredOtherwise(f, p) })
}

// inOrder sorts results of a capture into the order of the request.
func inOrder(ids []string, made []Made) []Made {
	place := func(m Made) int { return slices.Index(ids, m.ID) }
	slices.SortStableFunc(made, func(a, b Made) int { return place(a) - place(b) })
	return made
}

// breaking asks the observer which fragments break the rules in words, and returns the flags of each. Fragments that
// are already barred are not shown. Without a judging model, without money or without a readable answer, every
// fragment is flagged as unclear, and the policy decides whether that means review or barred.
func (o *Onset) breaking(ctx context.Context, r CaptureRequest, spec Spec,
	all []*dream.Fragment,
) (map[string][]dream.Flag, Done, error) {
	flags := map[string][]dream.Flag{}
	if spec.Policy == nil || len(spec.Policy.Sentences) == 0 {
		return flags, Done{}, nil
	}
	shown := askable(spec.Policy, all)
	if len(shown) == 0 {
		return flags, Done{}, nil
	}
	model, err := o.Catalog.Lookup(spec.Models[dream.Observer])
	if err != nil {
		return nil, Done{}, err
	}
	if !model.Judges {
		return unclear(spec.Policy, shown, "what "+model.Name+" answers as a judge has no meaning"), Done{}, nil
	}
	answer, done, err := o.askBreaches(ctx, r, spec, shown)
	if err != nil || done.Interrupted() {
		return nil, done, err
	}
	switch done.End {
	case EndCap:
		return unclear(spec.Policy, shown, "there was no money left to ask"), Done{}, nil
	case EndUnreadable:
		return unclear(spec.Policy, shown, "the answer could not be read"), Done{}, nil
	}
	for i, f := range shown {
		flags[f.ID] = answer.flags(spec.Policy, fmt.Sprintf("f%d", i+1))
	}
	return flags, Done{}, nil
}

func (o *Onset) askBreaches(ctx context.Context, r CaptureRequest, spec Spec,
	shown []*dream.Fragment,
) (breaches, Done, error) {
	var answer breaches
	self, _, err := o.self(ctx, r.Stretch)
	if err != nil {
		return answer, Done{}, err
	}
	rules := make([]string, len(spec.Policy.Sentences))
	for i, s := range spec.Policy.Sentences {
		rules[i] = s.Text
	}
	c := call{
		spec:        spec,
		phase:       dream.Onset,
		limit:       r.Limit,
		tone:        r.Tone,
		stretch:     r.Stretch,
		step:        "policy",
		role:        dream.Observer,
		temperature: spec.Knobs.ObserverTemperature,
		behind:      idsOf(shown),
		seed:        seedOf(spec, dream.Onset, 98, 0),
		text: prompt.Cage(
			prompt.CageInput{
				Self: self, Fragments: prompt.Lines("f", textsOf(shown)...),
				Rules: prompt.Lines("s", rules...),
			}),
		tokens: CageTokens(spec.Knobs, len(shown)),
	}
	_, done, err := o.askFor(ctx, c, &answer)
	return answer, done, err
}

// flags are the flags that an answer gives to one fragment.
func (b breaches) flags(p *policy.Rules, ref string) []dream.Flag {
	at := slices.IndexFunc(b.Breaches, func(one breach) bool { return trimRef(one.Ref) == ref })
	if at < 0 {
		return []dream.Flag{unclearFlag(p, "the answer left it out")}
	}
	answer := b.Breaches[at]
	var flags []dream.Flag
	for _, broken := range answer.Breaks {
		n := -1
		for i := range p.Sentences {
			if trimRef(broken) == fmt.Sprintf("s%d", i+1) {
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
		flags = append(flags, dream.Flag{By: byPolicy + p.Sentences[n].Name, Reason: reason, Bars: true})
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
		By: byPolicy + policy.RuleUnclear, Reason: "not judged by the rules in words: " + why,
		Bars: p.Unclear == policy.Bar,
	}
}

// barredOtherwise says whether a fragment is barred by anything but the rules in words. Earlier results of those
// rules are ignored, so that a retried activity asks the same question.
func barredOtherwise(f *dream.Fragment, p *policy.Rules) bool {
	return slices.ContainsFunc(f.Flags, func(flag dream.Flag) bool {
		inWords := flag.By == byPolicy+policy.RuleUnclear ||
			slices.ContainsFunc(p.Sentences, func(s policy.Sentence) bool { return flag.By == byPolicy+s.Name })
		return flag.Bars && !inWords
	})
}
