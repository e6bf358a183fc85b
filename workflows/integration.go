package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// runIntegration stages hypotheses for the playbook.
func (r *dreamRun) runIntegration(ctx workflow.Context, _ activities.BeginResult) error {
	if r.takenOver(ctx, dream.Integration) || r.leavesOut(ctx, dream.Integration, r.spec.Knobs.Shares.Integration) {
		return nil
	}
	p, err := r.enter(ctx, dream.Integration, r.plan.Integration, activities.Mark{})
	if err != nil {
		return err
	}
	if items := ids(r.scenarios, r.patterns, r.selected); len(items) > 0 {
		result, err := p.one(ctx, paidStep{"consolidate", activities.IntegrationConsolidate, func() any {
			return activities.ConsolidateRequest{
				StepRequest: p.step(ctx, 0, 0, r.spec.Knobs.IntegrateTemperature),
				Items:       items,
			}
		}})
		if endsDream(err) {
			return err
		}
		if len(result.Made) == 0 {
			p.remark = result.Reason
		}
		r.staged = result.Made
		p.made, p.kept = len(result.Made), activities.Kept(result.Made)
	} else {
		p.remark = "the dream made nothing that hypotheses could rest on"
	}
	return p.leave()
}
