package workflows

import (
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// descend is the onset: induction, Dali cycles, lucid capture (S4, Layer 1). It is skipped by H2; its share then goes to NREM.
func (n *night) descend(ctx workflow.Context, lain activities.LieDownResult) error {
	if err := n.gather(ctx, 0, nil); err != nil {
		return err
	}
	if n.gathered.Shown == 0 {
		return &verdict{dream.Empty, "there were no memories to dream over"}
	}
	if reason := skipReason(n.order, lain); reason != "" {
		n.plan = n.plan.WithoutOnset()
		n.skip(ctx, dream.Onset, reason)
		return nil
	}
	way := hypnagogia.Descent(n.order.Knobs.Cycles, n.order.Tier)
	gathered := n.gathered
	n.state.Stage = dream.Shallow
	p, err := n.enter(ctx, dream.Onset, n.plan.Onset, activities.Mark{
		Onset: &gathered, Deeper: n.deeper(way, dream.Transitional, n.order.Knobs.InductionHeat),
	})
	if err != nil {
		return err
	}
	if err := p.fallAsleep(ctx, way); err != nil && !errors.Is(err, errSpent) {
		return err
	}
	return p.leaveOnset(ctx)
}

func (p *phase) fallAsleep(ctx workflow.Context, way []dream.Stage) error {
	n := p.n
	if err := p.place(ctx); err != nil {
		return err
	}
	heat := n.order.Knobs.InductionHeat
	r, err := p.settle(ctx, workflow.ExecuteActivity(paidCall(ctx, n.order.Knobs, fmt.Sprintf("induction, T %.2f", heat)), "Onset.Induce", p.step(0, 0, heat)))
	if err != nil {
		return err
	}
	p.catch(r.Made)
	if n.order.Tier == dream.Core {
		return nil
	}
	captured := false
	for cycle := 1; cycle <= n.order.Knobs.Cycles; cycle++ {
		if captured, err = p.dali(ctx, way, cycle, captured); err != nil {
			return err
		}
		if err := n.watchClock(ctx); err != nil {
			return err
		}
	}
	return nil
}

// place gives vectors to memories that have none, a batch a call.
func (p *phase) place(ctx workflow.Context) error {
	for turn := 1; p.n.gathered.Bare > 0 && turn <= p.n.gathered.Bare; turn++ {
		r, err := p.settle(ctx, workflow.ExecuteActivity(paidCall(ctx, p.n.order.Knobs, "placing memories"), "Onset.Place", p.step(0, turn, 0)))
		if err != nil {
			return err
		}
		if len(r.Made) == 0 {
			return nil
		}
	}
	return nil
}

// gather chooses the memories of a cycle, anew when the agent's affect has moved (H4), and announces a change of depth.
func (n *night) gather(ctx workflow.Context, cycle int, deeper *activities.Deeper) error {
	request := activities.GatherRequest{Sitting: n.sitting, Cycle: cycle, Deeper: deeper}
	if cycle > 0 {
		since := n.gathered.Affect
		request.Since = &since
	}
	var g activities.GatherResult
	err := workflow.ExecuteLocalActivity(quickWrite(ctx, "gather memories"), "Onset.Gather", request).Get(ctx, &g)
	if err == nil && !g.Same {
		n.gathered = g
	}
	return err
}

// deeper moves to a stage if the way down leads there, and says so; nil when the dream is that deep already.
func (n *night) deeper(way []dream.Stage, to dream.Stage, heat float64) *activities.Deeper {
	if n.state.Stage == to || !slices.Contains(way, to) {
		return nil
	}
	from := n.state.Stage
	n.state.Stage = to
	return &activities.Deeper{From: from, To: to, Heat: heat}
}

// dali is one cycle: partials in parallel, each halted, each judged (H5). At least one of them must succeed (H22).
func (p *phase) dali(ctx workflow.Context, way []dream.Stage, cycle int, captured bool) (bool, error) {
	n, k := p.n, p.n.order.Knobs
	n.state.Cycle = cycle
	partialHeat, judgeHeat := hypnagogia.Heats(cycle, k.Partials, k.Partials, k, captured)
	deeper := n.deeper(way, dream.Peak, partialHeat[0])
	if deeper != nil {
		n.find(ctx, AttrDepth.ValueSet(string(dream.Peak))) // the stages above last for one call; each write costs an event
	}
	if err := n.gather(ctx, cycle, deeper); err != nil {
		return false, err
	}
	drifted := make([]workflow.Future, k.Partials)
	for i := range drifted {
		summary := fmt.Sprintf("Dali %d of %d, partial %d, T %.2f", cycle, k.Cycles, i+1, partialHeat[i])
		drifted[i] = workflow.ExecuteActivity(paidCall(ctx, k, summary), "Onset.Partial", p.step(cycle, i+1, partialHeat[i]))
	}
	var caught []int
	failedBefore, stop := p.failed, error(nil)
	for i, f := range drifted {
		if _, err := p.settle(ctx, f); err != nil {
			stop = worse(stop, err)
		} else if p.failed == failedBefore {
			caught = append(caught, i)
		} else {
			failedBefore = p.failed
		}
	}
	if len(caught) == 0 && stop == nil {
		return false, &verdict{dream.Aborted, fmt.Sprintf("all %d partials of Dali cycle %d failed: %s", k.Partials, cycle, p.fault)}
	}
	kept, err := p.judge(ctx, cycle, caught, partialHeat, judgeHeat, stop)
	if stop = worse(stop, err); stop != nil && !errors.Is(stop, errSpent) {
		return false, stop
	}
	p.cycles = cycle
	p.note(activities.Mark{Name: fmt.Sprintf("cycle-%d", cycle), State: "running", Dali: &activities.Dali{
		Cycle: cycle, Partials: len(caught), Captured: kept, Heat: partialHeat[0],
	}})
	if err := n.announce(ctx); err != nil {
		return false, err
	}
	return kept > 0, stop
}

// judge lets the observer judge the partials that came back.
func (p *phase) judge(ctx workflow.Context, cycle int, caught []int, drift, heats []float64, stop error) (int, error) {
	if stop != nil && !errors.Is(stop, errSpent) {
		return 0, nil
	}
	judged := make([]workflow.Future, len(caught))
	for at, i := range caught {
		summary := fmt.Sprintf("observer, cycle %d, partial %d", cycle, i+1)
		request := p.step(cycle, i+1, heats[i])
		request.Drift = drift[i]
		judged[at] = workflow.ExecuteActivity(paidCall(ctx, p.n.order.Knobs, summary), "Onset.Judge", request)
	}
	kept := 0
	var ended error
	for _, f := range judged {
		r, err := p.settle(ctx, f)
		ended = worse(ended, err)
		kept += activities.Kept(r.Made)
		p.catch(r.Made)
	}
	return kept, ended
}

// catch counts fragments and remembers the kept ones.
func (p *phase) catch(made []activities.Made) {
	p.made += len(made)
	kept := keptOf(made)
	p.kept += len(kept)
	p.n.fragments = append(p.n.fragments, kept...)
	p.n.state.Fragments = len(p.n.fragments)
}

// leaveOnset rates what was caught (S4, Phase 3) and closes the phase. A spent onset falls through to NREM (H17).
func (p *phase) leaveOnset(ctx workflow.Context) error {
	n := p.n
	if len(n.fragments) > 0 {
		request := activities.CaptureRequest{StepRequest: p.step(0, 0, n.order.Knobs.CaptureHeat), Fragments: ids(n.fragments)}
		r, err := p.settle(ctx, workflow.ExecuteActivity(paidCall(ctx, n.order.Knobs, "lucid capture"), "Onset.Capture", request))
		if err != nil && !errors.Is(err, errSpent) {
			return err
		}
		if len(r.Made) > 0 { // every fragment is rated; without an answer they stay as they are
			n.fragments, n.selected = keptOf(r.Made), nil
			for _, f := range n.fragments {
				if f.Chosen {
					n.selected = append(n.selected, f)
				}
			}
			n.state.Fragments, p.kept = len(n.fragments), len(n.fragments)
		}
	}
	return p.leave()
}

// worse keeps the graver of two reasons to stop: a verdict before a spent phase before nothing.
func worse(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil, !errors.Is(a, errSpent):
		return a
	default:
		return b
	}
}
