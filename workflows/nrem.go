package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// replay is NREM: episodes forward, then backward, then a last look at fading memories.
func (n *dreamRun) replay(ctx workflow.Context, _ activities.BeginResult) error {
	if n.takenOver(ctx, dream.NREM) || n.skipForCore(ctx, dream.NREM) {
		return nil
	}
	p, err := n.enter(ctx, dream.NREM, n.plan.NREM, activities.Mark{})
	if err != nil {
		return err
	}
	if err := p.replay(ctx); endsDream(err) {
		return err
	}
	return p.leave()
}

func (p *phase) replay(ctx workflow.Context) error {
	n, k := p.n, p.n.spec.Knobs
	for _, backward := range []bool{false, true} {
		summary := "replay forward"
		if backward {
			summary = "replay backward"
		}
		r, err := p.one(ctx, ask{summary, "Replay.Run", func() any {
			return activities.ReplayRequest{StepRequest: p.step(ctx, 0, 0, k.ReplayTemperature), Backward: backward}
		}})
		if err != nil {
			return err
		}
		p.made += len(r.Made)
		p.kept += activities.Kept(r.Made)
		n.patterns = append(n.patterns, r.Made...)
	}
	if n.spec.Review == dream.JournalOnly { // gists would not be kept, so they are not paid for
		return nil
	}
	r, err := p.one(ctx,
		ask{"last look", "Replay.LastLook", func() any { return p.step(ctx, 0, 0, k.LastLookTemperature) }})
	p.made += len(r.Made)
	p.kept += len(r.Made)
	n.gists = r.Made
	return err
}

// skipForCore skips a phase of the core tier, whose dream is one induction call.
func (n *dreamRun) skipForCore(ctx workflow.Context, name dream.Phase) bool {
	if n.spec.Tier != dream.Core {
		return false
	}
	n.skip(ctx, name, "the core tier makes one induction call")
	return true
}
