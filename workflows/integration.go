package workflows

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// integrate stages hypotheses for the playbook (H14).
func (n *night) integrate(ctx workflow.Context, _ activities.LieDownResult) error {
	if n.skipForCore(ctx, dream.Integration) {
		return nil
	}
	p, err := n.enter(ctx, dream.Integration, n.plan.Integration, activities.Mark{})
	if err != nil {
		return err
	}
	request := activities.ConsolidateRequest{StepRequest: p.step(0, 0, n.order.Knobs.IntegrateHeat), Items: ids(n.scenarios, n.patterns, n.selected)}
	if len(request.Items) > 0 {
		r, err := p.settle(ctx, workflow.ExecuteActivity(paidCall(ctx, n.order.Knobs, "consolidate"), "Integration.Consolidate", request))
		if err != nil && !errors.Is(err, errSpent) {
			return err
		}
		n.staged = r.Made
		p.made, p.kept = len(r.Made), len(r.Made)
	}
	return p.leave()
}
