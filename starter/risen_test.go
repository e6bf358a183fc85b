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

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/workflows"
)

// riser is a Temporal client of one life, which hears that its dream is over when it was asked so often where it
// stands.
type riser struct {
	client.Client
	dream string

	mu    sync.Mutex
	hears int // it never does when negative
	asked int
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
	r.asked++
	if r.hears >= 0 && r.asked > r.hears {
		return encodedState{agentState: workflows.AgentState{State: workflows.Sleeping}}, nil
	}
	return encodedState{
		agentState: workflows.AgentState{State: workflows.Dreaming, Dream: &workflows.Begun{Dream: r.dream}},
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
	*into.(*workflows.Begun) = workflows.Begun{Dream: b.dream}
	return nil
}

func (r *riser) UpdateWithStartWorkflow(_ context.Context,
	o client.UpdateWithStartWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dream != "" && (r.hears < 0 || r.asked <= r.hears) {
		return nil, temporal.NewApplicationError("echo is already dreaming "+r.dream, workflows.AlreadyDreaming)
	}
	return began{dream: o.UpdateOptions.UpdateID}, nil
}

// dreamt leaves the record of a dream behind.
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

// A dream that is over by its record is told to its agent's life a moment later: whoever begins the next one, from the
// command line or over HTTP, is not refused for that.
func TestWhoeverBeginsWhileTheLastDreamGetsUpWaitsForThat(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	agentState := &riser{dream: dreamt(t, s, agent, true), hears: 3}
	s.Client = agentState
	begun, err := s.Begin(t.Context(), DreamRequest{Agent: "echo"})
	require.NoError(t, err)
	require.NotEqual(t, agentState.dream, begun.Dream)
	require.Equal(t, 4, agentState.asked)
	require.Len(t, nights(t, s, agent), 2, "none was begun in vain")
}

func TestNobodyWaitsForADreamThatIsNotOver(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	agentState := &riser{dream: dreamt(t, s, agent, false), hears: -1}
	s.Client = agentState
	_, err := s.Begin(t.Context(), DreamRequest{Agent: "echo"})
	require.ErrorIs(t, err, ErrDreaming)
	require.Equal(t, 1, agentState.asked)
	s.Client = &riser{}
	_, err = s.Begin(t.Context(), DreamRequest{Agent: "echo"})
	require.NoError(t, err, "an agent without a life is given one")
}
