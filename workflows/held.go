package workflows

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
)

// showUnshownToHooks shows fragments to the capture hooks that an alarm kept from them, so that nothing is developed
// that a hook might have held.
func (p *phase) showUnshownToHooks(ctx workflow.Context) error {
	return untilNotAlarmed(func() error { return p.showToHooks(ctx, p.run.state.Cycle, p.run.shownToHooks) })
}

// hold applies the policy's rules in words to fragments that had no lucid capture.
func (p *phase) hold(ctx workflow.Context) error {
	n := p.run
	if n.spec.Policy == nil || len(n.spec.Policy.Sentences) == 0 {
		return nil
	}
	return untilNotAlarmed(func() error {
		_, err := p.one(ctx, paidStep{"rules in words", activities.OnsetCheckPolicy, func() any {
			return activities.CaptureRequest{
				StepRequest: p.step(ctx, 0, 0, n.spec.Knobs.CaptureTemperature),
				Fragments:   ids(n.fragments),
			}
		}})
		return err
	})
}

// untilNotAlarmed repeats an operation that an alarm interrupted, in the stretch after it.
func untilNotAlarmed(do func() error) error {
	for {
		if err := do(); !errors.Is(err, errAlarmed) {
			return err
		}
	}
}
