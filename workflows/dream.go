package workflows

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Dream is the workflow of one dream: onset, NREM, REM, integration, return. A refused, failed or cancelled dream is a
// Result as well. The workflow fails only when the spec is invalid or a handler cannot be registered.
func Dream(ctx workflow.Context, spec activities.Spec) (Result, error) {
	n := new(dreamRun)
	if err := n.setup(ctx, spec); err != nil {
		return Result{}, temporal.NewNonRetryableApplicationError(err.Error(), InvalidSpec, nil)
	}
	return n.run(ctx)
}

// dreamRun is the state of a running dream.
type dreamRun struct {
	spec       activities.Spec
	stretch    stretch
	away       time.Duration // total time between stretches
	plan       budget.Plan
	began      time.Time
	state      Progress
	endedEarly map[dream.Phase]string // phases ended early by a cap or a failure, and why

	gathered     activities.GatherResult
	fragments    []activities.MadeItem // kept, in order of capture
	shownToHooks int                   // the first so many fragments were shown to the capture hooks
	selected     []activities.MadeItem // rated "promote" at lucid capture
	patterns     []activities.MadeItem
	gists        []activities.MadeItem
	scenarios    []activities.MadeItem // kept
	staged       []activities.MadeItem
	insights     []activities.MadeItem
	inherited    int // how many of all these another dream made

	behaviour dream.Behaviour // of the agent when memories were last gathered
	descent   descent

	grouping workflow.Version // of changeSideBySide: how steps are grouped into activities

	looks    int    // how often a run that a reset made has come to look whether its dream has ended
	resetEnd string // why a run that a reset made ended at once, as its dream had ended

	attributes []temporal.SearchAttributeUpdate // not yet written

	interruptedOn []string // days, YYYY-MM-DD in UTC

	failedPhases   []string          // phases in which every call failed
	currentPhase   *phase            // the running phase
	wakes          []screen.Break    // where the dream was woken
	pendingMarks   []activities.Mark // not yet announced
	pendingTallies []int             // the indices of their tallies
}

// verdict is an error that ends a dream early with an outcome.
type verdict struct {
	outcome dream.Outcome
	reason  string
}

func (v *verdict) Error() string { return string(v.outcome) + ": " + v.reason }

func (r *dreamRun) setup(ctx workflow.Context, spec activities.Spec) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	info := workflow.GetInfo(ctx)
	r.spec = spec
	r.descent.spec = &r.spec
	r.stretch.Stretch = activities.Stretch{Agent: spec.Agent, Dream: spec.Dream, Run: originalRun(info)}
	r.plan = budget.Split(spec.Budget, spec.Knobs.Shares)
	r.began = workflow.Now(ctx)
	r.state = Progress{Dream: spec.Dream}
	r.endedEarly = map[dream.Phase]string{}
	if err := workflow.SetQueryHandler(ctx, QueryProgress,
		func() (Progress, error) { return r.state, nil }); err != nil {
		return err
	}
	r.stretch.receiveWakes(ctx)
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateWake, r.handleWake, workflow.UpdateHandlerOptions{
		Description: "stop dreaming at a token boundary; answers when the end of the stretch is recorded",
	})
}

func (r *dreamRun) run(ctx workflow.Context) (Result, error) {
	r.grouping = workflow.GetVersion(ctx, changeSideBySide, workflow.DefaultVersion, 2)
	begun, err := r.begin(ctx, 1)
	if err != nil {
		return r.finish(ctx, err)
	}
	if !begun.MayRun() {
		return r.refused(ctx, begun)
	}
	r.stretch.start(ctx, 1, begun.Epoch)
	if err := r.takeOver(ctx); err != nil {
		return r.finish(ctx, err)
	}
	for _, phase := range []func(workflow.Context, activities.BeginResult) error{
		r.runOnset, r.runNREM, r.runREM, r.runIntegration, r.runReturn,
	} {
		if err := phase(ctx, begun); err != nil {
			return r.finish(ctx, err)
		}
		if err := r.watchClock(ctx); err != nil {
			return r.finish(ctx, err)
		}
	}
	return r.finish(ctx, nil)
}

func (r *dreamRun) begin(ctx workflow.Context, number int) (activities.BeginResult, error) {
	info := workflow.GetInfo(ctx)
	r.stretch.beginning = true
	defer func() { r.stretch.beginning = false }()
	var begun activities.BeginResult
	err := workflow.ExecuteLocalActivity(quickWrite(ctx, "begin the dream"), activities.DreamBegin,
		activities.BeginRequest{
			Spec: r.spec, Workflow: info.WorkflowExecution.ID, Run: r.stretch.Run,
			Stretch: number, Now: workflow.Now(ctx), Phase: r.state.Phase,
		}).Get(ctx, &begun)
	return begun, err
}

// watchClock ends a dream that runs longer than Knobs.DreamWall. Time between stretches does not count.
func (r *dreamRun) watchClock(ctx workflow.Context) error {
	if lasted := workflow.Now(ctx).Sub(r.began) - r.away; lasted > r.spec.Knobs.DreamWall {
		return &verdict{
			dream.Exhausted,
			fmt.Sprintf("it lasted %s and may last %s", lasted.Round(time.Second), r.spec.Knobs.DreamWall),
		}
	}
	return nil
}

// outcome is how the dream ended, and why.
func (r *dreamRun) outcome(ctx workflow.Context, cause error) (dream.Outcome, string) {
	var early *verdict
	var app *temporal.ApplicationError
	if errors.As(cause, &app) && app.Type() == activities.FailFenced {
		cause = slotLost(app)
	}
	switch {
	case temporal.IsCanceledError(cause) || errors.Is(ctx.Err(), workflow.ErrCanceled):
		return dream.Canceled, "cancelled by an operator"
	case errors.As(cause, &early):
		return early.outcome, early.reason
	case cause != nil:
		return dream.Aborted, plain(cause)
	}
	for _, phase := range []dream.Phase{dream.NREM, dream.REM, dream.Integration, dream.Return} {
		if reason, ok := r.endedEarly[phase]; ok {
			return dream.Exhausted, reason
		}
	}
	if r.kept() == 0 {
		if r.gathered.Shown == 0 {
			return dream.Empty, "there were no memories to dream over"
		}
		// an onset that used up its budget does not end a dream, but here nothing followed
		if reason, ok := r.endedEarly[dream.Onset]; ok {
			return dream.Exhausted, reason
		}
		return r.nothingKept()
	}
	if len(r.failedPhases) > 0 {
		return dream.Completed, "every call of " + strings.Join(r.failedPhases, " and ") + " failed"
	}
	return dream.Completed, ""
}

// nothingKept says why a dream kept nothing although no cap ended a phase.
func (r *dreamRun) nothingKept() (dream.Outcome, string) {
	skipped := slices.IndexFunc(r.state.Tallies, func(t dream.Tally) bool {
		return t.Phase == dream.Onset && t.State == "skipped"
	})
	if skipped < 0 || r.spec.Tier != dream.Core || r.spec.Redreams != nil {
		return dream.Empty, "nothing was worth keeping"
	}
	reason := r.state.Tallies[skipped].Reason
	if reason == hypnagogia.SkipBudget {
		return dream.Exhausted, "too little of the budget remained for the onset, and the core tier does nothing else"
	}
	return dream.Empty, fmt.Sprintf("the onset was skipped (%s), and the core tier does nothing else", reason)
}

// kept counts what the dream adds to memory or the journal.
func (r *dreamRun) kept() int {
	if r.state.Outcome == dream.Undone {
		return 0
	}
	kept := len(r.fragments) + len(r.scenarios) - r.inherited
	if r.spec.Review != dream.JournalOnly {
		kept += len(r.patterns) + len(r.gists) + len(r.staged)
	}
	if r.spec.Review == dream.JournalOnly || r.spec.Redreams != nil {
		kept += len(r.insights)
	}
	return kept
}

// finish closes the dream whatever ended it, even when the workflow was cancelled.
func (r *dreamRun) finish(ctx workflow.Context, cause error) (Result, error) {
	outcome, reason := r.outcome(ctx, cause)
	disconnected, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	r.state.Outcome, r.state.Reason, r.state.Until = outcome, reason, time.Time{}
	if r.currentPhase != nil {
		r.currentPhase.end(outcome, reason)
	}
	if r.stretch.over { // between two stretches: the marks were recorded with the last one
		r.pendingMarks, r.pendingTallies = nil, nil
	}
	if err := r.announceLast(disconnected); err != nil {
		workflow.GetLogger(ctx).Warn("the last phase could not be announced", "dream", r.spec.Dream, "error", err)
	}
	ending := activities.Ending{Outcome: outcome, Reason: reason, Kept: r.kept(), Tallies: r.state.Tallies}
	var finished activities.FinishResult
	err := workflow.ExecuteLocalActivity(quickWrite(disconnected, "close the dream"), activities.DreamFinish,
		activities.FinishRequest{Stretch: r.stretch.current(disconnected), Ending: ending}).Get(disconnected, &finished)
	if err != nil {
		workflow.GetLogger(ctx).Error("the dream could not be closed; the reconciler will close it", "dream",
			r.spec.Dream,
			"error", err)
	} else { // otherwise the figures of the announced phases are the best there are
		r.state.Spent = finished.Spent
	}
	r.adopt(finished)
	if finished.Outcome != "" { // it was undone, or another end was recorded first
		outcome = finished.Outcome
		ending.Outcome, ending.Reason = finished.Outcome, finished.Reason
	}
	if r.resetEnd != "" {
		r.state.Reason = r.resetEnd
	}
	r.setAttributes(disconnected, AttrAgent.ValueSet(r.spec.Handle), AttrOutcome.ValueSet(string(outcome)),
		AttrPhase.ValueSet("ended"), AttrSpend.ValueSet(int64(r.state.Spent)))
	r.show(disconnected)
	r.report(disconnected, EndedDream{Dream: r.spec.Dream, Outcome: outcome, Epoch: r.state.Epoch})
	r.callExitHooks(disconnected, ending, finished)
	return r.result(), nil
}

// end notes that the dream ends within the phase.
func (p *phase) end(outcome dream.Outcome, reason string) {
	p.stopped = reason
	state := "stopped"
	if outcome == dream.Exhausted {
		state = "exhausted"
	}
	p.note(activities.Mark{Name: "close", State: state})
}

// adopt takes over what the closed record says otherwise than the workflow.
func (r *dreamRun) adopt(finished activities.FinishResult) {
	if len(finished.Tallies) > 0 {
		r.state.Tallies = finished.Tallies
	}
	if finished.Reason != "" {
		r.state.Reason = finished.Reason
	}
	if finished.Outcome != "" { // the recorded end, which may have no reason
		r.state.Outcome, r.state.Reason = finished.Outcome, finished.Reason
	}
}

// refused ends a workflow whose first stretch was not allowed to begin. dreamrun.DreamRun.Begin has closed the record
// of a dream that never began. When Refused is Interrupted, the stretch was over already, and its record stays open.
func (r *dreamRun) refused(ctx workflow.Context, begun activities.BeginResult) (Result, error) {
	r.state.Outcome, r.state.Reason, r.state.Spent = begun.Refused, begun.Reason, begun.Spent
	if len(begun.Tallies) > 0 { // it had ended before a reset
		r.state.Tallies, r.resetEnd = begun.Tallies, begun.Reason
	}
	r.setAttributes(ctx, AttrAgent.ValueSet(r.spec.Handle), AttrOutcome.ValueSet(string(begun.Refused)),
		AttrPhase.ValueSet("ended"))
	r.show(ctx)
	r.report(ctx, EndedDream{Dream: r.spec.Dream, Outcome: begun.Refused})
	return r.result(), nil
}

func (r *dreamRun) result() Result {
	kept := r.kept()
	if r.resetEnd != "" && r.state.Outcome != dream.Undone { // this run has made nothing, or less than the dream
		kept = 0
		for _, t := range r.state.Tallies {
			kept += t.Kept
		}
	}
	return Result{
		Dream:   r.spec.Dream,
		Outcome: r.state.Outcome,
		Reason:  r.state.Reason,
		Spent:   r.state.Spent,
		Kept:    kept,
		Tallies: r.state.Tallies,
	}
}

// report signals the agent's workflow that a stretch has ended.
func (r *dreamRun) report(ctx workflow.Context, ended EndedDream) {
	writeAttributes(ctx, r)
	if r.spec.Owner == "" {
		return
	}
	err := workflow.SignalExternalWorkflow(ctx, r.spec.Owner, "", SignalEnded, ended).Get(ctx, nil)
	if err != nil { // usually because the agent's workflow has ended; it is not needed for the dream to end
		workflow.GetLogger(ctx).Info("the end of the stretch was not reported to the agent's workflow", "owner",
			r.spec.Owner, "error", err)
	}
}

// setAttributes changes search attributes if the cluster has them. They are written before the workflow waits for a
// paid activity or reports the end of a stretch, because each write costs an event and a row of the cluster's index.
func (r *dreamRun) setAttributes(ctx workflow.Context, updates ...temporal.SearchAttributeUpdate) {
	if !r.spec.Searchable {
		return
	}
	r.attributes = append(r.attributes, updates...)
	if r.grouping < 2 {
		writeAttributes(ctx, r)
	}
}

// writeAttributes writes the search attributes that have changed.
func writeAttributes(ctx workflow.Context, r *dreamRun) {
	if len(r.attributes) == 0 {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, r.attributes...); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes were refused", "error", err)
	}
	r.attributes = nil
}

// SkipReason is why the onset of a dream is skipped when this amount remains under every cap; empty when it is not
// skipped.
func SkipReason(spec activities.Spec, remaining budget.Micros) string {
	return hypnagogia.Enter(spec.Knobs.OnsetEnabled, hypnagogia.Bounds(spec.Behaviour).Allowed, remaining, spec.Budget,
		spec.Knobs.BudgetFraction, spec.Free)
}
