package starter

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/workflows"
)

// knows is a Temporal client that knows the workflows of an agent's first dreams, all of them closed.
type knows struct {
	client.Client
	dreams int64
}

func (k knows) DescribeWorkflowExecution(
	_ context.Context, id, _ string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	for n := range k.dreams {
		if id == workflows.DreamID("echo", n+1) {
			return &workflowservice.DescribeWorkflowExecutionResponse{}, nil
		}
	}
	return nil, serviceerror.NewNotFound("no such workflow")
}

// A store that was put back to an earlier state gives numbers again that Temporal knows dreams of.
func TestADreamGetsANumberOfWhichTemporalKnowsNoDream(t *testing.T) {
	t.Parallel()
	for closed, want := range map[int64]string{
		0: "dream/echo/0001", 1: "dream/echo/0002", 2: "dream/echo/0004", 3: "dream/echo/0004", 300: "dream/echo/0512",
	} {
		s, agent := build(t)
		s.Client = knows{dreams: closed}
		spec, err := s.Freeze(t.Context(), DreamRequest{Agent: agent.Handle})
		require.NoError(t, err)
		require.Equal(t, want, spec.Dream, "after %d dreams", closed)
	}
}
