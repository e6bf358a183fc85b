package starter

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/dreamrun"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/triggers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// ending is a Temporal client with a set of running workflows.
type ending struct {
	knows
	mu      sync.Mutex
	running map[string]bool
	fault   error
}

func (e *ending) TerminateWorkflow(_ context.Context, id, _, _ string, _ ...any) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fault != nil {
		return e.fault
	}
	if !e.running[id] {
		return serviceerror.NewNotFound("no such workflow")
	}
	delete(e.running, id)
	return nil
}

func (e *ending) SignalWithStartWorkflow(
	_ context.Context, id, _ string, _ any, _ client.StartWorkflowOptions, _ any, _ ...any,
) (client.WorkflowRun, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running[id] = true
	return nil, nil
}

func (e *ending) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	return nil, serviceerror.NewNotFound("no such workflow")
}

func removable(t *testing.T) (*Starter, dream.Agent, *ending) {
	t.Helper()
	s, agent := build(t)
	agent.ID = agent.Handle
	_, err := s.Remover.DropAgent(t.Context(), "a1", tonight)
	require.NoError(t, err)
	require.NoError(t, s.Memory.PutAgent(t.Context(), agent))
	s.Presence = s.Memory.(presence.Store)
	e := &ending{running: map[string]bool{}}
	s.Client = e
	require.NoError(t, s.EnsureWorkflow(t.Context(), agent))
	return s, agent, e
}

func TestRemovingAnAgentEndsItsWorkflows(t *testing.T) {
	t.Parallel()
	s, agent, e := removable(t)
	waits := &dream.Record{Head: dream.Head{
		ID: "dream/echo/0004", Agent: agent.ID, Kind: dream.KindRecord, At: tonight.Add(-time.Hour),
		State: dream.Live, Taint: dream.FromDream,
	}, Outcome: dream.Interrupted, Until: tonight.Add(time.Hour)}
	_, err := s.Memory.Commit(t.Context(), memory.Write{Agent: agent.ID, Cause: waits.ID, Add: []dream.Item{waits}})
	require.NoError(t, err)
	e.running[waits.ID] = true
	done, err := s.Remove(t.Context(), "echo")
	require.NoError(t, err)
	require.Equal(t, []string{waits.ID, "agent/echo"}, done.Ended)
	require.Equal(t, 1, done.Items[dream.KindRecord])
	require.Empty(t, e.running)
	require.ErrorIs(t, s.EnsureWorkflow(t.Context(), agent), memory.ErrRemoved, "no workflow starts from an old record")
	require.ErrorIs(t, s.Call(t.Context(), agent, triggers.Fire{}), memory.ErrRemoved)
	_, err = waking{s}.sendWake(t.Context(), agent, workflows.Wake{Epoch: 3})
	require.ErrorIs(t, err, memory.ErrRemoved)
	_, err = s.Wake(t.Context(), Connection{Agent: "echo", Client: "mara"})
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.Empty(t, e.running)
	_, err = s.Remove(t.Context(), "echo")
	require.ErrorIs(t, err, memory.ErrNotFound)
	_, err = s.Remove(t.Context(), "nobody")
	require.ErrorIs(t, err, memory.ErrNotFound)
}

func TestARepeatedRemovalEndsRemainingWorkflows(t *testing.T) {
	t.Parallel()
	s, _, e := removable(t)
	e.fault = serviceerror.NewUnavailable("away")
	done, err := s.Remove(t.Context(), "echo")
	require.NoError(t, err)
	require.Contains(t, done.Running, "away")
	require.True(t, e.running["agent/echo"])
	e.fault = nil
	done, err = s.Remove(t.Context(), "echo")
	require.NoError(t, err)
	require.Equal(t, RemovalResult{Agent: "echo", Ended: []string{"agent/echo"}, Earlier: true}, done)
	_, err = s.Remove(t.Context(), "echo")
	require.ErrorIs(t, err, memory.ErrNotFound)
}

func TestADreamingOrAwakeAgentIsNotRemoved(t *testing.T) {
	t.Parallel()
	s, agent, e := removable(t)
	about := &dream.Record{Head: dream.Head{
		ID:    "dream/echo/0005",
		Agent: agent.ID,
		Kind:  dream.KindRecord,
		At:    tonight,
		State: dream.Live,
		Taint: dream.FromDream,
	}, Outcome: dream.Dreaming}
	_, err := s.Memory.Commit(t.Context(), memory.Write{Agent: agent.ID, Cause: about.ID, Add: []dream.Item{about}})
	require.NoError(t, err)
	_, err = s.Remove(t.Context(), "echo")
	require.ErrorIs(t, err, ErrDreaming)
	_, err = s.Memory.(memory.Eraser).Forget(t.Context(), agent.ID, about.ID)
	require.NoError(t, err)
	f := memory.Fence{Dream: about.ID, Run: "r"}
	_, err = s.Memory.TakeSlot(t.Context(), agent.ID, memory.Slot{Fence: f, Since: tonight}, memory.Fence{})
	require.NoError(t, err)
	_, err = s.Remove(t.Context(), "echo")
	require.ErrorIs(t, err, ErrDreaming)
	require.NoError(t, s.Memory.FreeSlot(t.Context(), agent.ID, f))
	_, err = s.Presence.Arrive(t.Context(), presence.Visit{
		Agent:  agent.ID,
		Client: "mara",
		Cause:  presence.Connect,
		Now:    tonight,
		For:    time.Minute,
	})
	require.NoError(t, err)
	_, err = s.Remove(t.Context(), "echo")
	require.ErrorIs(t, err, ErrAwake)
	require.True(t, e.running["agent/echo"])
	_, err = s.Memory.Agent(t.Context(), "echo")
	require.NoError(t, err)
}

func TestAPlanForARemovedAgentCompletesItsWorkflow(t *testing.T) {
	t.Parallel()
	s, agent, _ := removable(t)
	b := &dreamrun.DreamRun{Ports: activities.Ports{Memory: s.Memory, Presence: s.Presence, Now: s.Now}, Planner: s}
	plan, err := b.Plan(t.Context(), activities.PlanRequest{Agent: agent.ID, Now: tonight})
	require.NoError(t, err)
	require.False(t, plan.Removed)
	_, err = s.Remove(t.Context(), "echo")
	require.NoError(t, err)
	plan, err = b.Plan(t.Context(), activities.PlanRequest{Agent: agent.ID, Now: tonight})
	require.NoError(t, err)
	require.Equal(t, activities.PlanResult{Removed: true}, plan)
}
