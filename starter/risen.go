package starter

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/workflows"
)

// A dream's books are closed a few steps of the server before its agent's life has heard that it is over. Whoever
// begins the next one in between waits for that instead of being refused.
const (
	hearsWithin = 3 * time.Second
	hearsEvery  = 20 * time.Millisecond
)

// risen waits until an agent whose newest dream is over by its record has risen from it: its slot is free, and its life
// has heard.
func (s *Starter) risen(ctx context.Context, agent dream.Agent) error {
	soon, cancel := context.WithTimeout(ctx, hearsWithin)
	defer cancel()
	tick := time.NewTicker(hearsEvery)
	defer tick.Stop()
	for {
		lies, err := s.lies(soon, agent)
		if err != nil && soon.Err() == nil {
			return err
		}
		if lies == "" {
			return nil
		}
		record, err := memory.One[*dream.Record](soon, s.Memory, agent.ID, lies)
		if err != nil || !record.Status(s.Now()).Over() {
			return ctx.Err() // whoever begins is told
		}
		select {
		case <-tick.C:
		case <-soon.Done():
			return ctx.Err()
		}
	}
}

// lies is the dream that holds the agent, by its slot or by its life; empty when none does.
func (s *Starter) lies(ctx context.Context, agent dream.Agent) (string, error) {
	slots, err := s.Memory.Slots(ctx)
	if held, ok := slots[agent.ID]; err != nil || ok {
		return held.Dream, err
	}
	if s.Client == nil {
		return "", nil
	}
	agentState, err := s.AgentState(ctx, agent.Handle)
	if err != nil || agentState.State != workflows.Dreaming || agentState.Dream == nil {
		return "", nil // a life that does not answer is asked again by whoever begins
	}
	return agentState.Dream.Dream, nil
}
