package testdeploy_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

func TestAnAgentWorkflowStartedByADreamHasItsSettingsAndItsStateIsSearchable(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	deployment := open(t, nil)
	deployment.Starter.Options.Settings = workflows.Settings{IdleTimeout: 24 * time.Hour, MinGap: 24 * time.Hour}
	agent, err := deployment.AddAgent(ctx, 0, "lively")
	require.NoError(t, err)
	agent.Auto = true
	require.NoError(t, deployment.Store.PutAgent(ctx, agent))
	seed := uint64(7)
	begun, err := deployment.Starter.Begin(
		ctx,
		starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night},
	)
	require.NoError(t, err)
	result, err := deployment.Result(ctx, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)

	agentState := workflows.AgentID(agent.Handle)
	value, err := deployment.Client.QueryWorkflow(ctx, agentState, "", workflows.QueryAgentState)
	require.NoError(t, err)
	var lived workflows.AgentState
	require.NoError(t, value.Get(&lived))
	require.Equal(t, workflows.Settings{
		Auto:        true,
		IdleTimeout: 24 * time.Hour,
		MinGap:      24 * time.Hour,
		Searchable:  true,
		TryAgain:    time.Minute,
	}, lived.Settings)

	query := fmt.Sprintf("%s = 'lively' AND %s = 'sleeping'", workflows.AttrAgent.GetName(),
		workflows.AttrAgentState.GetName())
	require.Eventually(t, func() bool {
		found, err := deployment.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		return err == nil && len(found.GetExecutions()) == 1 &&
			found.GetExecutions()[0].GetExecution().GetWorkflowId() == agentState
	}, patience, 20*time.Millisecond)
	writes := 0
	for history := deployment.Client.GetWorkflowHistory(ctx, agentState, "", false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); history.HasNext(); {
		e, err := history.Next()
		require.NoError(t, err)
		if e.GetEventType() == enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES {
			writes++
		}
	}
	require.LessOrEqual(t, writes, 3, "one a change of state")

	memo := func(id string) map[string]any {
		described, err := deployment.Client.DescribeWorkflowExecution(ctx, id, "")
		require.NoError(t, err)
		read := map[string]any{}
		for key, payload := range described.GetWorkflowExecutionInfo().GetMemo().GetFields() {
			var value any
			require.NoError(t, converter.GetDefaultDataConverter().FromPayload(payload, &value))
			read[key] = value
		}
		return read
	}
	require.Equal(t, map[string]any{"agent": "lively", "id": agent.ID, "contract": float64(workflows.Contract)}, memo(agentState))
	require.Subset(t, memo(begun.Dream),
		map[string]any{"agent": "lively", "number": "0001", "cap": "free", "seed": "7", "begun": "asked for"})
}
