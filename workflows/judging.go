package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// judge lets the observer judge the partials that succeeded.
func (p *phase) judge(ctx workflow.Context, cycle int, caught []int, drift, temperatures []float64,
	stop error,
) (int, error) {
	if endsDream(stop) || errors.Is(stop, errAlarmed) {
		return 0, nil
	}
	judging := make([]ask, len(caught))
	for at, i := range caught {
		judging[at] = ask{fmt.Sprintf("observer, cycle %d, partial %d", cycle, i+1), "Onset.Judge", func() any {
			request := p.step(ctx, cycle, i+1, temperatures[i])
			request.Drift = drift[i]
			return request
		}}
	}
	if o := p.n.spec.Observer; o != nil && o.Way == dream.ByTogether && len(caught) > 1 {
		judging = []ask{p.together(ctx, cycle, caught, drift, temperatures)}
	}
	judged, ended := p.pay(ctx, judging...)
	kept := 0
	for _, a := range judged {
		kept += activities.Kept(a.Made)
		p.catch(a.Made)
	}
	return kept, ended
}

// together judges all partials of a cycle in one call, at the temperature of the first.
func (p *phase) together(ctx workflow.Context, cycle int, caught []int, drift, temperatures []float64) ask {
	turns := make([]activities.Turn, len(caught))
	for at, i := range caught {
		turns[at] = activities.Turn{Turn: i + 1, Drift: drift[i]}
	}
	return ask{
		fmt.Sprintf("observer, cycle %d, %d partials together", cycle, len(caught)), "Onset.JudgeTogether",
		func() any {
			return activities.TogetherRequest{StepRequest: p.step(ctx, cycle, 0, temperatures[caught[0]]), Turns: turns}
		},
	}
}
