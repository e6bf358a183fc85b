package starter

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Joined says whether a knock of this cause came to a sleeper whom only an alarm or an operator held awake. It raised
// no epoch, so it is no wake that is told; the agent's life has it asleep until it is Visited.
func (w Woken) Joined(cause presence.Cause) bool {
	return !w.Raised && w.Epoch > 0 && w.Dream == "" && w.Cause != presence.Connect &&
		(cause == presence.Connect || cause == "")
}

// Visited tells an agent's life that somebody came whom the store had awake already. The life looks who is there, so it
// may be told late, or twice.
func (s *Starter) Visited(ctx context.Context, handle string) error {
	err := s.Client.SignalWorkflow(ctx, workflows.AgentID(handle), "", workflows.SignalVisited, nil)
	var notFound *serviceerror.NotFound
	if err == nil || errors.As(err, &notFound) { // whoever tells of the wake that it joined begins its life
		return nil
	}
	return fmt.Errorf("tell the life of %s that somebody came: %w", handle, err)
}

// join tells the life of an agent in the background, once for each epoch, that somebody came: from then on it is awake
// until nobody holds it.
func (s *Starter) join(ctx context.Context, agent dream.Agent, epoch int64) {
	if s.Client == nil {
		return
	}
	if result, ok := s.joined.Swap(agent.ID, epoch); ok && result == epoch {
		return
	}
	s.recording.later(ctx, func(ctx context.Context) error { return s.Visited(ctx, agent.Handle) })
}
