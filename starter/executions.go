package starter

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Executions reads the state of workflows on the server.
type Executions struct {
	Client  client.Client
	Cluster string // id of the cluster and namespace; empty when unknown
}

var _ activities.Executions = Executions{}

// ClusterID names the cluster and namespace.
func (e Executions) ClusterID() string { return e.Cluster }

// Running is false when the run has closed or does not exist. A run that was reset goes on as the run that the reset
// made.
func (e Executions) Running(ctx context.Context, workflow, run string) (bool, error) {
	found, err := e.describe(ctx, workflow, run)
	return status(found) == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, err
}

// Exists says whether the server has a workflow, running or closed. It deletes one that closed longer ago than the
// namespace keeps workflows.
func (e Executions) Exists(ctx context.Context, workflow string) (bool, error) {
	found, err := e.describe(ctx, workflow, "")
	return found != nil, err
}

// Ended is how a dream ended by what its workflow returned.
func (e Executions) Ended(ctx context.Context, workflow, run string) (activities.Ending, error) {
	found, err := e.describe(ctx, workflow, run)
	if err != nil {
		return activities.Ending{}, err
	}
	switch status(found) {
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
	case enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return activities.Ending{Reason: "its workflow timed out"}, nil
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:
		return activities.Ending{Reason: "its workflow failed"}, nil
	case enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED:
		return activities.Ending{Reason: "its workflow is gone: Temporal does not know it"}, nil
	default:
		return activities.Ending{Reason: "its workflow was terminated"}, nil
	}
	var result workflows.Result
	id := found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	if err := e.Client.GetWorkflow(ctx, workflow, id).Get(ctx, &result); err != nil {
		return activities.Ending{}, fmt.Errorf("read how %s ended: %w", workflow, sealed(err))
	}
	reason := "its end is not in the store; its workflow says so"
	if result.Spent > 0 { // a run that a reset made may know of nothing that was spent before
		reason += fmt.Sprintf(", and that it spent %s", result.Spent)
	}
	if result.Reason != "" {
		reason = result.Reason + "; " + reason
	}
	return activities.Ending{Outcome: result.Outcome, Reason: reason, Kept: result.Kept, Tallies: result.Tallies}, nil
}

// Paused is how a dream was interrupted whose workflow waits to go on. A workflow with an activity or a task under way
// does not wait, so only one that is idle is asked, which costs a worker a replay.
func (e Executions) Paused(ctx context.Context, workflow, run string) (activities.Ending, time.Time, error) {
	found, err := e.describe(ctx, workflow, run)
	if err != nil || status(found) != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING ||
		len(found.GetPendingActivities()) > 0 || found.GetPendingWorkflowTask() != nil {
		return activities.Ending{}, time.Time{}, err
	}
	id := found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	answer, err := e.Client.QueryWorkflow(ctx, workflow, id, workflows.QueryProgress)
	if err != nil {
		return activities.Ending{}, time.Time{}, fmt.Errorf("ask %s how far it is: %w", workflow, err)
	}
	var p workflows.Progress
	if err := answer.Get(&p); err != nil {
		return activities.Ending{}, time.Time{}, fmt.Errorf("read how far %s is: %w", workflow, sealed(err))
	}
	if p.Outcome != dream.Interrupted {
		return activities.Ending{}, time.Time{}, nil
	}
	return activities.Ending{Outcome: p.Outcome, Reason: p.Reason, Tallies: p.Tallies}, p.Until, nil
}

// TellPaused tells the workflow of an agent that a dream waits to go on. An agent without a workflow learns it from the
// store.
func (e Executions) TellPaused(ctx context.Context, agent dream.Agent, dreamID string, until time.Time) error {
	err := signalRunning(ctx, e.Client, workflows.AgentID(agent.Handle), workflows.SignalEnded,
		workflows.EndedDream{Dream: dreamID, Outcome: dream.Interrupted, Until: until})
	if err != nil {
		return fmt.Errorf("tell the workflow of %s that %s waits: %w", agent.Handle, dreamID, err)
	}
	return nil
}

// describe reads a run, or the newest one that resets have made of it; nil when the server does not know it.
func (e Executions) describe(
	ctx context.Context, workflow, run string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	for workflow != "" {
		found, err := e.Client.DescribeWorkflowExecution(ctx, workflow, run)
		if notFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", workflow, err)
		}
		next := found.GetWorkflowExtendedInfo().GetResetRunId()
		if next == "" || next == run {
			return found, nil
		}
		run = next
	}
	return nil, nil
}

func status(found *workflowservice.DescribeWorkflowExecutionResponse) enumspb.WorkflowExecutionStatus {
	return found.GetWorkflowExecutionInfo().GetStatus()
}
