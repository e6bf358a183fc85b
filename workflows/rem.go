package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// imagine is REM: branch, score, keep (H13).
func (n *night) imagine(ctx workflow.Context, _ activities.LieDownResult) error {
	if n.skipForCore(ctx, dream.REM) {
		return nil
	}
	p, err := n.enter(ctx, dream.REM, n.plan.REM, activities.Mark{})
	if err != nil {
		return err
	}
	if err := p.imagine(ctx); err != nil && !errors.Is(err, errSpent) {
		return err
	}
	return p.leave()
}

func (p *phase) imagine(ctx workflow.Context) error {
	n, k := p.n, p.n.order.Knobs
	branches := make([]workflow.Future, k.Branches)
	for i := range branches {
		request := activities.BranchRequest{StepRequest: p.step(0, i+1, k.RemHeat), Fragment: n.seed(i)}
		summary := fmt.Sprintf("scenario %d of %d, T %.2f", i+1, k.Branches, k.RemHeat)
		branches[i] = workflow.ExecuteActivity(paidCall(ctx, k, summary), "Imagination.Branch", request)
	}
	var imagined []activities.Made
	var stop error
	for _, f := range branches {
		r, err := p.settle(ctx, f)
		stop = worse(stop, err)
		imagined = append(imagined, r.Made...)
	}
	p.made = len(imagined)
	if len(imagined) == 0 || (stop != nil && !errors.Is(stop, errSpent)) {
		return stop
	}
	request := activities.WeighRequest{StepRequest: p.step(0, 0, k.ScoreHeat), Scenarios: ids(imagined), Keep: k.Keep}
	r, err := p.settle(ctx, workflow.ExecuteActivity(paidCall(ctx, k, "weigh scenarios"), "Imagination.Weigh", request))
	n.scenarios = keptOf(r.Made)
	p.kept = len(n.scenarios)
	return worse(stop, err)
}

// seed is the fragment that the i-th branch develops: the selected ones in turn, then the other kept ones; none when
// nothing was caught.
func (n *night) seed(i int) string {
	if i < len(n.selected) {
		return n.selected[i].ID
	}
	var rest []activities.Made
	for _, f := range n.fragments {
		chosen := false
		for _, s := range n.selected {
			chosen = chosen || s.ID == f.ID
		}
		if !chosen {
			rest = append(rest, f)
		}
	}
	if at := i - len(n.selected); at < len(rest) {
		return rest[at].ID
	}
	return ""
}
