package workflows

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// awaken is the hypnopompic return: insights surface, and the mood of the dream moves the waking mood a little (H15).
func (n *night) awaken(ctx workflow.Context, _ activities.LieDownResult) error {
	items := ids(n.staged, n.selected, n.patterns, n.scenarios)
	p, err := n.enter(ctx, dream.Return, n.plan.Return, activities.Mark{Surfacing: len(items)})
	if err != nil {
		return err
	}
	if len(items) > 0 {
		request := activities.ConsolidateRequest{StepRequest: p.step(0, 0, n.order.Knobs.ReturnHeat), Items: items}
		r, err := p.settle(ctx, workflow.ExecuteActivity(paidCall(ctx, n.order.Knobs, "surface insights"), "Awakening.Surface", request))
		if err != nil && !errors.Is(err, errSpent) {
			return err
		}
		n.insights = r.Made
		p.made, p.kept = len(r.Made), len(r.Made)
	}
	request := activities.SettleRequest{
		Sitting: n.sitting, Insights: ids(n.insights), Kept: ids(n.fragments), Selected: n.gathered.Selected, Shown: n.gathered.Shown,
	}
	if err := workflow.ExecuteLocalActivity(quickWrite(ctx, "mood returns"), "Awakening.Settle", request).Get(ctx, nil); err != nil {
		return err
	}
	return p.leave()
}
