package activities

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// judgeMeasured stores fragments with a verdict of the embedder alone, without a judge's call.
func (o *Onset) judgeMeasured(ctx context.Context, r StepRequest, c call,
	fragments []*dream.Fragment,
) (StepResult, error) {
	measured, done, err := o.measureThoughts(ctx, r, c, fragments)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	if done.End != EndDone { // paid for, and kept unjudged
		w := memory.Write{}
		for _, f := range fragments {
			f.Status, f.Reason = dream.FragmentDiscarded, notJudged
			w.Add = append(w.Add, f)
			w.Events = append(w.Events, o.verdictEvent(r.Stretch, f))
		}
		return StepResult{Done: done}, toApplicationError(o.write(ctx, r.Stretch, w))
	}
	values := map[string]bool{}
	for _, h := range measured {
		o.decide(c.spec, h.f, h.weigh(c.spec, nil))
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
	return &dream.Scores{Novelty: clamp(*j.Novelty), Relevance: clamp(*j.Relevance), Coherence: clamp(*j.Coherence)}
}

// Judge lets the observer judge one partial and keeps or discards it. If the model's numbers have no meaning, the
// verdict is measured with the embedder, and says so.
func (o *Onset) Judge(ctx context.Context, r StepRequest) (StepResult, error) {
	spec, err := o.spec(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	f, logProb, err := o.caught(ctx, spec, r, r.Turn, r.Drift)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	c := o.judging(spec, r, fmt.Sprintf("%d/judge-%d", r.Cycle, r.Turn), 100+r.Turn, spec.Knobs.ObserverTokens)
	if f.Content == "" { // there is nothing to measure, and providers refuse empty texts
		o.decide(spec, f, dream.Verdict{})
		return sensed(f, logProb)(o.judged(ctx, r, []judgedThought{{f: f}}))
	}
	all, done, err := o.measureThoughts(ctx, r, c, []*dream.Fragment{f})
	if err != nil || done.End != EndDone {
		return StepResult{Done: done}, toApplicationError(err)
	}
	all[0].ear.LogProb = logProb
	verdict, reason, done, err := o.verdict(ctx, r, c, all[0])
	if err != nil || done.End == EndCap || done.Interrupted() {
		return StepResult{Done: done}, toApplicationError(err)
	}
	o.decide(spec, f, verdict)
	if f.Reason == "" {
		f.Reason = reason
	}
	return sensed(f, logProb)(o.judged(ctx, r, all))
}

// caught makes a fragment of one partial of a cycle.
func (o *Onset) caught(ctx context.Context, spec Spec, r StepRequest, turn int,
	drift float64,
) (*dream.Fragment, *float64, error) {
	answer, err := o.partial(ctx, spec, r.Cycle, turn, drift)
	if err != nil {
		return nil, nil, err
	}
	return &dream.Fragment{
		Head:     head(spec, dream.Onset, dream.KindFragment, fragmentStep(r.Cycle, turn), nil),
		Content:  answer.text,
		Tone:     r.Tone,
		Cycle:    r.Cycle,
		Stage:    cmp.Or(r.Stage, dream.Peak),
		Settings: answer.settings,
	}, answer.logProb, nil
}

// judging is the call of a judge. throw selects the dice.
func (o *Onset) judging(spec Spec, r StepRequest, step string, throw, tokens int) call {
	return call{
		spec:        spec,
		phase:       dream.Onset,
		limit:       r.Limit,
		tone:        r.Tone,
		stretch:     r.Stretch,
		step:        step,
		role:        dream.Observer,
		temperature: spec.Knobs.ObserverTemperature,
		seed:        seedOf(spec, dream.Onset, r.Cycle, throw),
		tokens:      tokens,
	}
}

// judged writes fragments with their verdicts in one step, and announces the verdicts and fired markers.
func (o *Onset) judged(ctx context.Context, r StepRequest, all []judgedThought) (StepResult, error) {
	w := memory.Write{}
	var made []Made
	for _, h := range all {
		w.Add = append(w.Add, h.f)
		if h.vector.Item != "" {
			w.Vectors = append(w.Vectors, h.vector)
		}
		w.Events = append(w.Events, o.verdictEvent(r.Stretch, h.f))
		if err := o.tag(ctx, r.Stretch, h.f, &w); err != nil {
			return StepResult{}, toApplicationError(err)
		}
		if fired := o.firedEvent(r.Stretch, h.f); fired != nil {
			w.Events = append(w.Events, *fired)
		}
		made = append(made, Made{ID: h.f.ID, Score: h.f.Verdict.Composite, Kept: h.f.Status != dream.FragmentDiscarded})
	}
	return StepResult{Made: made}, toApplicationError(o.write(ctx, r.Stretch, w))
}

// verdict asks the judge about one thought; without an answer it is measured.
func (o *Onset) verdict(ctx context.Context, r StepRequest, c call,
	h judgedThought,
) (dream.Verdict, string, Done, error) {
	model, err := o.Catalog.Lookup(c.spec.Models[dream.Observer])
	if err != nil || !model.Judges {
		return h.weigh(c.spec, nil), "", Done{}, err
	}
	self, theme, err := o.self(ctx, r.Stretch)
	if err != nil {
		return dream.Verdict{}, "", Done{}, err
	}
	existing, err := o.texts(ctx, r.Agent, h.f.Sources)
	if err != nil {
		return dream.Verdict{}, "", Done{}, err
	}
	rules, err := o.playbook(ctx, r.Stretch)
	if err != nil {
		return dream.Verdict{}, "", Done{}, err
	}
	c.temperature = r.Temperature
	c.behind = append([]string{}, h.f.Sources...)
	c.text = prompt.Judge(prompt.Judging{
		Self:     self,
		Theme:    theme,
		Text:     h.f.Content,
		Near:     prompt.Lines("m", existing...),
		Playbook: rules,
	})
	var answer judgement
	paid, done, err := o.askFor(ctx, c, &answer)
	if err != nil || done.End == EndCap || done.Interrupted() {
		return dream.Verdict{}, "", done, err
	}
	v := h.verdict(c.spec, model.Name, answer.scores(), answer.Reason, noVerdict(done), dream.BySingle, 0, &paid.Cost)
	if v.Judge != model.Name {
		return v, "", Done{}, nil
	}
	return v, answer.Reason, Done{}, nil
}

// noVerdict is why a judge gave no verdict.
func noVerdict(done Done) string {
	if done.End == EndUnreadable {
		return "the judge's answer could not be read, nor its repair"
	}
	return "the judge left out a score"
}

// verdict makes a verdict of a judge's scores. Without scores it is measured and why is recorded. cost is the price of
// this thought.
func (h judgedThought) verdict(spec Spec, judge string, scores *dream.Scores, reason, why, way string, together int,
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

// notJudged is why a paid thought is discarded when money or time ran out before it was judged.
const notJudged = "the dream ended before it was judged"

// belowFloor is why most fragments are discarded; the composite is stored beside it.
const belowFloor = "below the floor"

// decide keeps a fragment whose composite exceeds the floor, and otherwise records why it is discarded.
func (o *Onset) decide(spec Spec, f *dream.Fragment, v dream.Verdict) {
	f.Verdict = v
	if spec.Observer != nil {
		f.Verdict.Floor = &spec.Knobs.FragmentFloor
	}
	f.Confidence = hypnagogia.FragmentConfidence(spec.Knobs.FragmentStart)
	f.Status = dream.FragmentRaw
	switch {
	case f.Content == "":
		f.Status, f.Reason = dream.FragmentDiscarded, "nothing was said"
	case hypnagogia.Keep(v.Composite, spec.Knobs.FragmentFloor):
	case v.Parts == nil:
		f.Status, f.Reason = dream.FragmentDiscarded, belowFloor
	default:
		f.Status, f.Reason = dream.FragmentDiscarded, belowFloor+": "+hypnagogia.Fault(v)
	}
}

func (o *Onset) verdictEvent(s Stretch, f *dream.Fragment) event.Event {
	activityName := strings.TrimPrefix(f.ID, s.Dream+"/")
	if f.Status == dream.FragmentDiscarded {
		return o.event(s, activityName,
			event.FragmentDiscarded{Fragment: f.ID, Reason: f.Reason, Composite: f.Verdict.Composite})
	}
	return o.event(s, activityName, event.FragmentCaptured{
		Fragment:  f.ID,
		Novelty:   f.Verdict.Novelty,
		Distance:  f.Verdict.DistanceMemory,
		Composite: f.Verdict.Composite,
		Tone:      f.Tone,
	})
}

// firedEvent announces the marker that a fragment fired; nil for none.
func (o *Onset) firedEvent(s Stretch, f *dream.Fragment) *event.Event {
	p := f.Verdict.Parts
	if p == nil || p.Marker == nil {
		return nil
	}
	m := p.Marker
	e := o.event(s, strings.TrimPrefix(f.ID, s.Dream+"/"), event.SomaticMarkerFired{
		Marker:    m.Marker,
		Fragment:  f.ID,
		Cosine:    m.Cosine,
		Threshold: m.Threshold,
		Strength:  m.Strength,
		Valence:   m.Valence,
		Count:     m.Count,
		Boost:     m.Boost,
	})
	return &e
}

func clamp(x float64) float64 { return max(0, min(1, x)) }
