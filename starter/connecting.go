package starter

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Joined says whether a client connected while only an alarm or an operator held the sleeping agent. No epoch was
// raised, so no wake is reported; the agent's workflow keeps it asleep until Connected is called.
func (w WakeResult) Joined(cause presence.Cause) bool {
	return !w.Raised && w.Epoch > 0 && w.Dream == "" && w.Cause != presence.Connect &&
		(cause == presence.Connect || cause == "")
}

// Connected reports to the agent's workflow that a client connected while the store already held the agent awake. The
// workflow reads the connected clients, so the signal may be late or repeated.
func (s *Starter) Connected(ctx context.Context, handle string) error {
	// the report of the wake that was joined starts a workflow that does not run
	if err := s.signalRunning(ctx, workflows.AgentID(handle), workflows.SignalConnected, nil); err != nil {
		return fmt.Errorf("signal the workflow of %s that a client connected: %w", handle, err)
	}
	return nil
}

// join calls Connected in the background, once per epoch.
func (s waking) join(ctx context.Context, agent dream.Agent, epoch int64) {
	if s.Client == nil {
		return
	}
	if reported, ok := s.joined.Swap(agent.ID, epoch); ok && reported == epoch {
		return
	}
	s.recording.later(ctx, func(ctx context.Context) error { return s.Connected(ctx, agent.Handle) })
}
