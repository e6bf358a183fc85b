package fleet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/workflows"
)

// reset resets a workflow to its n-th completed workflow task, or to the last one where it has fewer.
func (r *rig) reset(workflow string, n int) {
	r.t.Helper()
	var task int64
	events := r.Client.GetWorkflowHistory(r.ctx, workflow, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() && n > 0 {
		e, err := events.Next()
		require.NoError(r.t, err)
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			task = e.GetEventId()
			n--
		}
	}
	_, err := r.Client.ResetWorkflowExecution(r.ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace:                 r.server.Namespace,
		WorkflowExecution:         &commonpb.WorkflowExecution{WorkflowId: workflow},
		Reason:                    "tried",
		WorkflowTaskFinishEventId: task,
		RequestId:                 time.Now().String(),
	})
	require.NoError(r.t, err)
}

// last is the last workflow task.
const last = 1 << 20

// A dream that runs goes on after a reset of its workflow, whatever its point, with what it has bought.
func TestAResetDreamGoesOn(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]int{"FromItsBeginning": 1, "FromTheMiddle": 3, "FromItsLastTask": last} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			id := r.begin()
			r.paying(id, 8)
			r.reset(id, task)
			result, err := r.Result(r.ctx, id)
			require.NoError(t, err)
			require.Equal(t, dream.Completed, result.Outcome, result.Reason)
			require.Equal(t, result.Spent, r.record(id).Spent)
			require.GreaterOrEqual(t, result.Spent, r.paid.Billing.Book().Total, "what the provider billed")
			r.requireTrue()
		})
	}
}

// A dream that had ended ends again as it did, at once and for nothing, and says what to do; also while its agent is
// awake.
func TestAResetDreamThatHadEndedPaysNothingAgain(t *testing.T) {
	t.Parallel()
	for name, wake := range map[string]func(r *rig){"Asleep": func(*rig) {}, "Awake": (*rig).connect} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			id := r.dream()
			kept := 0
			for _, tally := range r.record(id).Phases {
				kept += tally.Kept
			}
			require.Positive(t, kept)
			before := r.spent(spend.Query{})
			wake(r)
			for _, task := range []int{1, 3, last} {
				r.reset(id, task)
				result, err := r.Result(r.ctx, id)
				require.NoError(t, err)
				require.Equal(t, dream.Completed, result.Outcome, result.Reason)
				require.Equal(t, before, result.Spent, "the money of its result")
				require.Equal(t, kept, result.Kept)
				require.Equal(t, r.record(id).Phases, result.Tallies)
				require.Contains(t, result.Reason, "oneiros dreams redream dream/iris/0001")
				require.Equal(t, before, r.spent(spend.Query{}))
			}
			r.requireTrue()
		})
	}
}

// A resumed dream that was reset to a point before its newest stretch ends, and its record says why and what it spent.
func TestAResumedDreamThatWasResetToItsBeginningEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.visit()
	id := r.begin()
	r.paying(id, 4)
	r.visit()
	_, err := r.Starter.Resume(r.ctx, r.agent.ID)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.record(id).Stretches == 2 }, patience, often)
	r.reset(id, 1)
	result, err := r.Result(r.ctx, id)
	require.NoError(t, err)
	require.Equal(t, dream.Interrupted, result.Outcome, result.Reason)
	require.Contains(t, result.Reason, "reset to a point before its stretch 2")
	r.requireTrue()
	record := r.record(id)
	require.Equal(t, dream.Interrupted, record.Outcome)
	require.Contains(t, record.Reason, "reset to a point before its stretch 2")
	require.NotContains(t, record.Reason, "$")
	require.Positive(t, record.Spent)
}

// An agent whose workflow was reset, and one whose dream was, can be woken and goes on with the dream.
func TestAResetAgentDreamsWakesAndResumes(t *testing.T) {
	t.Parallel()
	for name, reset := range map[string]func(r *rig, dream string){
		"ToItsBeginning":  func(r *rig, _ string) { r.reset(workflows.AgentID(r.agent.Handle), 1) },
		"ToTheMiddle":     func(r *rig, _ string) { r.reset(workflows.AgentID(r.agent.Handle), 4) },
		"ToItsLastTask":   func(r *rig, _ string) { r.reset(workflows.AgentID(r.agent.Handle), last) },
		"OfItsDreamAlone": func(r *rig, dream string) { r.reset(dream, last) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			r.visit()
			id := r.begin()
			r.paying(id, 4)
			reset(r, id)
			r.visit()
			require.True(t, r.record(id).Resumable(), "%s: %s", r.record(id).Outcome, r.record(id).Reason)
			begun, err := r.Starter.Resume(r.ctx, r.agent.ID)
			require.NoError(t, err)
			require.Equal(t, id, begun.Dream)
			result, err := r.Result(r.ctx, id)
			require.NoError(t, err)
			require.Equal(t, dream.Completed, result.Outcome, result.Reason)
			r.requireTrue()
		})
	}
}
