package healthcmd

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// staging looks whether a dream can still stage hypotheses.
func (e *examination) staging(ctx context.Context, a dream.Agent, _ []*dream.Record) (healthLine, error) {
	l := healthLine{Name: "hypotheses", State: Fine}
	items, err := e.app.Store.Find(ctx, memory.Query{
		Agent: a.ID, Kinds: []dream.Kind{dream.KindHypothesis}, Statuses: []string{dream.HypothesisStaged},
		States: []dream.State{dream.Live, dream.Proposed},
	})
	if err != nil {
		return l, err
	}
	staged, waiting := memory.As[*dream.Hypothesis](items), 0
	for _, h := range staged {
		if h.State == dream.Proposed {
			waiting++
		}
	}
	most := e.app.Knobs.MaxStaged
	l.Found = fmt.Sprintf("%d staged, %d may be", len(staged), most)
	if most <= 0 || len(staged) < most || len(prediction.Replaceable(staged, e.now)) > 0 {
		return l, nil
	}
	l.is(Look, "the next dream stages nothing: "+prediction.FullReason(len(staged), most),
		"Some give way after a week; oneiros claims list -a "+a.Handle+" shows them.")
	if waiting > 0 {
		l.Advice = fmt.Sprintf("%d of them wait for you: oneiros review list -a %s.", waiting, a.Handle)
	}
	return l, nil
}
