package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// integrate stages hypotheses for the playbook.
func (n *dreamRun) integrate(ctx workflow.Context, _ activities.BeginResult) error {
	if n.takenOver(ctx, dream.Integration) || n.skipForCore(ctx, dream.Integration) {
		return nil
	}
	p, err := n.enter(ctx, dream.Integration, n.plan.Integration, activities.Mark{})
	if err != nil {
		return err
	}
	if items := ids(n.scenarios, n.patterns, n.selected); len(items) > 0 {
		r, err := p.one(ctx, ask{"consolidate", "Integration.Consolidate", func() any {
			return activities.ConsolidateRequest{
				StepRequest: p.step(ctx, 0, 0, n.spec.Knobs.IntegrateTemperature),
				Items:       items,
			}
		}})
		if endsDream(err) {
			return err
		}
		if r.NoCall {
			p.remark = r.Reason
		}
		n.staged = r.Made
		p.made, p.kept = len(r.Made), activities.Kept(r.Made)
	}
	return p.leave()
}
