package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
)

// judge lets the observer judge the partials that came back.
func (p *phase) judge(ctx workflow.Context, cycle int, caught []int, drift, heats []float64, stop error) (int, error) {
	if gravest(stop) || errors.Is(stop, errAlarmed) {
		return 0, nil
	}
	judging := make([]ask, len(caught))
	for at, i := range caught {
		judging[at] = ask{fmt.Sprintf("observer, cycle %d, partial %d", cycle, i+1), "Onset.Judge", func() any {
			request := p.step(ctx, cycle, i+1, heats[i])
			request.Drift = drift[i]
			return request
		}}
	}
	judged, ended := p.pay(ctx, judging...)
	kept := 0
	for _, a := range judged {
		kept += activities.Kept(a.Made)
		p.catch(a.Made)
	}
	return kept, ended
}
