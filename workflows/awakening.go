package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// awaken is the hypnopompic return: insights surface, and the dream's mood shifts the waking mood slightly.
func (n *dreamRun) awaken(ctx workflow.Context, _ activities.BeginResult) error {
	items := ids(n.staged, n.selected, n.patterns, n.scenarios)
	p, err := n.enter(ctx, dream.Return, n.plan.Return, activities.Mark{Surfacing: len(items)})
	if err != nil {
		return err
	}
	if len(items) > 0 {
		r, err := p.one(ctx, ask{"surface insights", "Awakening.Surface", func() any {
			return activities.ConsolidateRequest{
				StepRequest: p.step(ctx, 0, 0, n.spec.Knobs.ReturnTemperature),
				Items:       items,
			}
		}})
		if endsDream(err) {
			return err
		}
		n.insights = r.Made
		p.made, p.kept = len(r.Made), len(r.Made)
	}
	request := activities.SettleRequest{
		Insights: ids(n.insights), Kept: n.felt(), Selected: n.gathered.Selected, Shown: n.gathered.Shown,
	}
	err = n.storeCall(ctx, "mood returns", "Awakening.Settle", func() any {
		request.Stretch = n.currentStretch(ctx)
		return request
	}, nil)
	if err != nil {
		return err
	}
	return p.leave()
}
