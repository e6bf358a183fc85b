package activities

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// judgeMeasured stores fragments with the verdict of the embedder alone, which costs no call to a judge.
func (o *Onset) judgeMeasured(ctx context.Context, r StepRequest, c call, fragments []*dream.Fragment) (StepResult, error) {
	items := make([]dream.Item, len(fragments))
	for i, f := range fragments {
		items[i] = f
	}
	vectors, done, err := o.place(ctx, c, c.step+"/embed", items)
	if err != nil {
		return StepResult{}, tell(err)
	}
	w := memory.Write{Add: items, Vectors: vectors}
	if done.End != EndDone { // bought, and kept as what it is
		for _, f := range fragments {
			f.Status, f.Reason = dream.FragmentDiscarded, notJudged
			w.Events = append(w.Events, o.verdictEvent(r.Sitting, f))
		}
		return StepResult{Done: done}, tell(o.write(ctx, r.Sitting, w))
	}
	var made []Made
	said := map[string]bool{}
	for i, f := range fragments {
		near, sources, err := o.near(ctx, c.order, vectors[i], f.Sources)
		if err != nil {
			return StepResult{}, tell(err)
		}
		f.Sources = sources
		o.decide(c.order, f, hypnagogia.Judge(f.Content, near))
		if words := strings.Join(strings.Fields(strings.ToLower(f.Content)), " "); said[words] {
			f.Status, f.Reason = dream.FragmentDiscarded, "said already"
		} else {
			said[words] = true
		}
		w.Events = append(w.Events, o.verdictEvent(r.Sitting, f))
		made = append(made, Made{ID: f.ID, Score: f.Verdict.Composite, Kept: f.Status != dream.FragmentDiscarded})
	}
	return StepResult{Made: made}, tell(o.write(ctx, r.Sitting, w))
}

type judgement struct {
	Novelty   *float64 `json:"novelty"`
	Relevance *float64 `json:"relevance"`
	Coherence *float64 `json:"coherence"`
	Reason    string   `json:"reason"`
}

// Judge lets the observer judge one partial and keeps or discards it (H5, H6). A model whose numbers mean nothing is not
// asked: then the verdict is measured with the embedder, and says so.
func (o *Onset) Judge(ctx context.Context, r StepRequest) (StepResult, error) {
	order, err := o.order(ctx, r.Sitting)
	if err != nil {
		return StepResult{}, tell(err)
	}
	said, err := o.partial(ctx, order, r.Cycle, r.Turn, r.Drift)
	if err != nil {
		return StepResult{}, tell(err)
	}
	f := &dream.Fragment{
		Head:    head(order, dream.Onset, dream.KindFragment, fragmentStep(r.Cycle, r.Turn), nil),
		Content: said.text, Tone: r.Tone, Cycle: r.Cycle, Stage: cmp.Or(r.Stage, dream.Peak), Settings: said.settings,
	}
	c := call{
		order: order, phase: dream.Onset, limit: r.Limit, tone: r.Tone, sitting: r.Sitting, step: fmt.Sprintf("%d/judge-%d", r.Cycle, r.Turn), role: dream.Observer,
		heat: order.Knobs.ObserverHeat, seed: seedOf(order, dream.Onset, r.Cycle, 100+r.Turn), tokens: order.Knobs.ObserverTokens,
	}
	if f.Content == "" { // nothing to measure, and no provider embeds nothing
		o.decide(order, f, dream.Verdict{})
		return sensed(f, said.logProb)(o.judged(ctx, r, f, nil))
	}
	vectors, done, err := o.place(ctx, c, c.step+"/embed", []dream.Item{f})
	if err != nil || done.End != EndDone {
		return StepResult{Done: done}, tell(err)
	}
	near, sources, err := o.near(ctx, order, vectors[0], nil)
	if err != nil {
		return StepResult{}, tell(err)
	}
	f.Sources = sources
	verdict, reason, done, err := o.verdict(ctx, r, c, f, near)
	if err != nil || done.End == EndCap || done.Interrupted() {
		return StepResult{Done: done}, tell(err)
	}
	o.decide(order, f, verdict)
	if f.Reason == "" {
		f.Reason = reason
	}
	return sensed(f, said.logProb)(o.judged(ctx, r, f, vectors))
}

// judged writes a fragment with its verdict.
func (o *Onset) judged(ctx context.Context, r StepRequest, f *dream.Fragment, vectors []memory.Vector) (StepResult, error) {
	err := o.write(ctx, r.Sitting, memory.Write{Add: []dream.Item{f}, Vectors: vectors, Events: []event.Event{o.verdictEvent(r.Sitting, f)}})
	return StepResult{Made: []Made{{ID: f.ID, Score: f.Verdict.Composite, Kept: f.Status != dream.FragmentDiscarded}}}, tell(err)
}

func (o *Onset) verdict(ctx context.Context, r StepRequest, c call, f *dream.Fragment, near hypnagogia.Near) (dream.Verdict, string, Done, error) {
	measured := hypnagogia.Judge(f.Content, near)
	spec, err := o.Catalog.Lookup(c.order.Models[dream.Observer])
	if err != nil || !spec.Judges {
		return measured, "", Done{}, err
	}
	self, theme, err := o.self(ctx, r.Sitting)
	if err != nil {
		return measured, "", Done{}, err
	}
	known, err := o.texts(ctx, r.Agent, f.Sources)
	if err != nil {
		return measured, "", Done{}, err
	}
	rules, err := o.playbook(ctx, r.Sitting)
	if err != nil {
		return measured, "", Done{}, err
	}
	c.heat = r.Heat
	c.behind = append([]string{}, f.Sources...)
	c.text = prompt.Judge(prompt.Judging{Self: self, Theme: theme, Text: f.Content, Near: prompt.Lines("m", known...), Playbook: rules})
	var said judgement
	_, done, err := o.askFor(ctx, c, &said)
	if err != nil || done.End == EndCap || done.Interrupted() {
		return measured, "", done, err
	}
	if done.End == EndUnreadable || said.Novelty == nil || said.Relevance == nil || said.Coherence == nil {
		return measured, "", Done{}, nil
	}
	v := measured
	v.Novelty, v.Relevance, v.Coherence = clamp(*said.Novelty), clamp(*said.Relevance), clamp(*said.Coherence)
	if measured.Coherence < .5 {
		v.Coherence = min(v.Coherence, measured.Coherence) // nor is a loop or token soup coherent
	}
	if echo := 2 * v.DistanceMemory; echo < v.Novelty && v.DistanceMemory < .1 {
		v.Novelty = echo // a near copy of a memory is not new, whatever the judge says (Z3)
	}
	v.Composite = hypnagogia.Composite(v.Novelty, v.Relevance, v.Coherence)
	v.Judge = spec.Name
	return v, said.Reason, Done{}, nil
}

// notJudged is why a thought that was paid for comes to nothing when money or time ran out before the observer saw it.
const notJudged = "the dream ended before it was judged"

// belowFloor is why most fragments are discarded; their composite is stored beside it.
const belowFloor = "below the floor"

// decide keeps a fragment whose composite exceeds the floor, and says why another is discarded.
func (o *Onset) decide(order Order, f *dream.Fragment, v dream.Verdict) {
	f.Verdict = v
	f.Confidence = hypnagogia.FragmentConfidence(order.Knobs.FragmentStart)
	f.Status = dream.FragmentRaw
	switch {
	case f.Content == "":
		f.Status, f.Reason = dream.FragmentDiscarded, "nothing was said"
	case !hypnagogia.Keep(v.Composite, order.Knobs.FragmentFloor):
		f.Status, f.Reason = dream.FragmentDiscarded, belowFloor
	}
}

func (o *Onset) verdictEvent(s Sitting, f *dream.Fragment) event.Event {
	deed := strings.TrimPrefix(f.ID, s.Dream+"/")
	if f.Status == dream.FragmentDiscarded {
		return o.event(s, deed, event.FragmentDiscarded{Fragment: f.ID, Reason: f.Reason, Composite: f.Verdict.Composite})
	}
	return o.event(s, deed, event.FragmentCaptured{
		Fragment: f.ID, Novelty: f.Verdict.Novelty, Distance: f.Verdict.DistanceMemory, Composite: f.Verdict.Composite, Tone: f.Tone,
	})
}

func clamp(x float64) float64 { return max(0, min(1, x)) }
