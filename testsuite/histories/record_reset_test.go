package histories_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/workflows"
)

// reset resets a workflow to its n-th completed workflow task.
func (s *scene) reset(workflow string, n int) {
	s.t.Helper()
	var tasks []int64
	events := s.deployment.Client.GetWorkflowHistory(s.ctx, workflow, "", false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(s.t, err)
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			tasks = append(tasks, e.GetEventId())
		}
	}
	_, err := s.deployment.Client.ResetWorkflowExecution(s.ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace:                 s.deployment.Config.Namespace,
		WorkflowExecution:         &commonpb.WorkflowExecution{WorkflowId: workflow},
		Reason:                    "recorded",
		WorkflowTaskFinishEventId: tasks[min(n, len(tasks))-1],
		RequestId:                 time.Now().String(),
	})
	require.NoError(s.t, err)
}

// resets are the histories of runs that a reset made.
var resets = []string{"dream-reset-twice", "dream-reset-after-its-end", "agent-reset-under-its-dream"}

func TestRecordResets(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 1, Each: 2 * time.Millisecond}, resting).startWorker()
	agent := s.addAgent("recorded-reset")
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	s.reaches(agent, dream.NREM)
	s.reset(begun.Dream, 3)
	s.reaches(agent, dream.REM)
	s.reset(begun.Dream, 5)
	s.ends(begun.Dream, dream.Completed, "dream-reset-twice")
	s.reset(begun.Dream, 4)
	s.ends(begun.Dream, dream.Completed, "dream-reset-after-its-end")

	begun, err = s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	s.reaches(agent, dream.Onset)
	s.reset(workflows.AgentID(agent.Handle), 1)
	s.connect(agent)
	s.resume(agent)
	_, err = s.deployment.Result(s.ctx, begun.Dream)
	require.NoError(t, err)
	s.save(workflows.AgentID(agent.Handle), "agent-reset-under-its-dream")
}
