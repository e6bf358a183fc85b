package starter

import (
	"context"
	"errors"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/workflows"
)

// A dream is closed shortly before its agent's workflow learns of it. A new dream that is requested in between waits
// for that instead of being refused.
const (
	noticedWithin = 3 * time.Second
	noticedEvery  = 20 * time.Millisecond
)

// awaitLastDream waits until the agent's last dream, if its record is closed or lost, has also freed its slot and is known to
// the agent's workflow.
func (s drafter) awaitLastDream(ctx context.Context, agent dream.Agent) error {
	soon, cancel := context.WithTimeout(ctx, noticedWithin)
	defer cancel()
	tick := time.NewTicker(noticedEvery)
	defer tick.Stop()
	for {
		running, err := s.runningDream(soon, agent)
		if err != nil && soon.Err() == nil {
			return err
		}
		if running == "" {
			return nil
		}
		record, err := memory.One[*dream.Record](soon, s.Memory, agent.ID, running)
		// a dream without a record ends with its next write: the store was put back to an earlier state
		if err == nil && !record.Status(s.Now()).Over() || err != nil && !errors.Is(err, memory.ErrNotFound) {
			return ctx.Err() // the request itself reports the reason
		}
		select {
		case <-tick.C:
		case <-soon.Done():
			return ctx.Err()
		}
	}
}

// runningDream is the dream that occupies the agent, by its slot or by its workflow; empty for none.
func (s drafter) runningDream(ctx context.Context, agent dream.Agent) (string, error) {
	slots, err := s.Memory.Slots(ctx)
	if held, ok := slots[agent.ID]; err != nil || ok {
		return held.Dream, err
	}
	if s.Client == nil {
		return "", nil
	}
	agentState, err := s.AgentState(ctx, agent.Handle)
	if err != nil || agentState.State != workflows.Dreaming || agentState.Dream == nil {
		return "", nil // an unreachable workflow is reported by the request itself
	}
	return agentState.Dream.Dream, nil
}
