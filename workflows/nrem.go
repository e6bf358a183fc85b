package workflows

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// replay is NREM: episodes forward, then backward, then a last look at what fades (H11, H12).
func (n *night) replay(ctx workflow.Context, _ activities.LieDownResult) error {
	if n.skipForCore(ctx, dream.NREM) {
		return nil
	}
	p, err := n.enter(ctx, dream.NREM, n.plan.NREM, activities.Mark{})
	if err != nil {
		return err
	}
	if err := p.replay(ctx); err != nil && !errors.Is(err, errSpent) {
		return err
	}
	return p.leave()
}

func (p *phase) replay(ctx workflow.Context) error {
	n, k := p.n, p.n.order.Knobs
	for _, backward := range []bool{false, true} {
		summary := "replay forward"
		if backward {
			summary = "replay backward"
		}
		request := activities.ReplayRequest{StepRequest: p.step(0, 0, k.ReplayHeat), Backward: backward}
		r, err := p.settle(ctx, workflow.ExecuteActivity(paidCall(ctx, k, summary), "Replay.Run", request))
		if err != nil {
			return err
		}
		p.made += len(r.Made)
		p.kept += len(r.Made)
		n.patterns = append(n.patterns, r.Made...)
	}
	r, err := p.settle(ctx, workflow.ExecuteActivity(paidCall(ctx, k, "last look"), "Replay.LastLook", p.step(0, 0, k.LastLookHeat)))
	p.made += len(r.Made)
	p.kept += len(r.Made)
	n.gists = r.Made
	return err
}

// skipForCore records that the core tier does not do a phase: its night is one induction call (H16).
func (n *night) skipForCore(ctx workflow.Context, name dream.Phase) bool {
	if n.order.Tier != dream.Core {
		return false
	}
	n.skip(ctx, name, "the core tier makes one induction call")
	return true
}
