package testdeploy_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// makeCurrent makes a build the current one of the Worker Deployment, once a worker of it has polled.
func makeCurrent(t *testing.T, ctx context.Context, c client.Client, build string) {
	t.Helper()
	handle := c.WorkerDeploymentClient().GetHandle(testdeploy.WorkerDeployment)
	require.Eventually(t, func() bool {
		_, err := handle.SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
		return err == nil
	}, time.Minute, 50*time.Millisecond)
}

// buildOf is the build that the newest run of a workflow is on; empty before its first task has ended.
func buildOf(t *testing.T, ctx context.Context, c client.Client, workflow string) string {
	t.Helper()
	found, err := c.DescribeWorkflowExecution(ctx, workflow, "")
	require.NoError(t, err)
	return found.GetWorkflowExecutionInfo().GetVersioningInfo().GetDeploymentVersion().GetBuildId()
}

func TestADreamEndsOnItsBuildAndItsAgentMovesToTheCurrentOne(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, provider.Options{Seed: 3, Each: 4 * time.Millisecond},
		func(p *testdeploy.Config) { p.Build = "build-1" })
	makeCurrent(t, s.ctx, s.Client, "build-1")
	begun := s.begin()
	s.served(20)

	s.Config.Build = "build-2"
	second, err := s.StartWorker()
	require.NoError(t, err)
	t.Cleanup(second.Stop)
	makeCurrent(t, s.ctx, s.Client, "build-2")
	result, err := s.Result(s.ctx, begun)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.Equal(t, "build-1", buildOf(t, s.ctx, s.Client, begun), "a dream stays on the build that began it")

	agent := workflows.AgentID(s.agent.Handle)
	require.Eventually(t, func() bool { return buildOf(t, s.ctx, s.Client, agent) == "build-2" }, time.Minute,
		50*time.Millisecond, "the agent goes on on the current build when it continues as new")
	begun = s.begin()
	result, err = s.Result(s.ctx, begun)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.Equal(t, "build-2", buildOf(t, s.ctx, s.Client, begun))
	require.Empty(t, s.upstream.Billing.Repeated(), "nothing is paid twice")
}

func TestHistoriesTellTheBuildWithoutWorkerVersioning(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, provider.Options{Seed: 3}, func(p *testdeploy.Config) { p.Build, p.Unpinned = "build-1", true })
	begun := s.begin()
	result, err := s.Result(s.ctx, begun)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	tasks := 0
	for events := s.Client.GetWorkflowHistory(s.ctx, begun, "", false, 0); events.HasNext(); {
		e, err := events.Next()
		require.NoError(t, err)
		if task := e.GetWorkflowTaskCompletedEventAttributes(); task != nil {
			tasks++
			//lint:ignore SA1019 what replaced it is empty without Worker Versioning
			require.Equal(t, "build-1", task.GetWorkerVersion().GetBuildId(), task)
		}
	}
	require.Positive(t, tasks)
}
