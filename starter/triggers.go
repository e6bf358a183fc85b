package starter

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/triggers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Call passes a trigger's call to the agent's workflow, starting it if needed. The call waits there until the agent
// may dream.
func (s *Starter) Call(ctx context.Context, agent dream.Agent, f triggers.Fire) error {
	ctx, cancel := context.WithTimeout(ctx, reportWithin)
	defer cancel()
	if err := (waking{s}).signalAgent(ctx, agent, workflows.SignalTrigger, f); err != nil {
		return fmt.Errorf("signal the workflow of %s that trigger %s calls: %w", agent.Handle, f.Trigger, err)
	}
	return nil
}

// Embedder is the model that embeds an agent's texts outside of a dream; none if that costs money and automatic
// dreams may not.
func (s *Starter) Embedder(ctx context.Context, agent dream.Agent) (model, why string) {
	spec, err := drafter{s}.embedderIn(ctx, agent)
	switch {
	case err != nil || spec.Price == nil:
		return "", "its embedder is unknown or has no price"
	case *spec.Price != (budget.Price{}) && !s.Options.AutoPaid:
		return "", "its embedder costs money, and automatic dreaming on a paid provider is switched off"
	}
	return spec.Name, ""
}

// embedderIn is the embedder of an agent's dreams: its own or the default one, or that of its existing vectors until
// its memory is embedded again.
func (s drafter) embedderIn(ctx context.Context, agent dream.Agent) (inference.Spec, error) {
	space, err := s.Memory.Space(ctx, agent.ID)
	if err != nil {
		return inference.Spec{}, fmt.Errorf("ask for the space of %s: %w", agent.Handle, err)
	}
	return inference.EmbedderIn(s.Catalog, agent.Models[dream.Embedder], s.Options.Models[dream.Embedder], space)
}

var (
	_ triggers.Callers     = (*Starter)(nil)
	_ activities.Embedders = (*Starter)(nil)
)
