package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// descend is the onset: induction, Dali cycles, lucid capture. When it is skipped, its share of the budget goes to
// NREM.
func (n *dreamRun) descend(ctx workflow.Context, lain activities.BeginResult) error {
	if err := n.gather(ctx, 0, nil); err != nil {
		return err
	}
	if n.gathered.Shown == 0 {
		return &verdict{dream.Empty, "there were no memories to dream over"}
	}
	if n.takenOver(ctx, dream.Onset) {
		return nil
	}
	reason := skipReason(n.spec, lain)
	if reason == "" {
		var err error
		reason, err = n.vetoed(ctx, lain.Remaining)
		if err != nil {
			return err
		}
	}
	if reason != "" {
		n.plan = n.plan.WithoutOnset()
		n.skip(ctx, dream.Onset, reason)
		return nil
	}
	stages, gathered := n.stages(), n.gathered
	n.state.Stage = dream.Shallow
	p, err := n.enter(ctx, dream.Onset, n.plan.Onset, activities.Mark{
		Onset: &gathered, Deeper: n.deeper(stages, dream.Transitional, n.inductionTemperature()),
	})
	if errors.Is(err, errAlarmed) { // an alarm came as the onset opened
		return p.leaveOnset(ctx)
	}
	if err != nil {
		return err
	}
	if n.deepest() == dream.Transitional {
		n.showDepth(ctx)
	}
	if err := p.fallAsleep(ctx, stages); endsDream(err) {
		return err
	}
	return p.leaveOnset(ctx)
}

func (p *phase) fallAsleep(ctx workflow.Context, stages []dream.Stage) error {
	n := p.n
	if err := p.place(ctx); err != nil {
		return err
	}
	temperature := n.inductionTemperature()
	r, err := p.one(ctx,
		ask{
			fmt.Sprintf("induction, T %.2f", temperature), "Onset.Induce",
			func() any { return p.step(ctx, 0, 0, temperature) },
		})
	if err != nil {
		return err
	}
	p.catch(r.Made)
	if err := p.review(ctx, 0, 0); err != nil || n.spec.Tier == dream.Core {
		return err
	}
	captured := false
	for cycle := 1; cycle <= n.cycles(); cycle++ {
		if err := p.mayDescend(ctx, cycle); err != nil {
			return err
		}
		captured, err = p.dali(ctx, stages, cycle, captured)
		if err != nil {
			return err
		}
		if err := n.watchClock(ctx); err != nil {
			return err
		}
	}
	return nil
}

// mayDescend limits the duration of the onset by the agent's behaviour when the dream began; the first cycle is
// always allowed.
func (p *phase) mayDescend(ctx workflow.Context, cycle int) error {
	wall := hypnagogia.Bounds(p.n.spec.Behaviour).Onset
	lasted := workflow.Now(ctx).Sub(p.began) - p.n.away
	if p.n.spec.Behaviour == "" || wall <= 0 || cycle == 1 || lasted <= wall {
		return nil
	}
	p.stopped = fmt.Sprintf("it lasted %s, and %s of an agent that is %s may last %s", lasted.Round(time.Second),
		p.name, p.n.spec.Behaviour, wall)
	return errSpent
}

// place embeds memories that have no vector, one batch a call. Memories that another process is embedding are waited
// for as long as the dream may last.
func (p *phase) place(ctx workflow.Context) error {
	for turn := 1; p.n.gathered.Bare > 0 && turn <= p.n.gathered.Bare; {
		r, err := p.one(ctx, ask{"placing memories", "Onset.Place", func() any {
			s := p.step(ctx, 0, turn, 0)
			if p.name != dream.Onset {
				s.Phase = p.name
			}
			return s
		}})
		if err != nil {
			return err
		}
		if r.Waiting {
			if err := p.n.watchClock(ctx); err != nil {
				return err
			}
			continue
		}
		if len(r.Made) == 0 {
			return nil
		}
		turn++
	}
	return nil
}

// gather selects the memories of a cycle, again only if the agent's affect has moved, and announces a change of
// depth.
func (n *dreamRun) gather(ctx workflow.Context, cycle int, deeper *activities.Deeper) error {
	request := activities.GatherRequest{Cycle: cycle, Deeper: deeper}
	if cycle > 0 {
		since := n.gathered.Affect
		request.Since = &since
	}
	var g activities.GatherResult
	err := n.storeCall(ctx, "gather memories", "Onset.Gather", func() any {
		request.Stretch = n.currentStretch(ctx)
		return request
	}, &g)
	if err == nil && !g.Same {
		n.gathered = g
	}
	if g.Depth != nil {
		n.descent.aim, n.state.Target = g.Depth, g.Depth.Stage
	}
	n.behaviour = g.Behaviour
	return err
}

// deeper moves to a stage if the descent leads there; nil when the dream is that deep already.
func (n *dreamRun) deeper(stages []dream.Stage, to dream.Stage, temperature float64) *activities.Deeper {
	if n.state.Stage == to || !slices.Contains(stages, to) {
		return nil
	}
	from := n.state.Stage
	n.state.Stage = to
	return &activities.Deeper{From: from, To: to, Temperature: temperature}
}

// dali is one Dali cycle: partials in parallel, each cut off and judged. At least one of them must succeed.
func (p *phase) dali(ctx workflow.Context, stages []dream.Stage, cycle int, captured bool) (bool, error) {
	n, k := p.n, p.n.spec.Knobs
	n.state.Cycle, n.descent.senses = cycle, nil
	partialTemperature, judgeTemperature := n.temperatures(cycle, captured)
	deeper := n.deeper(stages, dream.Peak, partialTemperature[0])
	if deeper != nil {
		n.showDepth(ctx)
	}
	if err := n.gather(ctx, cycle, deeper); err != nil {
		return false, err
	}
	if n.behaviour.Worse(dream.Conservation) {
		p.stopped = fmt.Sprintf("the agent's vitality fell, it is %s", n.behaviour)
		return false, errSpent
	}
	loosening := n.spec.Loosening[dream.Generator]
	drifting := make([]ask, hypnagogia.ActivitiesPerCycle(loosening, k.Partials))
	for i := range drifting {
		summary := fmt.Sprintf("Dali %d of %d, partial %d, T %.2f", cycle, n.cycles(), i+1, partialTemperature[i])
		if hypnagogia.Verbal(loosening) {
			summary = fmt.Sprintf("Dali %d of %d, %d partials, %s", cycle, n.cycles(), k.Partials, loosening)
		}
		drifting[i] = ask{
			summary, "Onset.Partial",
			func() any { return p.step(ctx, cycle, i+1, partialTemperature[i]) },
		}
	}
	drifted, stop := p.pay(ctx, drifting...)
	caught, partialTemperature := caughtOf(drifted, partialTemperature)
	if len(caught) == 0 && stop == nil {
		return false,
			&verdict{
				dream.Aborted,
				fmt.Sprintf("all %d partials of Dali cycle %d failed: %s", k.Partials, cycle, p.fault),
			}
	}
	before := len(n.fragments)
	kept, err := p.judge(ctx, cycle, caught, partialTemperature, judgeTemperature, stop)
	stop = worse(stop, err)
	if !endsDream(stop) && !errors.Is(stop, errAlarmed) {
		stop = worse(stop, p.review(ctx, cycle, before))
	}
	if endsDream(stop) || errors.Is(stop, errAlarmed) {
		return false, stop
	}
	p.cycles = cycle
	moves, why := p.surface(cycle, partialTemperature[0], kept > 0)
	p.note(activities.Mark{Name: fmt.Sprintf("cycle-%d", cycle), State: "running", Moves: moves, Dali: &activities.Dali{
		Cycle:       cycle,
		Partials:    len(caught),
		Captured:    kept,
		Temperature: partialTemperature[0],
		TooDeep:     why,
	}})
	if err := n.announce(ctx); err != nil {
		return false, err
	}
	return kept > 0, stop
}

// caughtOf lists the partials that succeeded, counted from 0, and the temperature of each: one per activity, or all
// those that the single activity of a cycle returned.
func caughtOf(drifted []answer, temperatures []float64) (caught []int, temperature []float64) {
	for i, a := range drifted {
		if a.came && a.Ideas == 0 {
			caught = append(caught, i)
		}
		for turn := range a.Ideas {
			caught, temperature = append(caught, turn), append(temperature, temperatures[i])
		}
	}
	if temperature == nil {
		temperature = temperatures
	}
	return caught, temperature
}

// catch counts fragments and keeps those that were kept.
func (p *phase) catch(made []activities.Made) {
	p.made += len(made)
	kept := keptOf(made)
	p.kept += len(kept)
	p.n.fragments = append(p.n.fragments, kept...)
	p.n.state.Fragments = len(p.n.fragments)
	for _, m := range made {
		if m.Sense != nil {
			p.n.descent.senses = append(p.n.descent.senses, *m.Sense)
		}
	}
}

// leaveOnset rates the fragments and closes the phase. After an onset without money the dream continues with NREM.
func (p *phase) leaveOnset(ctx workflow.Context) error {
	if len(p.n.fragments) == 0 {
		return p.leave()
	}
	if err := p.reviewUnshown(ctx); endsDream(err) {
		return err
	}
	rated, err := p.rate(ctx)
	if endsDream(err) {
		return err
	}
	if !rated {
		if err := p.hold(ctx); endsDream(err) {
			return err
		}
	}
	return p.leave()
}

// rate is the lucid capture, which is left out after an alarm. Without an answer the fragments stay as they are.
func (p *phase) rate(ctx workflow.Context) (bool, error) {
	n := p.n
	if p.alarm != "" {
		return false, nil
	}
	r, err := p.one(ctx, ask{"lucid capture", "Onset.Capture", func() any {
		return activities.CaptureRequest{
			StepRequest: p.step(ctx, 0, 0, n.spec.Knobs.CaptureTemperature),
			Fragments:   ids(n.fragments),
		}
	}})
	if endsDream(err) || len(r.Made) == 0 {
		return false, err
	}
	n.fragments, n.selected = keptOf(r.Made), nil
	for _, f := range n.fragments {
		if f.Chosen {
			n.selected = append(n.selected, f)
		}
	}
	n.state.Fragments, p.kept = len(n.fragments), len(n.fragments)
	return true, nil
}

// worse is the more serious of two reasons to stop: a verdict before an alarm before a used-up budget.
func worse(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil, !endsPhase(a), errors.Is(a, errAlarmed) && endsPhase(b):
		return a
	default:
		return b
	}
}
