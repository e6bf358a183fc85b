package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// judgesAtOnce says whether the activity that makes a partial also asks the judge about it: where every partial has
// a call of its own and is judged alone.
func (r *dreamRun) judgesAtOnce(ctx workflow.Context) bool {
	if judgesTogether(r.spec) || hypnagogia.Verbal(r.spec.Loosening[dream.Generator]) {
		return false
	}
	return r.grouping >= 1 || workflow.GetVersion(ctx, changeJudgeAtOnce, workflow.DefaultVersion, 1) == 1
}

// judgesTogether says whether one call judges all partials of a cycle.
func judgesTogether(spec activities.Spec) bool {
	return spec.Observer != nil && spec.Observer.Way == dream.ByTogether
}

// judge lets the observer judge the partials that succeeded and have no verdict yet, and keeps what was made of all.
// with is the judgement that the activity of the partials may have made.
func (p *phase) judge(ctx workflow.Context, cycle int, caught []int, partials []answer, drift, temperatures []float64,
	with *followUp, stop error,
) (int, error) {
	var judging []paidStep
	var unjudged []int // their places in caught
	judged := make([]activities.StepResult, len(caught))
	for at, i := range caught {
		if i < len(partials) && partials[i].Judged != nil {
			judged[at] = *partials[i].Judged
			p.count(judged[at])
			continue
		}
		unjudged = append(unjudged, at)
		judging = append(judging, paidStep{
			fmt.Sprintf("observer, cycle %d, partial %d", cycle, i+1), activities.OnsetJudge,
			func() any {
				request := p.step(ctx, cycle, i+1, temperatures[i])
				request.Drift = drift[i]
				return request
			},
		})
	}
	var ended error
	switch {
	case len(judging) == 0 || endsDream(stop) || errors.Is(stop, errAlarmed):
	case judgesTogether(p.run.spec) && len(caught) > 1:
		var r activities.StepResult
		r, ended = p.follow(ctx, with, p.together(ctx, cycle, caught, drift, temperatures))
		judged = []activities.StepResult{r}
	default:
		var answers []answer
		answers, ended = p.pay(ctx, judging...)
		for at, a := range answers {
			judged[unjudged[at]] = a.StepResult
		}
	}
	kept := 0
	for _, r := range judged {
		kept += activities.Kept(r.Made)
		p.catch(r.Made)
	}
	return kept, ended
}

// together judges all partials of a cycle in one call, at the temperature of the first.
func (p *phase) together(ctx workflow.Context, cycle int, caught []int, drift, temperatures []float64) paidStep {
	turns := make([]activities.Turn, len(caught))
	for at, i := range caught {
		turns[at] = activities.Turn{Turn: i + 1, Drift: drift[i]}
	}
	return paidStep{
		fmt.Sprintf("observer, cycle %d, %d partials together", cycle, len(caught)), activities.OnsetJudgeTogether,
		func() any {
			return activities.TogetherRequest{StepRequest: p.step(ctx, cycle, 0, temperatures[caught[0]]), Turns: turns}
		},
	}
}
