package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// runReturn is the hypnopompic return: insights surface, and the dream's mood shifts the waking mood slightly.
func (r *dreamRun) runReturn(ctx workflow.Context, _ activities.BeginResult) error {
	items := ids(r.staged, r.selected, r.patterns, r.scenarios)
	p, err := r.enter(ctx, dream.Return, r.plan.Return, activities.Mark{Surfacing: len(items)})
	if err != nil {
		return err
	}
	if len(items) > 0 {
		result, err := p.one(ctx, paidStep{"surface insights", activities.AwakeningSurface, func() any {
			return activities.ConsolidateRequest{
				StepRequest: p.step(ctx, 0, 0, r.spec.Knobs.ReturnTemperature),
				Items:       items,
			}
		}})
		if endsDream(err) {
			return err
		}
		r.insights = result.Made
		p.made, p.kept = len(result.Made), len(result.Made)
	}
	request := activities.SettleMoodRequest{
		Insights: ids(r.insights), Kept: r.felt(), Selected: r.gathered.Selected, Shown: r.gathered.Shown,
	}
	err = r.storeCall(ctx, "mood returns", activities.AwakeningSettleMood, func() any {
		request.Stretch = r.stretch.current(ctx)
		return request
	}, nil)
	if err != nil {
		return err
	}
	return p.leave()
}
