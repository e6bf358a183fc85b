package starter

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/workflows"
)

// BeginAnew ends the run of an agent's workflow and begins another, in one request, with the state that the store
// knows: the dream that runs or waits, the wake that is recorded, who is connected. What only the workflow knew is
// lost: triggers that wait, and why the last dream by itself did not begin. When another run goes on by now, that one
// stays.
func (s *Starter) BeginAnew(ctx context.Context, agent dream.Agent, run string) error {
	if _, err := s.Memory.Agent(ctx, agent.ID); errors.Is(err, memory.ErrRemoved) {
		return fmt.Errorf("start the workflow of %s: %w", agent.Handle, err)
	}
	id := workflows.AgentID(agent.Handle)
	existing, err := s.Client.DescribeWorkflowExecution(ctx, id, "")
	if err != nil && !notFound(err) {
		return fmt.Errorf("describe %s: %w", id, err)
	}
	if err == nil && existing.GetWorkflowExecutionInfo().GetExecution().GetRunId() != run {
		return nil
	}
	state, err := drafter{s}.restored(ctx, agent)
	if err != nil {
		return fmt.Errorf("read where %s stands: %w", agent.Handle, err)
	}
	start := s.Options.workflow("the life of "+agent.Handle, workflows.AgentMemo(agent))
	start.ID, start.WorkflowIDConflictPolicy = id, enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
	request := s.Options.agentRequest(agent)
	request.Carried = &state
	_, err = s.Client.ExecuteWorkflow(ctx, start, workflows.AgentType, request)
	if err != nil {
		return fmt.Errorf("begin %s anew: %w", id, err)
	}
	return nil
}

// restored is the state of an agent as the store knows it.
func (s drafter) restored(ctx context.Context, agent dream.Agent) (workflows.AgentState, error) {
	now := s.Now()
	state := workflows.AgentState{State: workflows.Sleeping, LastActive: now, Settings: s.Options.settings(agent)}
	found, err := s.Memory.Find(ctx, memory.Query{
		Agent: agent.ID, Kinds: []dream.Kind{dream.KindRecord}, States: dream.States,
	})
	if err != nil {
		return state, err
	}
	for _, record := range memory.As[*dream.Record](found) {
		state.Dreams++
		if record.Ended.After(state.LastDream) {
			state.LastDream = record.Ended
		}
		begun := workflows.StartedDream{Dream: record.ID, Workflow: record.Workflow, Run: record.Run}
		if begun.Workflow == "" {
			begun.Workflow = record.ID
		}
		running, err := s.goesOn(ctx, record, begun)
		switch {
		case err != nil:
			return state, err
		case running && record.Outcome == dream.Dreaming:
			state.Dream = &begun
		case running:
			state.Interrupted = &workflows.InterruptedDream{StartedDream: begun, Until: record.Until}
		}
	}
	if state.Dream != nil {
		state.State, state.Interrupted = workflows.Dreaming, nil
	}
	status, err := s.Presence.Status(ctx, agent.ID, now)
	if err != nil {
		return state, err
	}
	if !status.Seen.IsZero() {
		state.LastActive = status.Seen
	}
	state.Epoch, state.Greeted = status.Recorded, status.Recorded // a newer wake is told to the workflow again
	if status.Recorded == status.Epoch && status.Last != nil &&
		status.State(state.Dream != nil, now) == circadian.Awake {
		state.State, state.Since, state.Until = workflows.Awake, status.Last.At, now
	}
	return state, nil
}

// goesOn says whether the workflow of a dream that is open by its record runs.
func (s drafter) goesOn(ctx context.Context, record *dream.Record, begun workflows.StartedDream) (bool, error) {
	if record.Outcome != dream.Dreaming && !record.Resumable() {
		return false, nil
	}
	return s.Executions().Running(ctx, begun.Workflow, begun.Run)
}

// DreamEnded tells an agent's workflow that a dream of its is over, when the dream's workflow cannot.
func (s *Starter) DreamEnded(ctx context.Context, handle string, ended workflows.EndedDream) error {
	return s.signalRunning(ctx, workflows.AgentID(handle), workflows.SignalEnded, ended)
}
