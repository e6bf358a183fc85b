package workflows

import (
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

func TestDetailsHoldNoDollarSigns(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		setDetails(ctx, "$0.05 of $1.00")
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
	value, err := env.QueryWorkflow("__temporal_workflow_metadata")
	require.NoError(t, err)
	var metadata sdk.WorkflowMetadata
	require.NoError(t, value.Get(&metadata))
	require.Equal(t, "USD 0.05 of USD 1.00", metadata.GetCurrentDetails())
}
