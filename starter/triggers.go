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

// Call tells an agent's life that a trigger calls for a dream; one without a life gets it. The call waits there,
// whoever dies, until the agent may dream.
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
			StaticSummary:       "the life of " + agent.Handle,
			Memo:                workflows.AgentMemo(agent),
		},
		workflows.AgentType, workflows.AgentRequest{Agent: agent.ID, Handle: agent.Handle, Settings: s.settings(agent)})
	if err != nil {
		return fmt.Errorf("tell the life of %s that %s calls: %w", agent.Handle, f.Trigger, err)
	}
	return nil
}

// Embedder is the model that places an agent's texts when nobody asked it to: none where that costs money and dreams by
// themselves may spend none.
func (s *Starter) Embedder(ctx context.Context, agent dream.Agent) (model, why string) {
	spec, err := s.embedderIn(ctx, agent)
	switch {
	case err != nil || spec.Price == nil:
		return "", "its embedder is not known, or has no price"
	case *spec.Price != (budget.Price{}) && !s.Options.AutoPaid:
		return "", "its embedder costs money, and automatic dreaming on a paid provider is switched off"
	}
	return spec.Name, ""
}

// embedderIn is the embedder that an agent's dreams measure with: its own or the usual one, or, until its memory was
// embedded anew, that of the space its memories lie in.
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
