package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// runREM is REM: a search over scenarios or, without rounds, scenarios in parallel that are weighed once.
func (r *dreamRun) runREM(ctx workflow.Context, _ activities.BeginResult) error {
	if r.takenOver(ctx, dream.REM) || r.leavesOut(ctx, dream.REM, r.spec.Knobs.Shares.REM) {
		return nil
	}
	p, err := r.enter(ctx, dream.REM, r.plan.REM, activities.Mark{})
	if err != nil {
		return err
	}
	run := p.imagine
	if r.spec.Knobs.RemRounds > 0 {
		run = p.search
	}
	err = p.embedIfOnsetSkipped(ctx)
	if err == nil {
		err = run(ctx)
	}
	if endsDream(err) {
		return err
	}
	return p.leave()
}

// embedIfOnsetSkipped embeds memories before scenarios are compared with them, in a dream whose onset was skipped.
func (p *phase) embedIfOnsetSkipped(ctx workflow.Context) error {
	skipped := slices.ContainsFunc(p.run.state.Tallies,
		func(t dream.Tally) bool { return t.Phase == dream.Onset && t.State == "skipped" })
	if !skipped || p.run.gathered.WithoutVector == 0 {
		return nil
	}
	return p.embed(ctx)
}

func (p *phase) imagine(ctx workflow.Context) error {
	n, k := p.run, p.run.spec.Knobs
	branches := make([]paidStep, k.Branches)
	seeds := seedsOf(n.selected, n.fragments)
	for i := range branches {
		summary := fmt.Sprintf("scenario %d of %d, T %.2f", i+1, k.Branches, k.RemTemperature)
		branches[i] = paidStep{summary, activities.ImaginationBranch, func() any {
			return activities.BranchRequest{StepRequest: p.step(ctx, 0, i+1, k.RemTemperature), Fragment: nth(seeds, i)}
		}}
	}
	summary := fmt.Sprintf("%d scenarios, T %.2f", len(branches), k.RemTemperature)
	var imagined []activities.MadeItem
	with := &followUp{paidStep: paidStep{"weigh scenarios", activities.ImaginationScore, func() any {
		return activities.ScoreRequest{
			StepRequest: p.step(ctx, 0, 0, k.ScoreTemperature), Scenarios: ids(imagined),
			Keep: k.Keep,
		}
	}}}
	how := round{calls: 1, activityName: activities.ImaginationMoves, summary: summary, then: with}
	grown, stop := p.payRound(ctx, how, branches)
	for _, a := range grown {
		imagined = append(imagined, a.Made...)
	}
	p.made = len(imagined)
	if len(imagined) == 0 || endsDream(stop) {
		return stop
	}
	r, err := p.follow(ctx, with, with.paidStep)
	n.scenarios = keptOf(r.Made)
	p.kept = len(n.scenarios)
	return worse(stop, err)
}

// seedsOf are the fragments to develop, one per branch: first the selected ones, then the other kept ones.
func seedsOf(selected, fragments []activities.MadeItem) []string {
	seeds := ids(selected)
	for _, f := range fragments {
		if !slices.ContainsFunc(selected, func(s activities.MadeItem) bool { return s.ID == f.ID }) {
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
