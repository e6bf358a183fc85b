package starter

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Call passes a trigger's call to the agent's workflow, starting it if needed. The call waits there until the agent
// may dream.
func (s *Starter) Call(ctx context.Context, agent dream.Agent, f activities.Fire) error {
	ctx, cancel := context.WithTimeout(ctx, reportWithin)
	defer cancel()
	if err := s.present(ctx, agent); err != nil {
		return err
	}
	_, err := s.Client.SignalWithStartWorkflow(ctx, workflows.AgentID(agent.Handle), workflows.SignalTrigger, f,
		client.StartWorkflowOptions{
			TaskQueue:           s.queue(),
			WorkflowTaskTimeout: workflows.TaskTimeout,
			StaticSummary:       "agent " + agent.Handle,
			Memo:                workflows.AgentMemo(agent),
		},
		workflows.AgentType, workflows.AgentRequest{Agent: agent.ID, Handle: agent.Handle, Settings: s.settings(agent)})
	if err != nil {
		return fmt.Errorf("signal the workflow of %s that trigger %s calls: %w", agent.Handle, f.Trigger, err)
	}
	return nil
}

// Embedder is the model that embeds an agent's texts outside of a dream; none if that costs money and automatic
// dreams may not.
func (s *Starter) Embedder(ctx context.Context, agent dream.Agent) (model, why string) {
	spec, err := s.embedderIn(ctx, agent)
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
func (s *Starter) embedderIn(ctx context.Context, agent dream.Agent) (inference.Spec, error) {
	space, err := s.Memory.Space(ctx, agent.ID)
	if err != nil {
		return inference.Spec{}, fmt.Errorf("ask for the space of %s: %w", agent.Handle, err)
	}
	return inference.EmbedderIn(s.Catalog, agent.Models[dream.Embedder], s.Options.Models[dream.Embedder], space)
}

var (
	_ activities.Callers   = (*Starter)(nil)
	_ activities.Embedders = (*Starter)(nil)
)
