package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// newSpec freezes one more dream spec for an agent, as another program of the deployment could.
func (s *scene) newSpec(agent dream.Agent) activities.Spec {
	s.t.Helper()
	other := s.deployment.Starter.With(func(o *starter.Options) { o.AutoPaid = true })
	o, reason, err := other.Plan(s.ctx, agent.ID, time.Now())
	require.NoError(s.t, err)
	require.Empty(s.t, reason)
	return o
}

// startDirectly starts a dream with a Temporal client, past the agent's workflow.
func (s *scene) startDirectly(o activities.Spec, id string) workflows.Result {
	s.t.Helper()
	run, err := s.deployment.Client.ExecuteWorkflow(s.ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: s.deployment.Config.Queue, WorkflowTaskTimeout: workflows.TaskTimeout,
	}, workflows.DreamType, o)
	require.NoError(s.t, err)
	var result workflows.Result
	require.NoError(s.t, run.Get(s.ctx, &result))
	return result
}

func TestOneSlotHoldsWhenTheAgentWorkflowIsTerminatedInMidDreamAndStartedAgain(t *testing.T) {
	t.Parallel()
	s := openScene(t, false, nil, nil)
	agent := s.addAgent()
	first := "dream/" + agent.Handle + "/0001"
	caught := s.moments.Await(provider.None, activity(first, dream.Onset, "1/partial-1"))
	held := s.moments.Await(provider.HangMiddle, activity(first, dream.NREM, "forward"))
	require.Equal(t, first, s.begin(agent).Dream)
	s.await(caught)
	require.NoError(t, s.deployment.Client.TerminateWorkflow(s.ctx, workflows.AgentID(agent.Handle), "", "chaos"))
	n := seed
	_, err := s.deployment.Starter.Begin(
		s.ctx,
		starter.DreamRequest{Agent: agent.Handle, Seed: &n, AsOf: testdeploy.Night},
	)
	require.ErrorIs(t, err, starter.ErrDreaming)

	second := s.newSpec(agent) // a new agent workflow that has no record of the first dream starts it
	agentState := s.deployment.Client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: workflows.AgentID(agent.Handle), TaskQueue: s.deployment.Config.Queue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
	}, workflows.AgentType, workflows.AgentRequest{Agent: agent.ID, Handle: agent.Handle})
	_, err = s.deployment.Client.UpdateWithStartWorkflow(s.ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: agentState,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateName: workflows.UpdateDream, Args: []any{second}, WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	require.NoError(t, err)
	refused := s.result(second.Dream)
	require.Equal(t, dream.Canceled, refused.Outcome)
	require.Contains(t, refused.Reason, first)

	third := s.newSpec(agent)
	refused = s.startDirectly(third, third.Dream)
	require.Equal(t, dream.Canceled, refused.Outcome)
	require.Contains(t, refused.Reason, first)

	s.await(held) // the first dream has continued all the while; its worker dies too
	s.crew.Kill(0)
	require.NoError(t, s.crew.Replace(0))
	require.Equal(t, dream.Completed, s.result(first).Outcome)
	e := s.audit()
	for _, call := range e.Book.Calls {
		require.Contains(t, call.Key, first, "no other dream made a call")
	}
}

func TestAnEndedOrRunningDreamIsNotDreamtAgainByHand(t *testing.T) {
	t.Parallel()
	s := openScene(t, false, nil, nil)
	agent := s.addAgent()
	first := s.newSpec(agent)
	caught := s.moments.Await(provider.None, activity(first.Dream, dream.Onset, "1/partial-1"))
	run, err := s.deployment.Client.ExecuteWorkflow(s.ctx,
		client.StartWorkflowOptions{ID: first.Dream, TaskQueue: s.deployment.Config.Queue}, workflows.DreamType, first)
	require.NoError(t, err)
	s.await(caught)
	twin := s.startDirectly(first, "twin")
	require.Equal(t, dream.Canceled, twin.Outcome)
	var result workflows.Result
	require.NoError(t, run.Get(s.ctx, &result))
	require.Equal(t, dream.Completed, result.Outcome, "a twin that is refused leaves the record of the first alone")
	spent := s.upstream.Billing.Total()
	twin = s.startDirectly(first, "late-twin")
	require.Equal(t, dream.Canceled, twin.Outcome)
	require.Equal(t, spent, s.upstream.Billing.Total())
	s.audit()
}

func TestATerminatedDreamIsReapedByTheNextOrByTheReconciler(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*scene, dream.Agent){
		"next dream": func(s *scene, agent dream.Agent) {
			require.Equal(t, dream.Completed, s.result(s.begin(agent).Dream).Outcome)
		},
		"reconciler": func(s *scene, _ dream.Agent) {
			reaped, err := workers.Reconcile(s.ctx, s.deployment.Ports, starter.Executions{Client: s.deployment.Client})
			require.NoError(t, err)
			require.Equal(t, 1, reaped)
			reaped, err = workers.Reconcile(s.ctx, s.deployment.Ports, starter.Executions{Client: s.deployment.Client})
			require.NoError(t, err)
			require.Zero(t, reaped, "a dream in order is left alone")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, false, nil, nil)
			agent := s.addAgent()
			id := "dream/" + agent.Handle + "/0001"
			hung := s.moments.Await(provider.HangMiddle, activity(id, dream.Onset, "2/partial-2"))
			require.Equal(t, id, s.begin(agent).Dream)
			s.await(hung)
			s.crew.Kill(0)
			require.NoError(t, s.deployment.Client.TerminateWorkflow(s.ctx, id, "", "chaos"))
			require.NoError(t, s.crew.Replace(0))
			next(s, agent)
			record, err := memory.One[*dream.Record](s.ctx, s.deployment.Store, agent.ID, id)
			require.NoError(t, err)
			require.Equal(t, dream.Canceled, record.Outcome)
			require.Equal(t, dream.Onset, record.Phases[0].Phase)
			require.Equal(t, "stopped", record.Phases[0].State)
			require.Equal(t, record.Spent, record.Phases[0].Spent)
			s.audit()
		})
	}
}

func TestAReservationMadeAfterItsDreamWasReapedIsClosedByTheReconciler(t *testing.T) {
	t.Parallel()
	s := openScene(t, false, nil, nil)
	agent := s.addAgent()
	id := "dream/" + agent.Handle + "/0001"
	hung := s.moments.Await(provider.HangMiddle, activity(id, dream.NREM, "forward"))
	require.Equal(t, id, s.begin(agent).Dream)
	s.await(hung)
	s.crew.Kill(0)
	require.NoError(t, s.deployment.Client.TerminateWorkflow(s.ctx, id, "", "chaos"))
	agentStates := starter.Executions{Client: s.deployment.Client}
	reaped, err := workers.Reconcile(s.ctx, s.deployment.Ports, agentStates)
	require.NoError(t, err)
	require.Equal(t, 1, reaped)

	ledger := s.deployment.Store.Ledger()
	_, err = ledger.Reserve(s.ctx, spend.Ask{
		Step:   id + "/nrem/backward",
		Agent:  agent.ID,
		Dream:  id,
		Phase:  "nrem",
		Amount: 7,
	})
	require.NoError(t, err, "an activity that outlived its workflow is stopped when it asks")
	reaped, err = workers.Reconcile(s.ctx, s.deployment.Ports, agentStates)
	require.NoError(t, err)
	require.Equal(t, 1, reaped)
	open, err := ledger.OpenDreams(s.ctx)
	require.NoError(t, err)
	require.Empty(t, open)
}

func TestTerminatingADreamStopsItsRunningCall(t *testing.T) {
	t.Parallel()
	s := openScene(t, false, nil, nil)
	agent := s.addAgent()
	id := "dream/" + agent.Handle + "/0001"
	hung := s.moments.Await(provider.HangMiddle, activity(id, dream.Onset, "induction"))
	require.Equal(t, id, s.begin(agent).Dream)
	s.await(hung)
	require.NoError(t, s.deployment.Client.TerminateWorkflow(s.ctx, id, "", "chaos"))
	require.NoError(t, s.upstream.Billing.Quiet(s.ctx), "its worker ends the call")
	require.NoError(t, s.crew.Stop(0))
	rows, err := s.deployment.Store.Ledger().Rows(s.ctx, spend.Query{Dream: id})
	require.NoError(t, err)
	require.Len(t, rows, 1, "an activity without a workflow makes no further call")
	require.Equal(t, spend.Partial, rows[0].State)
	require.Equal(t, "cut", rows[0].Finish)
	require.Equal(t, rows[0].Reserved, rows[0].Counted)
	reaped, err := workers.Reconcile(s.ctx, s.deployment.Ports, starter.Executions{Client: s.deployment.Client})
	require.NoError(t, err)
	require.Equal(t, 1, reaped)
	s.audit()
}
