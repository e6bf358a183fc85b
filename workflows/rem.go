package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// imagine is REM: a search over scenarios or, without rounds, scenarios in parallel that are weighed once.
func (n *dreamRun) imagine(ctx workflow.Context, _ activities.BeginResult) error {
	if n.takenOver(ctx, dream.REM) || n.skipForCore(ctx, dream.REM) {
		return nil
	}
	p, err := n.enter(ctx, dream.REM, n.plan.REM, activities.Mark{})
	if err != nil {
		return err
	}
	run := p.imagine
	if n.spec.Knobs.RemRounds > 0 {
		run = p.search
	}
	err = p.placeIfOnsetSkipped(ctx)
	if err == nil {
		err = run(ctx)
	}
	if endsDream(err) {
		return err
	}
	return p.leave()
}

// placeIfOnsetSkipped embeds memories before scenarios are compared with them, in a dream whose onset was skipped.
func (p *phase) placeIfOnsetSkipped(ctx workflow.Context) error {
	skipped := slices.ContainsFunc(p.n.state.Tallies,
		func(t dream.Tally) bool { return t.Phase == dream.Onset && t.State == "skipped" })
	if !skipped || p.n.gathered.Bare == 0 {
		return nil
	}
	if workflow.GetVersion(ctx, EmbedBeforeREM, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return nil
	}
	return p.place(ctx)
}

func (p *phase) imagine(ctx workflow.Context) error {
	n, k := p.n, p.n.spec.Knobs
	branches := make([]ask, k.Branches)
	seeds := n.seeds()
	for i := range branches {
		summary := fmt.Sprintf("scenario %d of %d, T %.2f", i+1, k.Branches, k.RemTemperature)
		branches[i] = ask{summary, "Imagination.Branch", func() any {
			return activities.BranchRequest{StepRequest: p.step(ctx, 0, i+1, k.RemTemperature), Fragment: nth(seeds, i)}
		}}
	}
	grown, stop := p.pay(ctx, branches...)
	var imagined []activities.Made
	for _, a := range grown {
		imagined = append(imagined, a.Made...)
	}
	p.made = len(imagined)
	if len(imagined) == 0 || endsDream(stop) {
		return stop
	}
	r, err := p.one(ctx, ask{"weigh scenarios", "Imagination.Weigh", func() any {
		return activities.WeighRequest{
			StepRequest: p.step(ctx, 0, 0, k.ScoreTemperature), Scenarios: ids(imagined),
			Keep: k.Keep,
		}
	}})
	n.scenarios = keptOf(r.Made)
	p.kept = len(n.scenarios)
	return worse(stop, err)
}

// seeds are the fragments to develop, one per branch: first the selected ones, then the other kept ones.
func (n *dreamRun) seeds() []string {
	seeds := ids(n.selected)
	for _, f := range n.fragments {
		chosen := false
		for _, s := range n.selected {
			chosen = chosen || s.ID == f.ID
		}
		if !chosen {
			seeds = append(seeds, f.ID)
		}
	}
	return seeds
}

// nth is the seed at an index; empty past the end.
func nth(seeds []string, at int) string {
	if at < len(seeds) {
		return seeds[at]
	}
	return ""
}
