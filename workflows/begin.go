package workflows

import (
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/triggers"
)

// begin starts a dream as a child workflow that outlives this run. An interrupted dream is released first.
func (a *agentRun) begin(ctx workflow.Context, spec activities.Spec) (StartedDream, error) {
	a.catchUp(ctx)
	if a.state.State == Dreaming {
		return StartedDream{}, a.alreadyDreaming()
	}
	if a.state.State != Sleeping {
		return StartedDream{}, a.heldAwake()
	}
	broken := a.state.Interrupted
	a.state.State = Dreaming
	a.state.Dream = &StartedDream{Dream: spec.Dream, Workflow: spec.Dream}
	a.state.Interrupted = nil
	a.changed = true
	a.dream = nil // it belonged to an earlier dream
	restoreCalls := a.state.Triggering.answer(workflow.Now(ctx))
	if broken != nil {
		a.send(ctx, broken.StartedDream, SignalRelease, "another dream was begun")
	}
	spec.Owner = workflow.GetInfo(ctx).WorkflowExecution.ID
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            spec.Dream,
		WorkflowTaskTimeout:   TaskTimeout,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		StaticSummary:         string(spec.Tier) + " dream of " + spec.Handle,
		Memo:                  DreamMemo(spec),
	}), DreamType, spec)
	var execution workflow.Execution
	if err := child.GetChildWorkflowExecution().Get(ctx, &execution); err != nil {
		a.state.Dream = nil
		if a.state.State == Dreaming {
			a.state.State = Sleeping
		}
		a.changed = true
		restoreCalls()
		return StartedDream{}, fmt.Errorf("begin %s: %w", spec.Dream, err)
	}
	a.state.Dreams++
	a.changed = true
	if a.state.Dream != nil && a.state.Dream.Dream == spec.Dream { // it may have ended already
		a.dream, a.state.Dream.Run = child, execution.RunID
	}
	return StartedDream{Dream: spec.Dream, Workflow: spec.Dream, Run: execution.RunID}, nil
}

// anyRun is the run id of signals to dreams: a dream that was reset goes on as another run.
const anyRun = ""

// send signals a dream without waiting for delivery; awaitSent waits before the run ends. A failure only means that
// the dream has ended.
func (a *agentRun) send(ctx workflow.Context, to StartedDream, signal string, arg any) {
	a.sent = append(a.sent, workflow.SignalExternalWorkflow(ctx, to.Workflow, anyRun, signal, arg))
}

// awaitSent waits until every signal that was sent is delivered or has failed.
func (a *agentRun) awaitSent(ctx workflow.Context) {
	for _, f := range a.sent {
		if err := f.Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Info("a signal did not reach its dream, which has ended", "error", err)
		}
	}
	a.sent = nil
}

// mayResume is the validator of the resume update: it refuses when the agent is not asleep or has no interrupted
// dream.
func (a *agentRun) mayResume(workflow.Context) error {
	switch {
	case a.state.State == Dreaming && a.state.Dream != nil && !a.dreamClosed() && a.ended.Len() == 0:
		return a.alreadyDreaming()
	case a.state.State == Waking || a.state.State == Awake:
		return a.heldAwake()
	case a.state.Interrupted == nil && a.ended.Len() == 0:
		return temporal.NewNonRetryableApplicationError(a.request.Handle+" has no interrupted dream to resume",
			NothingToResume, nil)
	}
	return nil
}

// handleResume handles the resume update.
func (a *agentRun) handleResume(ctx workflow.Context) (StartedDream, error) {
	a.catchUp(ctx)
	if err := a.mayResume(ctx); err != nil {
		return StartedDream{}, err
	}
	return a.resumeDream(ctx)
}

// resumeDream signals the interrupted dream to go on. Its workflow begins the next stretch, or reports why it cannot.
func (a *agentRun) resumeDream(ctx workflow.Context) (StartedDream, error) {
	broken := *a.state.Interrupted
	begun := broken.StartedDream
	a.state.State = Dreaming
	a.state.Dream = &begun
	a.state.Interrupted = nil
	a.changed = true
	if err := workflow.SignalExternalWorkflow(ctx, broken.Workflow, anyRun, SignalResume, true).Get(ctx,
		nil); err != nil {
		if a.state.Dream != nil && a.state.Dream.Dream == broken.Dream {
			a.state.Dream = nil
			if a.state.State == Dreaming {
				a.state.State = Sleeping
			}
		}
		a.changed = true
		return StartedDream{}, fmt.Errorf("resume %s: %w", broken.Dream, err)
	}
	return broken.StartedDream, nil
}

// beginAutomatic begins a dream without a request, or resumes the interrupted one. If the store has a newer memory
// than LastActive, idleness counts from that memory. Any other reason against a dream is kept in LastReason, and the
// next attempt is one gap later.
func (a *agentRun) beginAutomatic(ctx workflow.Context) {
	var plan activities.PlanResult
	request := activities.PlanRequest{
		Agent: a.request.Agent, Now: workflow.Now(ctx), IdleTimeout: a.state.Settings.IdleTimeout,
		Windows: a.state.Settings.Windows, Quiet: a.state.Settings.Quiet,
		Jitter: circadian.Jitter(a.request.Agent, a.state.Dreams, a.state.Settings.Jitter),
	}
	if f := a.calling(request.Now); f != nil {
		request.IdleTimeout = a.state.Settings.quiet()
		if f.Kind == dream.OnRequest {
			request.IdleTimeout, request.Windows, request.Quiet = 0, nil, nil
		}
	}
	if b := a.state.Interrupted; b != nil && b.Until.After(request.Now) {
		request.Resume = &activities.Stretch{Agent: a.request.Agent, Dream: b.Dream, Run: b.Run}
	}
	err := workflow.ExecuteLocalActivity(shortly(ctx, "plan a dream"), activities.AgentPlan, request).Get(ctx, &plan)
	a.removed = plan.Removed
	if a.removed {
		return
	}
	if plan.Active.After(a.state.LastActive) {
		a.state.LastActive = plan.Active
	}
	a.state.NotBefore = plan.NotBefore
	if plan.Awake.After(a.state.NotBefore) {
		a.state.NotBefore = plan.Awake
		return
	}
	if err == nil && plan.Reason == "" && plan.Spec.Dream == "" && !plan.Resume {
		return
	}
	if err == nil && plan.Reason == "" && a.state.State == Sleeping {
		if plan.Resume {
			if a.state.Interrupted != nil {
				_, err = a.resumeDream(ctx)
			}
		} else {
			_, err = a.begin(ctx, plan.Spec)
		}
	}
	a.state.LastReason = plan.Reason
	if err != nil {
		a.state.LastReason = plain(err)
	}
	if a.state.LastReason != "" && plan.NotBefore.IsZero() {
		a.state.LastTry = a.retryBase(workflow.Now(ctx), err)
	}
	if plan.Reason != "" { // the reason reaches the person who asked, who may ask again
		a.state.Triggering.drop(func(f triggers.Fire) bool { return f.Kind == dream.OnRequest })
	}
}

// retryBase is the time from which the gap after a failed plan counts. When the store or a server was unreachable it
// lies far enough in the past that the plan is retried after TryAgain. A dream that is to be resumed or that a person
// requested has a short gap already.
func (a *agentRun) retryBase(now time.Time, err error) time.Time {
	s, p := a.state.Settings, a.state.Triggering.Pending
	var app *temporal.ApplicationError
	if err == nil || s.TryAgain <= 0 || s.TryAgain >= s.MinGap || a.state.Interrupted != nil ||
		p != nil && p.Kind == dream.OnRequest ||
		errors.As(err, &app) && app.NonRetryable() {
		return now
	}
	return now.Add(s.TryAgain - s.MinGap)
}

// show writes the summary that Temporal's tools display.
func (a *agentRun) show(ctx workflow.Context) {
	a.showState(ctx)
	text := a.state.State
	switch {
	case a.state.Dream != nil:
		text += " " + a.state.Dream.Dream
	case a.state.State == Awake:
		text += " since " + a.state.Since.UTC().Format("2006-01-02 15:04:05 MST")
	case a.state.Interrupted != nil:
		text += "; " + a.state.Interrupted.Dream + " was interrupted and may be resumed until " +
			a.state.Interrupted.Until.UTC().Format("2006-01-02 15:04 MST")
	}
	setDetails(ctx,
		fmt.Sprintf("%s; %d dreams and %d wakes so far. %s", text, a.state.Dreams, a.state.Wakes, a.state.LastReason))
}

// showState writes the agent's search attributes when its state has changed. The state waking is too short to be
// shown.
func (a *agentRun) showState(ctx workflow.Context) {
	if !a.state.Settings.Searchable || a.indexed == a.state.State || a.state.State == Waking {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, AttrAgent.ValueSet(a.request.Handle),
		AttrAgentState.ValueSet(a.state.State)); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes were refused", "error", err)
	}
	a.indexed = a.state.State
}
