package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// runNREM is NREM: episodes forward, then backward, then a last look at fading memories.
func (r *dreamRun) runNREM(ctx workflow.Context, _ activities.BeginResult) error {
	if r.takenOver(ctx, dream.NREM) || r.leavesOut(ctx, dream.NREM, r.spec.Knobs.Shares.NREM) {
		return nil
	}
	p, err := r.enter(ctx, dream.NREM, r.plan.NREM, activities.Mark{})
	if err != nil {
		return err
	}
	if err := p.replay(ctx); endsDream(err) {
		return err
	}
	return p.leave()
}

func (p *phase) replay(ctx workflow.Context) error {
	n, k := p.run, p.run.spec.Knobs
	replays := func(backward bool) func() any {
		return func() any {
			return activities.ReplayRequest{StepRequest: p.step(ctx, 0, 0, k.ReplayTemperature), Backward: backward}
		}
	}
	steps := []paidStep{
		{"replay forward", activities.ReplayRun, replays(false)},
		{"replay backward", activities.ReplayRun, replays(true)},
	}
	summary := "replay forward and backward"
	if n.spec.Review != dream.JournalOnly { // gists would not be kept, so they are not paid for
		steps = append(steps, paidStep{
			"last look", activities.ReplayLastLook,
			func() any { return p.step(ctx, 0, 0, k.LastLookTemperature) },
		})
		summary += ", last look"
	}
	answers, err := p.payInTurn(ctx, activities.ReplaySteps, summary, steps)
	for i, a := range answers {
		p.made += len(a.Made)
		if steps[i].activityName == activities.ReplayLastLook {
			p.kept += len(a.Made)
			n.gists = a.Made
		} else {
			p.kept += activities.Kept(a.Made)
			n.patterns = append(n.patterns, a.Made...)
		}
	}
	return err
}

// leavesOut skips a phase of the core tier, whose dream is one induction call, and a phase with no share of the budget,
// whatever its models cost.
func (r *dreamRun) leavesOut(ctx workflow.Context, name dream.Phase, share int) bool {
	switch {
	case r.spec.Tier == dream.Core:
		r.skip(ctx, name, "the core tier makes one induction call")
	case share == 0 && workflow.GetVersion(ctx, changeLeaveOut, workflow.DefaultVersion, 1) == 1:
		r.skip(ctx, name, fmt.Sprintf("dream.shares.%s is 0", name))
	default:
		return false
	}
	return true
}
