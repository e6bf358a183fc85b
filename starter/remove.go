package starter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/workflows"
)

// RemovalResult is the result of removing an agent.
type RemovalResult struct {
	memory.RemovalResult
	Agent   string   // its handle
	Ended   []string // the workflows that were ended
	Running string   // why its workflows may still run; empty: they do not
	Earlier bool     // the store had removed the agent before, and its workflow still ran
}

// endWithin limits how long Temporal is called to end the workflows of a removed agent.
const endWithin = 5 * time.Second

// Remove removes an agent for good: its memory by memory.Remover.DropAgent, then its workflow and those of interrupted
// dreams. ErrDreaming while it dreams or is about to, ErrAwake while a client holds it awake, memory.ErrNotFound when
// there is none.
//
// The store comes first: only it knows that no dream runs and no client is connected, and afterwards it refuses all
// writes for the agent. If the process dies before Temporal was called, removing the id again ends the rest.
func (s *Starter) Remove(ctx context.Context, name string) (RemovalResult, error) {
	if s.Remover == nil {
		return RemovalResult{}, fmt.Errorf("remove agent %q: this program's store removes no agents (Starter.Remover is nil)", name)
	}
	agent, err := s.Memory.Agent(ctx, name)
	if errors.Is(err, memory.ErrRemoved) {
		return removal{s}.removeRest(ctx, name, err)
	}
	if err != nil {
		return RemovalResult{}, fmt.Errorf("remove agent %q: %w", name, err)
	}
	done := RemovalResult{Agent: agent.Handle}
	open, err := removal{s}.openDreams(ctx, agent)
	if err != nil {
		return done, err
	}
	done.RemovalResult, err = s.Remover.DropAgent(ctx, agent.ID, s.Now())
	switch {
	case errors.Is(err, memory.ErrTaken):
		return done, fmt.Errorf("%w: %w", ErrDreaming, err)
	case errors.Is(err, memory.ErrAwake):
		return done, fmt.Errorf("%w: %w", ErrAwake, err)
	case err != nil:
		return done, err
	}
	ctx = context.WithoutCancel(ctx) // the rest is ended even if the caller has gone
	for _, existing := range []string{name, agent.ID, agent.Handle} {
		s.wokenAgents.Delete(existing)
	}
	now := s.Now()
	notice := presence.WakeNotice{
		Agent:  agent.ID,
		Epoch:  presence.EveryEpoch,
		Cause:  presence.Operator,
		At:     now,
		Raised: now,
	}
	_ = waking{s}.notify(ctx, notice) // a process that is not reached asks the store
	done.Ended, err = removal{s}.end(ctx, append(open, workflows.AgentID(agent.Handle))...)
	if err != nil {
		done.Running = err.Error()
	}
	return done, nil
}

// removeRest ends the workflow of an agent whose memory was removed earlier. cause is the store's error.
func (s removal) removeRest(ctx context.Context, id string, cause error) (RemovalResult, error) {
	ended, err := s.end(ctx, workflows.AgentID(id))
	if err != nil || len(ended) == 0 {
		return RemovalResult{}, fmt.Errorf("remove agent %q: %w", id, errors.Join(cause, err))
	}
	return RemovalResult{Agent: id, Ended: ended, Earlier: true}, nil
}

// openDreams are the workflows of interrupted dreams. ErrDreaming when one is about to begin.
func (s removal) openDreams(ctx context.Context, agent dream.Agent) ([]string, error) {
	found, err := s.Memory.Find(ctx, memory.Query{
		Agent: agent.ID, Kinds: []dream.Kind{dream.KindRecord}, States: dream.States,
		Statuses: []string{string(dream.Dreaming), dream.RecordWaits},
	})
	if err != nil {
		return nil, fmt.Errorf("look for dreams of %s: %w", agent.Handle, err)
	}
	var open []string
	for _, record := range memory.As[*dream.Record](found) {
		if record.Outcome == dream.Dreaming && s.Now().Sub(record.At) < beginsWithin {
			return nil, fmt.Errorf("%s: %w %s, or about to", agent.Handle, ErrDreaming, record.ID)
		}
		open = append(open, record.ID)
	}
	return open, nil
}

// beginsWithin is how long after its record was written a dream may still begin: Begin withdraws the record after
// answerWithin.
const beginsWithin = time.Minute

// end terminates those workflows that run and returns their ids. Terminating needs no worker.
func (s removal) end(ctx context.Context, ids ...string) ([]string, error) {
	if s.Client == nil {
		return nil, fmt.Errorf("end its workflows: %w", ErrUnreachable)
	}
	ctx, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	var ended []string
	for _, id := range ids {
		err := s.Client.TerminateWorkflow(ctx, id, "", "the agent was removed")
		switch {
		case err == nil:
			ended = append(ended, id)
		case !notFound(err):
			return ended, fmt.Errorf("end the workflow %s: %w", id, err)
		}
	}
	return ended, nil
}
