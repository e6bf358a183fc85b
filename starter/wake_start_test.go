package starter

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/workflows"
)

// emptyCluster has no workflow until an update starts one.
type emptyCluster struct {
	client.Client
	started int
}

func (c *emptyCluster) UpdateWorkflow(
	context.Context, client.UpdateWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	return nil, serviceerror.NewNotFound("no such workflow")
}

func (c *emptyCluster) NewWithStartWorkflowOperation(
	client.StartWorkflowOptions, any, ...any,
) client.WithStartWorkflowOperation {
	return nil
}

func (c *emptyCluster) UpdateWithStartWorkflow(
	context.Context, client.UpdateWithStartWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	c.started++
	return recordedWake{}, nil
}

type recordedWake struct{ client.WorkflowUpdateHandle }

func (recordedWake) Get(_ context.Context, into any) error {
	if answer, ok := into.(*workflows.WakeAnswer); ok {
		answer.Epoch = 1
	}
	return nil
}

func TestAWakeStartsTheAgentsWorkflow(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	cluster := &emptyCluster{}
	s.Client = cluster
	_, err := waking{s}.sendWake(t.Context(), agent, workflows.Wake{Epoch: 1, Raised: tonight})
	require.NoError(t, err)
	require.Equal(t, 1, cluster.started)
}

func TestAWakeStartsNoWorkflowForARemovedAgent(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	cluster := &emptyCluster{}
	s.Client = cluster
	agent.ID = "removed"
	_, err := waking{s}.sendWake(t.Context(), agent, workflows.Wake{Epoch: 1})
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.Zero(t, cluster.started)
}
