package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// runOnset is the onset: induction, Dali cycles, lucid capture. When it is skipped, its share of the budget goes to
// NREM.
func (r *dreamRun) runOnset(ctx workflow.Context, begun activities.BeginResult) error {
	if err := r.gather(ctx, 0, nil); err != nil {
		return err
	}
	if r.gathered.Shown == 0 {
		return &verdict{dream.Empty, "there were no memories to dream over"}
	}
	if r.takenOver(ctx, dream.Onset) {
		return nil
	}
	reason := SkipReason(r.spec, begun.Remaining)
	if reason == "" {
		var err error
		reason, err = r.vetoed(ctx, begun.Remaining)
		if err != nil {
			return err
		}
	}
	if reason != "" {
		r.plan = r.plan.WithoutOnset()
		r.skip(ctx, dream.Onset, reason)
		return nil
	}
	stages, gathered := r.descent.stages(), r.gathered
	r.state.Stage = dream.Shallow
	p, err := r.enter(ctx, dream.Onset, r.plan.Onset, activities.Mark{
		Onset: &gathered, Deeper: r.deeper(stages, dream.Transitional, r.descent.inductionTemperature()),
	})
	if errors.Is(err, errAlarmed) { // an alarm came as the onset opened
		return p.leaveOnset(ctx)
	}
	if err != nil {
		return err
	}
	if r.descent.deepest() == dream.Transitional {
		r.showDepth(ctx)
	}
	if err := p.fallAsleep(ctx, stages); endsDream(err) {
		return err
	}
	return p.leaveOnset(ctx)
}

func (p *phase) fallAsleep(ctx workflow.Context, stages []dream.Stage) error {
	n := p.run
	if err := p.embed(ctx); err != nil {
		return err
	}
	temperature := n.descent.inductionTemperature()
	r, err := p.one(ctx,
		paidStep{
			fmt.Sprintf("induction, T %.2f", temperature), activities.OnsetInduce,
			func() any { return p.step(ctx, 0, 0, temperature) },
		})
	if err != nil {
		return err
	}
	p.catch(r.Made)
	if err := p.showToHooks(ctx, 0, 0); err != nil || n.spec.Tier == dream.Core {
		return err
	}
	captured := false
	for cycle := 1; cycle <= n.descent.cycles(); cycle++ {
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
	wall := hypnagogia.Bounds(p.run.spec.Behaviour).Onset
	lasted := workflow.Now(ctx).Sub(p.began) - p.run.away
	if p.run.spec.Behaviour == "" || wall <= 0 || cycle == 1 || lasted <= wall {
		return nil
	}
	p.stopped = fmt.Sprintf("it lasted %s, and %s of an agent that is %s may last %s", lasted.Round(time.Second),
		p.name, p.run.spec.Behaviour, wall)
	return errSpent
}

// embed gives vectors to memories that have none, one batch a call. Memories that another process is embedding are
// waited for as long as the dream may last.
func (p *phase) embed(ctx workflow.Context) error {
	for turn := 1; p.run.gathered.WithoutVector > 0 && turn <= p.run.gathered.WithoutVector; {
		r, err := p.one(ctx, paidStep{"placing memories", activities.OnsetEmbed, func() any {
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
			if err := p.run.watchClock(ctx); err != nil {
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
func (r *dreamRun) gather(ctx workflow.Context, cycle int, deeper *activities.Deeper) error {
	request := activities.GatherRequest{Cycle: cycle, Deeper: deeper}
	if cycle > 0 {
		since := r.gathered.Affect
		request.Since = &since
	}
	var g activities.GatherResult
	err := r.storeCall(ctx, "gather memories", activities.OnsetGather, func() any {
		request.Stretch = r.stretch.current(ctx)
		return request
	}, &g)
	if err == nil && !g.Same {
		r.gathered = g
	}
	if g.Depth != nil {
		r.descent.aim, r.state.Target = g.Depth, g.Depth.Stage
	}
	r.behaviour = g.Behaviour
	return err
}

// deeper moves to a stage if the descent leads there; nil when the dream is that deep already.
func (r *dreamRun) deeper(stages []dream.Stage, to dream.Stage, temperature float64) *activities.Deeper {
	if r.state.Stage == to || !slices.Contains(stages, to) {
		return nil
	}
	from := r.state.Stage
	r.state.Stage = to
	return &activities.Deeper{From: from, To: to, Temperature: temperature}
}

// dali is one Dali cycle: partials in parallel, each cut off and judged. At least one of them must succeed. It says
// whether the next cycle returns to a higher temperature: after a capture, unless this one went too deep.
func (p *phase) dali(ctx workflow.Context, stages []dream.Stage, cycle int, captured bool) (bool, error) {
	n, k := p.run, p.run.spec.Knobs
	n.state.Cycle, n.descent.senses = cycle, nil
	partialTemperature, judgeTemperature := n.descent.temperatures(cycle, captured)
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
	drifting, how := p.partials(ctx, cycle, partialTemperature, judgeTemperature)
	drifted, stop := p.payRound(ctx, how, drifting)
	caught, partialTemperature := caughtOf(drifted, partialTemperature)
	if len(caught) == 0 && stop == nil {
		return false,
			&verdict{
				dream.Aborted,
				fmt.Sprintf("all %d partials of Dali cycle %d failed: %s", k.Partials, cycle, p.fault),
			}
	}
	before := len(n.fragments)
	kept, err := p.judge(ctx, cycle, caught, drifted, partialTemperature, judgeTemperature, how.then, stop)
	stop = worse(stop, err)
	if !endsDream(stop) && !errors.Is(stop, errAlarmed) {
		stop = worse(stop, p.showToHooks(ctx, cycle, before))
	}
	if endsDream(stop) || errors.Is(stop, errAlarmed) {
		return false, stop
	}
	p.cycles = cycle
	moves, why := p.surface(cycle, partialTemperature[0])
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
	return kept > 0 && why == "", stop
}

// partials are the paid steps of a cycle, and how they are made.
func (p *phase) partials(ctx workflow.Context, cycle int, temperatures, judges []float64) ([]paidStep, round) {
	n, k := p.run, p.run.spec.Knobs
	loosening := n.spec.Loosening[dream.Generator]
	steps := make([]paidStep, hypnagogia.ActivitiesPerCycle(loosening, k.Partials))
	name := fmt.Sprintf("Dali %d of %d", cycle, n.descent.cycles())
	how := round{calls: 1, activityName: activities.OnsetPartials, summary: fmt.Sprintf("%s, %d partials", name, len(steps))}
	atOnce := n.judgesAtOnce(ctx)
	if atOnce {
		how.calls = 2
	}
	all := make([]int, len(steps))
	for i := range steps {
		all[i] = i
		summary := fmt.Sprintf("%s, partial %d, T %.2f", name, i+1, temperatures[i])
		if hypnagogia.Verbal(loosening) {
			summary = fmt.Sprintf("%s, %d partials, %s", name, k.Partials, loosening)
		}
		steps[i] = paidStep{summary, activities.OnsetPartial, func() any {
			request := p.step(ctx, cycle, i+1, temperatures[i])
			if atOnce {
				request.JudgeTemperature = &judges[i]
			}
			return request
		}}
	}
	if judgesTogether(n.spec) && len(steps) > 1 {
		how.then = &followUp{paidStep: p.together(ctx, cycle, all, temperatures, judges)}
	}
	return steps, how
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
func (p *phase) catch(made []activities.MadeItem) {
	p.made += len(made)
	kept := keptOf(made)
	p.kept += len(kept)
	p.run.fragments = append(p.run.fragments, kept...)
	p.run.state.Fragments = len(p.run.fragments)
	for _, m := range made {
		if m.Sense != nil {
			p.run.descent.senses = append(p.run.descent.senses, *m.Sense)
		}
	}
}

// leaveOnset rates the fragments and closes the phase. After an onset without money the dream continues with NREM.
func (p *phase) leaveOnset(ctx workflow.Context) error {
	if len(p.run.fragments) == 0 {
		return p.leave()
	}
	if err := p.showUnshownToHooks(ctx); endsDream(err) {
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
	n := p.run
	if p.alarm != "" {
		return false, nil
	}
	r, err := p.one(ctx, paidStep{"lucid capture", activities.OnsetCapture, func() any {
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
