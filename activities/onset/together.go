package onset

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// besideVerdict is the size of a verdict's reference and braces in tokens.
const besideVerdict = 10

// togetherTokens is the largest answer with verdicts on so many thoughts.
func togetherTokens(k dream.Knobs, thoughts int) int {
	return thoughts * (k.ObserverTokens + besideVerdict)
}

// JudgeTogether lets the observer judge the partials of a cycle in one call, and keeps or discards each. A thought
// that the answer leaves out or garbles is measured with the embedder, and its verdict says so.
func (o *Onset) JudgeTogether(ctx context.Context, r activities.TogetherRequest) (activities.StepResult, error) {
	run, err := o.open(ctx, r.Stretch)
	if err != nil {
		return activities.StepResult{}, err
	}
	var caught, silent []*dream.Fragment
	logProbs := map[string]*float64{}
	for _, turn := range r.Turns {
		f, logProb, err := run.caught(ctx, r.StepRequest, turn.Turn, turn.Drift)
		if err != nil {
			return activities.StepResult{}, err
		}
		logProbs[f.ID] = logProb
		if f.Content == "" {
			run.decide(f, dream.Verdict{})
			silent = append(silent, f)
			continue
		}
		caught = append(caught, f)
	}
	c := run.judging(r.StepRequest, fmt.Sprintf("%d/judge-all", r.Cycle), 120,
		togetherTokens(run.Spec.Knobs, len(caught)))
	all, done, err := run.measureThoughts(ctx, r.StepRequest, c, caught)
	if err != nil || done.End != activities.EndDone {
		return activities.StepResult{CallOutcome: done}, err
	}
	for i := range all {
		all[i].ear.LogProb = logProbs[all[i].f.ID]
	}
	if done, err := run.verdicts(ctx, r.StepRequest, c, all); err != nil || done.End == activities.EndCap ||
		done.Interrupted() {
		return activities.StepResult{CallOutcome: done}, err
	}
	for _, f := range silent {
		all = append(all, judgedThought{f: f})
	}
	result, err := run.judged(ctx, r.StepRequest, all)
	if err != nil {
		return result, err
	}
	for i, h := range all {
		result.Made[i].Sense = senseOf(h.f, logProbs[h.f.ID])
	}
	return result, nil
}

// verdicts asks the judge about all thoughts in one call.
func (o onsetRun) verdicts(ctx context.Context, r activities.StepRequest, c core.Call,
	all []judgedThought,
) (activities.CallOutcome, error) {
	model, err := o.Catalog.Lookup(o.Spec.Models[dream.Observer])
	if err != nil {
		return activities.CallOutcome{}, err
	}
	var answer struct {
		Verdicts []json.RawMessage `json:"verdicts"` // decoded one by one: a garbled one does not affect the others
	}
	values := map[string]judgement{}
	why := ""
	var cost *budget.Micros
	if model.Judges && len(all) > 0 {
		c.Text, c.Behind, err = o.thoughts(ctx, r, all)
		if err != nil {
			return activities.CallOutcome{}, err
		}
		c.Temperature = r.Temperature
		paid, done, err := o.AskFor(ctx, c, &answer)
		if err != nil || done.End == activities.EndCap || done.Interrupted() {
			return done, err
		}
		share := (paid.Cost + budget.Micros(len(all)) - 1) / budget.Micros(len(all))
		cost, why = &share, "the judge left it out, or a score of it"
		if done.End == activities.EndUnreadable {
			why = noVerdict(done)
		}
		for _, one := range answer.Verdicts {
			var j judgement
			if json.Unmarshal(one, &j) != nil {
				continue
			}
			if ref := core.TrimRef(j.Ref); values[ref].scores() == nil { // the first readable verdict counts
				values[ref] = j
			}
		}
	}
	for i, h := range all {
		j := values[thoughtRef(i)]
		o.decide(h.f,
			h.verdict(o.Spec, model.Name, j.scores(), j.Reason, why, dream.ByTogether, len(all), cost))
		if h.f.Reason == "" && j.scores() != nil {
			h.f.Reason = j.Reason
		}
	}
	return activities.CallOutcome{}, nil
}

func thoughtRef(i int) string { return fmt.Sprintf("t%d", i+1) }

// thoughts are what the judge of a cycle sees: each thought with its nearest memories.
func (o onsetRun) thoughts(ctx context.Context, r activities.StepRequest,
	all []judgedThought,
) (prompt.Text, []string, error) {
	self, theme, err := o.Self(ctx)
	if err != nil {
		return prompt.Text{}, nil, err
	}
	rules, err := o.Playbook(ctx)
	if err != nil {
		return prompt.Text{}, nil, err
	}
	view := prompt.JudgeAllInput{Self: self, Theme: theme, Playbook: rules}
	var behind []string
	shown := 0
	for i, h := range all {
		existing, err := o.texts(ctx, r.Agent, h.f.Sources)
		if err != nil {
			return prompt.Text{}, nil, err
		}
		thought := prompt.Thought{Line: prompt.Line{Ref: thoughtRef(i), Text: h.f.Content}}
		for _, text := range existing {
			shown++
			thought.Near = append(thought.Near, prompt.Line{Ref: fmt.Sprintf("m%d", shown), Text: text})
		}
		view.Thoughts = append(view.Thoughts, thought)
		behind = append(behind, h.f.Sources...)
	}
	return prompt.JudgeAll(view), behind, nil
}
