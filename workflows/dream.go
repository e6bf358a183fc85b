package workflows

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Dream is the workflow of one dream: onset, NREM, REM, integration, return. It always ends with an outcome; it fails
// only when the spec itself is invalid.
func Dream(ctx workflow.Context, spec activities.Spec) (Result, error) {
	n := new(dreamRun)
	if err := n.setup(ctx, spec); err != nil {
		return Result{}, temporal.NewNonRetryableApplicationError(err.Error(), "BadOrder", nil)
	}
	return n.run(ctx)
}

// dreamRun is the state of a running dream.
type dreamRun struct {
	spec    activities.Spec
	stretch stretch
	away    time.Duration // total time between stretches
	plan    budget.Plan
	began   time.Time
	state   Progress
	ended   map[dream.Phase]string // phases ended early by a cap or a failure, and why

	gathered  activities.GatherResult
	fragments []activities.Made // kept, in order of capture
	shown     int               // the first so many fragments were shown to the capture hooks
	selected  []activities.Made // rated "promote" at lucid capture
	patterns  []activities.Made
	gists     []activities.Made
	scenarios []activities.Made // kept
	staged    []activities.Made
	insights  []activities.Made
	taken     int // how many of all these another dream made

	behaviour dream.Behaviour // of the agent when memories were last gathered
	descent   descent

	broken []string          // phases in which every call failed
	open   *phase            // the running phase
	breaks []screen.Break    // where the dream was woken
	marks  []activities.Mark // not yet announced
	marked []int             // the indices of their tallies
}

// verdict is an error that ends a dream early with an outcome.
type verdict struct {
	outcome dream.Outcome
	reason  string
}

func (v *verdict) Error() string { return string(v.outcome) + ": " + v.reason }

func (n *dreamRun) setup(ctx workflow.Context, spec activities.Spec) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	info := workflow.GetInfo(ctx)
	n.spec = spec
	n.stretch.Stretch = activities.Stretch{Agent: spec.Agent, Dream: spec.Dream, Run: info.WorkflowExecution.RunID}
	n.plan = budget.Split(spec.Budget, spec.Knobs.Shares)
	n.began = workflow.Now(ctx)
	n.state = Progress{Dream: spec.Dream}
	n.ended = map[dream.Phase]string{}
	if err := workflow.SetQueryHandler(ctx, QueryProgress,
		func() (Progress, error) { return n.state, nil }); err != nil {
		return err
	}
	n.receiveWakes(ctx)
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateWake, n.handleWake, workflow.UpdateHandlerOptions{
		Description: "stop dreaming at a token boundary; answers when the end of the stretch is recorded",
	})
}

func (n *dreamRun) run(ctx workflow.Context) (Result, error) {
	begun, err := n.begin(ctx, 1)
	if err != nil {
		return n.finish(ctx, err)
	}
	if begun.Refused != dream.Dreaming {
		return n.refused(ctx, begun)
	}
	n.beginStretch(ctx, 1, begun.Epoch)
	if err := n.takeOver(ctx); err != nil {
		return n.finish(ctx, err)
	}
	for _, phase := range []func(workflow.Context, activities.BeginResult) error{
		n.descend, n.replay, n.imagine, n.integrate, n.awaken,
	} {
		if err := phase(ctx, begun); err != nil {
			return n.finish(ctx, err)
		}
		if err := n.watchClock(ctx); err != nil {
			return n.finish(ctx, err)
		}
	}
	return n.finish(ctx, nil)
}

func (n *dreamRun) begin(ctx workflow.Context, number int) (activities.BeginResult, error) {
	info := workflow.GetInfo(ctx)
	n.stretch.beginning = true
	defer func() { n.stretch.beginning = false }()
	var begun activities.BeginResult
	err := workflow.ExecuteLocalActivity(quickWrite(ctx, "begin the dream"), "Bed.LieDown", activities.BeginRequest{
		Spec: n.spec, Workflow: info.WorkflowExecution.ID, Run: info.WorkflowExecution.RunID,
		Stretch: number, Now: workflow.Now(ctx), Phase: n.state.Phase,
	}).Get(ctx, &begun)
	return begun, err
}

// watchClock ends a dream that runs longer than Knobs.DreamWall. Time between stretches does not count.
func (n *dreamRun) watchClock(ctx workflow.Context) error {
	if lasted := workflow.Now(ctx).Sub(n.began) - n.away; lasted > n.spec.Knobs.DreamWall {
		return &verdict{
			dream.Exhausted,
			fmt.Sprintf("it lasted %s and may last %s", lasted.Round(time.Second), n.spec.Knobs.DreamWall),
		}
	}
	return nil
}

// outcome is how the dream ended, and why.
func (n *dreamRun) outcome(ctx workflow.Context, cause error) (dream.Outcome, string) {
	var early *verdict
	switch {
	case temporal.IsCanceledError(cause) || errors.Is(ctx.Err(), workflow.ErrCanceled):
		return dream.Canceled, "cancelled by an operator"
	case errors.As(cause, &early):
		return early.outcome, early.reason
	case cause != nil:
		return dream.Aborted, plain(cause)
	}
	for _, phase := range []dream.Phase{dream.NREM, dream.REM, dream.Integration, dream.Return} {
		if reason, ok := n.ended[phase]; ok {
			return dream.Exhausted, reason
		}
	}
	if n.kept() == 0 {
		if n.gathered.Shown == 0 {
			return dream.Empty, "there were no memories to dream over"
		}
		// an onset that used up its budget does not end a dream, but here nothing followed
		if reason, ok := n.ended[dream.Onset]; ok {
			return dream.Exhausted, reason
		}
		return n.nothingKept()
	}
	if len(n.broken) > 0 {
		return dream.Completed, "every call of " + strings.Join(n.broken, " and ") + " failed"
	}
	return dream.Completed, ""
}

// nothingKept says why a dream kept nothing although no cap ended a phase.
func (n *dreamRun) nothingKept() (dream.Outcome, string) {
	for _, t := range n.state.Tallies {
		switch {
		case n.spec.Tier != dream.Core || n.spec.Redreams != nil || t.Phase != dream.Onset || t.State != "skipped":
		case t.Reason == hypnagogia.SkipBudget:
			return dream.Exhausted,
				"too little of the budget remained for the onset, and the core tier does nothing else"
		default:
			return dream.Empty, fmt.Sprintf("the onset was skipped (%s), and the core tier does nothing else", t.Reason)
		}
	}
	return dream.Empty, "nothing was worth keeping"
}

// kept counts what the dream adds to memory or the journal.
func (n *dreamRun) kept() int {
	if n.state.Outcome == dream.Undone {
		return 0
	}
	kept := len(n.fragments) + len(n.scenarios) - n.taken
	if n.spec.Review != dream.JournalOnly {
		kept += len(n.patterns) + len(n.gists) + len(n.staged)
	}
	if n.spec.Review == dream.JournalOnly || n.spec.Redreams != nil {
		kept += len(n.insights)
	}
	return kept
}

// finish closes the dream whatever ended it, even when the workflow was cancelled.
func (n *dreamRun) finish(ctx workflow.Context, cause error) (Result, error) {
	outcome, reason := n.outcome(ctx, cause)
	disconnected, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	n.state.Outcome, n.state.Reason, n.state.Until = outcome, reason, time.Time{}
	if p := n.open; p != nil { // the dream ends within a phase
		p.stopped = reason
		state := "stopped"
		if outcome == dream.Exhausted {
			state = "exhausted"
		}
		p.note(activities.Mark{Name: "close", State: state})
	}
	if n.stretch.over { // between two stretches: the marks were recorded with the last one
		n.marks, n.marked = nil, nil
	}
	if err := n.announceLast(disconnected); err != nil {
		workflow.GetLogger(ctx).Warn("the last phase could not be announced", "dream", n.spec.Dream, "error", err)
	}
	ending := activities.Ending{Outcome: outcome, Reason: reason, Kept: n.kept(), Tallies: n.state.Tallies}
	var finished activities.FinishResult
	err := workflow.ExecuteLocalActivity(quickWrite(disconnected, "close the dream"), "Bed.Rise",
		activities.FinishRequest{Stretch: n.currentStretch(disconnected), Ending: ending}).Get(disconnected, &finished)
	if err != nil {
		workflow.GetLogger(ctx).Error("the dream could not be closed; the reconciler will close it", "dream",
			n.spec.Dream,
			"error", err)
	}
	if err == nil { // otherwise the figures of the announced phases are the best there are
		n.state.Spent = finished.Spent
	}
	if len(finished.Tallies) > 0 {
		n.state.Tallies = finished.Tallies
	}
	if finished.Reason != "" {
		n.state.Reason = finished.Reason
	}
	if finished.Outcome != "" { // the dream was undone
		outcome, n.state.Outcome = finished.Outcome, finished.Outcome
		ending.Outcome, ending.Reason = finished.Outcome, finished.Reason
	}
	n.setAttributes(disconnected, AttrAgent.ValueSet(n.spec.Handle), AttrOutcome.ValueSet(string(outcome)),
		AttrPhase.ValueSet("ended"), AttrSpend.ValueSet(int64(n.state.Spent)))
	n.show(disconnected)
	n.report(disconnected, Ended{Dream: n.spec.Dream, Outcome: outcome, Epoch: n.state.Epoch})
	n.callExitHooks(disconnected, ending, finished)
	return n.result(), nil
}

// refused ends a dream that was not allowed to begin. Bed.LieDown has closed its record already.
func (n *dreamRun) refused(ctx workflow.Context, begun activities.BeginResult) (Result, error) {
	n.state.Outcome, n.state.Reason = begun.Refused, begun.Reason
	n.setAttributes(ctx, AttrAgent.ValueSet(n.spec.Handle), AttrOutcome.ValueSet(string(begun.Refused)),
		AttrPhase.ValueSet("ended"))
	n.show(ctx)
	n.report(ctx, Ended{Dream: n.spec.Dream, Outcome: begun.Refused})
	return n.result(), nil
}

func (n *dreamRun) result() Result {
	return Result{
		Dream:   n.spec.Dream,
		Outcome: n.state.Outcome,
		Reason:  n.state.Reason,
		Spent:   n.state.Spent,
		Kept:    n.kept(),
		Tallies: n.state.Tallies,
	}
}

// report signals the agent's workflow that a stretch has ended.
func (n *dreamRun) report(ctx workflow.Context, ended Ended) {
	if n.spec.Owner == "" {
		return
	}
	err := workflow.SignalExternalWorkflow(ctx, n.spec.Owner, "", SignalEnded, ended).Get(ctx, nil)
	if err != nil { // the agent's workflow has ended
		workflow.GetLogger(ctx).Info("the agent's workflow is gone; the end of the stretch was not reported", "owner",
			n.spec.Owner, "error", err)
	}
}

// setAttributes writes search attributes if the cluster has them.
func (n *dreamRun) setAttributes(ctx workflow.Context, updates ...temporal.SearchAttributeUpdate) {
	if !n.spec.Searchable {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes were refused", "error", err)
	}
}

func skipReason(spec activities.Spec, begun activities.BeginResult) string {
	return SkipReason(spec, begun.Remaining)
}

// SkipReason is why the onset of a dream is skipped when this amount remains under every cap; empty when it is not
// skipped.
func SkipReason(spec activities.Spec, remaining budget.Micros) string {
	return hypnagogia.Enter(spec.Knobs.OnsetEnabled, hypnagogia.Bounds(spec.Behaviour).Allowed, remaining, spec.Budget,
		spec.Knobs.BudgetFraction, spec.Free)
}
