package onset

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// judgeMeasured stores fragments with a verdict of the embedder alone, without a judge's call.
func (o onsetRun) judgeMeasured(ctx context.Context, r activities.StepRequest, c core.Call,
	fragments []*dream.Fragment,
) (activities.StepResult, error) {
	measured, done, err := o.measureThoughts(ctx, r, c, fragments)
	if err != nil {
		return activities.StepResult{}, err
	}
	if done.End != activities.EndDone { // paid for, and kept unjudged
		w := memory.Write{}
		for _, f := range fragments {
			f.Status, f.Reason = dream.FragmentDiscarded, core.NotJudged
			w.Add = append(w.Add, f)
			w.Events = append(w.Events, o.verdictEvent(f))
		}
		return activities.StepResult{CallOutcome: done}, o.Write(ctx, w)
	}
	values := map[string]bool{}
	for _, h := range measured {
		o.decide(h.f, h.weigh(o.Spec, nil))
		if words := strings.Join(strings.Fields(strings.ToLower(h.f.Content)), " "); values[words] {
			h.f.Status, h.f.Reason = dream.FragmentDiscarded, "said already"
		} else {
			values[words] = true
		}
	}
	return o.judged(ctx, r, measured)
}

type judgement struct {
	Ref       string   `json:"ref"`
	Novelty   *float64 `json:"novelty"`
	Relevance *float64 `json:"relevance"`
	Coherence *float64 `json:"coherence"`
	Reason    string   `json:"reason"`
}

// scores are the scores of a judge's answer; nil when one is missing.
func (j judgement) scores() *dream.Scores {
	if j.Novelty == nil || j.Relevance == nil || j.Coherence == nil {
		return nil
	}
	return &dream.Scores{
		Novelty: core.Clamp(*j.Novelty), Relevance: core.Clamp(*j.Relevance),
		Coherence: core.Clamp(*j.Coherence),
	}
}

// Judge lets the observer judge one partial and keeps or discards it. If the model's numbers have no meaning, the
// verdict is measured with the embedder, and says so.
func (o *Onset) Judge(ctx context.Context, r activities.StepRequest) (activities.StepResult, error) {
	run, err := o.open(ctx, r.Stretch)
	if err != nil {
		return activities.StepResult{}, err
	}
	f, logProb, err := run.caught(ctx, r, r.Turn, r.Drift)
	if err != nil {
		return activities.StepResult{}, err
	}
	c := run.judging(r, fmt.Sprintf("%d/judge-%d", r.Cycle, r.Turn), 100+r.Turn, run.Spec.Knobs.ObserverTokens)
	if f.Content == "" { // there is nothing to measure, and providers refuse empty texts
		run.decide(f, dream.Verdict{})
		return sensed(f, logProb)(run.judged(ctx, r, []judgedThought{{f: f}}))
	}
	all, done, err := run.measureThoughts(ctx, r, c, []*dream.Fragment{f})
	if err != nil || done.End != activities.EndDone {
		return activities.StepResult{CallOutcome: done}, err
	}
	all[0].ear.LogProb = logProb
	verdict, reason, done, err := run.verdict(ctx, r, c, all[0])
	if err != nil || done.End == activities.EndCap || done.Interrupted() {
		return activities.StepResult{CallOutcome: done}, err
	}
	run.decide(f, verdict)
	if f.Reason == "" {
		f.Reason = reason
	}
	return sensed(f, logProb)(run.judged(ctx, r, all))
}

// caught makes a fragment of one partial of a cycle.
func (o onsetRun) caught(ctx context.Context, r activities.StepRequest, turn int,
	drift float64,
) (*dream.Fragment, *float64, error) {
	answer, err := o.partial(ctx, r.Cycle, turn, drift)
	if err != nil {
		return nil, nil, err
	}
	return &dream.Fragment{
		Head:     o.Head(dream.Onset, dream.KindFragment, core.FragmentStep(r.Cycle, turn), nil),
		Content:  answer.text,
		Tone:     r.Tone,
		Cycle:    r.Cycle,
		Stage:    cmp.Or(r.Stage, dream.Peak),
		Settings: answer.settings,
	}, answer.logProb, nil
}

// judging is the call of a judge. throw selects the dice.
func (o onsetRun) judging(r activities.StepRequest, step string, throw, tokens int) core.Call {
	return core.Call{
		Phase:       dream.Onset,
		Limit:       r.Limit,
		Tone:        r.Tone,
		Step:        step,
		Role:        dream.Observer,
		Temperature: o.Spec.Knobs.ObserverTemperature,
		Seed:        o.SeedOf(dream.Onset, r.Cycle, throw),
		Tokens:      tokens,
	}
}

// judged writes fragments with their verdicts in one step, and announces the verdicts and fired markers.
func (o onsetRun) judged(ctx context.Context, r activities.StepRequest,
	all []judgedThought,
) (activities.StepResult, error) {
	w := memory.Write{}
	var made []activities.MadeItem
	for _, h := range all {
		w.Add = append(w.Add, h.f)
		if h.vector.Item != "" {
			w.Vectors = append(w.Vectors, h.vector)
		}
		w.Events = append(w.Events, o.verdictEvent(h.f))
		if err := core.Tag(ctx, o.Run, h.f, &w); err != nil {
			return activities.StepResult{}, err
		}
		if fired := o.firedEvent(h.f); fired != nil {
			w.Events = append(w.Events, *fired)
		}
		made = append(made, activities.MadeItem{
			ID: h.f.ID, Score: h.f.Verdict.Composite,
			Kept: h.f.Status != dream.FragmentDiscarded,
		})
	}
	return activities.StepResult{Made: made}, o.Write(ctx, w)
}

// verdict asks the judge about one thought; without an answer it is measured.
func (o onsetRun) verdict(ctx context.Context, r activities.StepRequest, c core.Call,
	h judgedThought,
) (dream.Verdict, string, activities.CallOutcome, error) {
	model, err := o.Catalog.Lookup(o.Spec.Models[dream.Observer])
	if err != nil || !model.Judges {
		return h.weigh(o.Spec, nil), "", activities.CallOutcome{}, err
	}
	self, theme, err := o.Self(ctx)
	if err != nil {
		return dream.Verdict{}, "", activities.CallOutcome{}, err
	}
	existing, err := o.texts(ctx, r.Agent, h.f.Sources)
	if err != nil {
		return dream.Verdict{}, "", activities.CallOutcome{}, err
	}
	rules, err := o.Playbook(ctx)
	if err != nil {
		return dream.Verdict{}, "", activities.CallOutcome{}, err
	}
	c.Temperature = r.Temperature
	c.Behind = append([]string{}, h.f.Sources...)
	c.Text = prompt.Judge(prompt.JudgeInput{
		Self:     self,
		Theme:    theme,
		Text:     h.f.Content,
		Near:     prompt.Lines("m", existing...),
		Playbook: rules,
	})
	var answer judgement
	paid, done, err := o.AskFor(ctx, c, &answer)
	if err != nil || done.End == activities.EndCap || done.Interrupted() {
		return dream.Verdict{}, "", done, err
	}
	v := h.verdict(o.Spec, model.Name, answer.scores(), answer.Reason, noVerdict(done), dream.BySingle, 0, &paid.Cost)
	if v.Judge != model.Name {
		return v, "", activities.CallOutcome{}, nil
	}
	return v, answer.Reason, activities.CallOutcome{}, nil
}

// noVerdict is why a judge gave no verdict.
func noVerdict(done activities.CallOutcome) string {
	if done.End == activities.EndUnreadable {
		return "the judge's answer could not be read, nor its repair"
	}
	return "the judge left out a score"
}

// verdict makes a verdict of a judge's scores. Without scores it is measured and why is recorded. cost is the price of
// this thought.
func (h judgedThought) verdict(spec activities.Spec, judge string, scores *dream.Scores, reason, why, way string,
	together int,
	cost *budget.Micros,
) dream.Verdict {
	v := h.weigh(spec, scores)
	if scores != nil {
		v.Judge = judge
	}
	if p := v.Parts; p != nil {
		if cost != nil {
			p.Cost, p.Together = cost, together
		}
		if scores == nil {
			p.Why = why
		} else {
			p.Way, p.JudgeReason = way, reason
		}
	}
	return v
}

// belowFloor is why most fragments are discarded; the composite is stored beside it.
const belowFloor = "below the floor"

// decide keeps a fragment whose composite exceeds the floor, and otherwise records why it is discarded.
func (o onsetRun) decide(f *dream.Fragment, v dream.Verdict) {
	f.Verdict = v
	if o.Spec.Observer != nil {
		f.Verdict.Floor = &o.Spec.Knobs.FragmentFloor
	}
	f.Confidence = hypnagogia.FragmentConfidence(o.Spec.Knobs.FragmentStart)
	f.Status = dream.FragmentRaw
	switch {
	case f.Content == "":
		f.Status, f.Reason = dream.FragmentDiscarded, "nothing was said"
	case hypnagogia.Keep(v.Composite, o.Spec.Knobs.FragmentFloor):
	case v.Parts == nil:
		f.Status, f.Reason = dream.FragmentDiscarded, belowFloor
	default:
		f.Status, f.Reason = dream.FragmentDiscarded, belowFloor+": "+hypnagogia.Fault(v)
	}
}

func (o onsetRun) verdictEvent(f *dream.Fragment) event.Event {
	activityName := strings.TrimPrefix(f.ID, o.Dream+"/")
	if f.Status == dream.FragmentDiscarded {
		return o.Event(activityName,
			event.FragmentDiscarded{Fragment: f.ID, Reason: f.Reason, Composite: f.Verdict.Composite})
	}
	return o.Event(activityName, event.FragmentCaptured{
		Fragment:  f.ID,
		Novelty:   f.Verdict.Novelty,
		Distance:  f.Verdict.DistanceMemory,
		Composite: f.Verdict.Composite,
		Tone:      f.Tone,
	})
}

// firedEvent announces the marker that a fragment fired; nil for none.
func (o onsetRun) firedEvent(f *dream.Fragment) *event.Event {
	p := f.Verdict.Parts
	if p == nil || p.Marker == nil {
		return nil
	}
	m := p.Marker
	e := o.Event(strings.TrimPrefix(f.ID, o.Dream+"/"), event.SomaticMarkerFired{
		Marker:     m.Marker,
		Fragment:   f.ID,
		Deviations: m.Deviations,
		Threshold:  m.Threshold,
		Strength:   m.Strength,
		Valence:    m.Valence,
		Count:      m.Count,
		Boost:      m.Boost,
	})
	return &e
}

// texts reads the texts of items, leaving out those that were removed.
func (o onsetRun) texts(ctx context.Context, agent string, ids []string) ([]string, error) {
	items, err := o.Memory.Get(ctx, agent, ids...)
	if err != nil {
		return nil, fmt.Errorf("read memories: %w", err)
	}
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = item.Text()
	}
	return texts, nil
}
