package workflows

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
)

// owed shows the hooks of the capture what an alarm kept from them: whatever ends an onset, nothing is developed that
// they might have held.
func (p *phase) owed(ctx workflow.Context) error {
	return despite(func() error { return p.review(ctx, p.n.state.Cycle, p.n.shown) })
}

// hold asks about the rules in words for fragments that no lucid capture has asked about.
func (p *phase) hold(ctx workflow.Context) error {
	n := p.n
	if n.spec.Policy == nil || len(n.spec.Policy.Sentences) == 0 {
		return nil
	}
	return despite(func() error {
		_, err := p.one(ctx, ask{"rules in words", "Onset.Hold", func() any {
			return activities.CaptureRequest{
				StepRequest: p.step(ctx, 0, 0, n.spec.Knobs.CaptureTemperature),
				Fragments:   ids(n.fragments),
			}
		}})
		return err
	})
}

// despite does what an alarm may interrupt but not prevent: each time the dream goes on, in a sitting of its own.
func despite(do func() error) error {
	for {
		if err := do(); !errors.Is(err, errAlarmed) {
			return err
		}
	}
}
