package starter

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/workflows"
)

// riser is a Temporal client of one agent whose workflow learns of the end of its dream after a number of queries.
type riser struct {
	knows
	dream string

	mu      sync.Mutex
	after   int // number of queries; negative: never
	queries int
}

type encodedState struct {
	converter.EncodedValue
	agentState workflows.AgentState
}

func (s encodedState) Get(into any) error {
	*into.(*workflows.AgentState) = s.agentState
	return nil
}

func (r *riser) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dream == "" {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	r.queries++
	if r.after >= 0 && r.queries > r.after {
		return encodedState{agentState: workflows.AgentState{State: workflows.Sleeping}}, nil
	}
	return encodedState{
		agentState: workflows.AgentState{State: workflows.Dreaming, Dream: &workflows.StartedDream{Dream: r.dream}},
	}, nil
}

func (r *riser) NewWithStartWorkflowOperation(client.StartWorkflowOptions, any,
	...any,
) client.WithStartWorkflowOperation {
	return nil
}

type began struct {
	client.WorkflowUpdateHandle
	dream string
}

func (b began) Get(_ context.Context, into any) error {
	*into.(*workflows.StartedDream) = workflows.StartedDream{Dream: b.dream}
	return nil
}

func (r *riser) UpdateWithStartWorkflow(_ context.Context,
	o client.UpdateWithStartWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dream != "" && (r.after < 0 || r.queries <= r.after) {
		return nil, temporal.NewApplicationError("echo is already dreaming "+r.dream, workflows.AlreadyDreaming)
	}
	return began{dream: o.UpdateOptions.Args[0].(activities.Spec).Dream}, nil
}

// dreamt writes the record of a dream.
func dreamt(t *testing.T, s *Starter, agent dream.Agent, over bool) string {
	t.Helper()
	spec, err := s.Freeze(t.Context(), DreamRequest{Agent: agent.Handle})
	require.NoError(t, err)
	n := nights(t, s, agent)[0]
	n.Run = "r1"
	if over {
		n.Outcome, n.Ended = dream.Completed, tonight
	}
	_, err = s.Memory.Commit(t.Context(), memory.Write{Agent: agent.ID, Cause: spec.Dream, Change: []dream.Item{n}})
	require.NoError(t, err)
	return spec.Dream
}

// The agent's workflow learns of the end of a dream shortly after its record is closed; a new dream requested in
// between, from the command line or over HTTP, is not refused.
func TestARequestRightAfterADreamWaitsForItsEnd(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	agentState := &riser{dream: dreamt(t, s, agent, true), after: 3}
	s.Client = agentState
	begun, err := s.Begin(t.Context(), DreamRequest{Agent: "echo"})
	require.NoError(t, err)
	require.NotEqual(t, agentState.dream, begun.Dream)
	require.Equal(t, 4, agentState.queries)
	require.Len(t, nights(t, s, agent), 2, "no record was written in vain")
}

func TestARequestDuringADreamDoesNotWait(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	agentState := &riser{dream: dreamt(t, s, agent, false), after: -1}
	s.Client = agentState
	_, err := s.Begin(t.Context(), DreamRequest{Agent: "echo"})
	require.ErrorIs(t, err, ErrDreaming)
	require.Equal(t, 1, agentState.queries)
	s.Client = &riser{}
	_, err = s.Begin(t.Context(), DreamRequest{Agent: "echo"})
	require.NoError(t, err, "an agent without a workflow gets one")
}
