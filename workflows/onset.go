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

// descend is the onset: induction, Dali cycles, lucid capture (Layer 1). It is skipped by H2; its share then goes to
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
	way, gathered := n.way(), n.gathered
	n.state.Stage = dream.Shallow
	p, err := n.enter(ctx, dream.Onset, n.plan.Onset, activities.Mark{
		Onset: &gathered, Deeper: n.deeper(way, dream.Transitional, n.inductionTemperature()),
	})
	if errors.Is(err, errAlarmed) { // as it opened
		return p.leaveOnset(ctx)
	}
	if err != nil {
		return err
	}
	if n.deepest() == dream.Transitional {
		n.sound(ctx)
	}
	if err := p.fallAsleep(ctx, way); gravest(err) {
		return err
	}
	return p.leaveOnset(ctx)
}

func (p *phase) fallAsleep(ctx workflow.Context, way []dream.Stage) error {
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
		captured, err = p.dali(ctx, way, cycle, captured)
		if err != nil {
			return err
		}
		if err := n.watchClock(ctx); err != nil {
			return err
		}
	}
	return nil
}

// mayDescend bounds the onset by how the agent was doing when the dream began; one cycle it always has.
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

// place gives vectors to memories that have none, a batch a call. What another process embeds meanwhile is waited for
// as long as the dream may last.
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

// gather chooses the memories of a cycle, anew when the agent's affect has moved, and announces a change of depth.
func (n *dreamRun) gather(ctx workflow.Context, cycle int, deeper *activities.Deeper) error {
	request := activities.GatherRequest{Cycle: cycle, Deeper: deeper}
	if cycle > 0 {
		since := n.gathered.Affect
		request.Since = &since
	}
	var g activities.GatherResult
	err := n.quick(ctx, "gather memories", "Onset.Gather", func() any {
		request.Stretch = n.seat(ctx)
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

// deeper moves to a stage if the way down leads there, and says so; nil when the dream is that deep already.
func (n *dreamRun) deeper(way []dream.Stage, to dream.Stage, temperature float64) *activities.Deeper {
	if n.state.Stage == to || !slices.Contains(way, to) {
		return nil
	}
	from := n.state.Stage
	n.state.Stage = to
	return &activities.Deeper{From: from, To: to, Temperature: temperature}
}

// dali is one cycle: partials in parallel, each halted, each judged. At least one of them must succeed.
func (p *phase) dali(ctx workflow.Context, way []dream.Stage, cycle int, captured bool) (bool, error) {
	n, k := p.n, p.n.spec.Knobs
	n.state.Cycle, n.descent.senses = cycle, nil
	partialTemperature, judgeTemperature := n.temperatures(cycle, captured)
	deeper := n.deeper(way, dream.Peak, partialTemperature[0])
	if deeper != nil {
		n.sound(ctx)
	}
	if err := n.gather(ctx, cycle, deeper); err != nil {
		return false, err
	}
	if n.behaviour.Worse(dream.Conservation) {
		p.stopped = fmt.Sprintf("the agent's vitality fell, it is %s", n.behaviour)
		return false, errSpent
	}
	loosening := n.spec.Loosening[dream.Generator]
	drifting := make([]ask, hypnagogia.Asks(loosening, k.Partials))
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
	if !gravest(stop) && !errors.Is(stop, errAlarmed) {
		stop = worse(stop, p.review(ctx, cycle, before))
	}
	if gravest(stop) || errors.Is(stop, errAlarmed) {
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

// caughtOf are the partials that came, counted from 0, and the heat that each was asked for with: one a deed, or all
// that the only deed of a cycle gave.
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

// catch counts fragments and remembers the kept ones.
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

// leaveOnset rates what was caught and closes the phase. A spent onset falls through to NREM.
func (p *phase) leaveOnset(ctx workflow.Context) error {
	if len(p.n.fragments) == 0 {
		return p.leave()
	}
	if err := p.owed(ctx); gravest(err) {
		return err
	}
	rated, err := p.rate(ctx)
	if gravest(err) {
		return err
	}
	if !rated {
		if err := p.hold(ctx); gravest(err) {
			return err
		}
	}
	return p.leave()
}

// rate is the lucid capture, for which an alarm leaves no time. Without an answer fragments stay as they are.
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
	if gravest(err) || len(r.Made) == 0 {
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

// worse keeps the graver of two reasons to stop: a verdict before a spent phase before nothing.
func worse(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil, !mild(a), errors.Is(a, errAlarmed) && mild(b):
		return a
	default:
		return b
	}
}
