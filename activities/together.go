package activities

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// TogetherRequest is the input of Onset.JudgeTogether.
type TogetherRequest struct {
	StepRequest
	Turns []Turn `json:"turns"`
}

// Turn is one partial of a cycle.
type Turn struct {
	Turn  int     `json:"turn"`
	Drift float64 `json:"drift"` // the temperature it was made at
}

// besideVerdict is the size of a verdict's reference and braces in tokens.
const besideVerdict = 10

// togetherTokens is the largest answer with verdicts on so many thoughts.
func togetherTokens(k dream.Knobs, thoughts int) int {
	return thoughts * (k.ObserverTokens + besideVerdict)
}

// JudgeTogether lets the observer judge the partials of a cycle in one call, and keeps or discards each. A thought
// that the answer leaves out or garbles is measured with the embedder, and its verdict says so.
func (o *Onset) JudgeTogether(ctx context.Context, r TogetherRequest) (StepResult, error) {
	spec, err := o.spec(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	var caught, silent []*dream.Fragment
	logProbs := map[string]*float64{}
	for _, turn := range r.Turns {
		f, logProb, err := o.caught(ctx, spec, r.StepRequest, turn.Turn, turn.Drift)
		if err != nil {
			return StepResult{}, toApplicationError(err)
		}
		logProbs[f.ID] = logProb
		if f.Content == "" {
			o.decide(spec, f, dream.Verdict{})
			silent = append(silent, f)
			continue
		}
		caught = append(caught, f)
	}
	c := o.judging(spec, r.StepRequest, fmt.Sprintf("%d/judge-all", r.Cycle), 120,
		togetherTokens(spec.Knobs, len(caught)))
	all, done, err := o.measureThoughts(ctx, r.StepRequest, c, caught)
	if err != nil || done.End != EndDone {
		return StepResult{Done: done}, toApplicationError(err)
	}
	for i := range all {
		all[i].ear.LogProb = logProbs[all[i].f.ID]
	}
	if done, err := o.verdicts(ctx, r.StepRequest, c, all); err != nil || done.End == EndCap || done.Interrupted() {
		return StepResult{Done: done}, toApplicationError(err)
	}
	for _, f := range silent {
		all = append(all, judgedThought{f: f})
	}
	result, err := o.judged(ctx, r.StepRequest, all)
	if err != nil {
		return result, err
	}
	for i, h := range all {
		result.Made[i].Sense = senseOf(h.f, logProbs[h.f.ID])
	}
	return result, nil
}

// verdicts asks the judge about all thoughts in one call.
func (o *Onset) verdicts(ctx context.Context, r StepRequest, c call, all []judgedThought) (Done, error) {
	model, err := o.Catalog.Lookup(c.spec.Models[dream.Observer])
	if err != nil {
		return Done{}, err
	}
	var answer struct {
		Verdicts []json.RawMessage `json:"verdicts"` // decoded one by one: a garbled one does not affect the others
	}
	values := map[string]judgement{}
	why := ""
	var cost *budget.Micros
	if model.Judges && len(all) > 0 {
		c.text, c.behind, err = o.thoughts(ctx, r, all)
		if err != nil {
			return Done{}, err
		}
		c.temperature = r.Temperature
		paid, done, err := o.askFor(ctx, c, &answer)
		if err != nil || done.End == EndCap || done.Interrupted() {
			return done, err
		}
		share := (paid.Cost + budget.Micros(len(all)) - 1) / budget.Micros(len(all))
		cost, why = &share, "the judge left it out, or a score of it"
		if done.End == EndUnreadable {
			why = noVerdict(done)
		}
		for _, one := range answer.Verdicts {
			var j judgement
			if json.Unmarshal(one, &j) != nil {
				continue
			}
			if ref := trimRef(j.Ref); values[ref].scores() == nil { // the first readable verdict counts
				values[ref] = j
			}
		}
	}
	for i, h := range all {
		j := values[thoughtRef(i)]
		o.decide(c.spec, h.f,
			h.verdict(c.spec, model.Name, j.scores(), j.Reason, why, dream.ByTogether, len(all), cost))
		if h.f.Reason == "" && j.scores() != nil {
			h.f.Reason = j.Reason
		}
	}
	return Done{}, nil
}

func thoughtRef(i int) string { return fmt.Sprintf("t%d", i+1) }

// thoughts are what the judge of a cycle sees: each thought with its nearest memories.
func (o *Onset) thoughts(ctx context.Context, r StepRequest, all []judgedThought) (prompt.Text, []string, error) {
	self, theme, err := o.self(ctx, r.Stretch)
	if err != nil {
		return prompt.Text{}, nil, err
	}
	rules, err := o.playbook(ctx, r.Stretch)
	if err != nil {
		return prompt.Text{}, nil, err
	}
	view := prompt.JudgingAll{Self: self, Theme: theme, Playbook: rules}
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
