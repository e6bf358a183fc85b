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

// Dream is one night: onset, NREM, REM, integration, return (O1). It always ends with a stated outcome; it fails
// only when the order itself is wrong.
func Dream(ctx workflow.Context, spec activities.Spec) (Result, error) {
	n := new(dreamRun)
	if err := n.setup(ctx, spec); err != nil {
		return Result{}, temporal.NewNonRetryableApplicationError(err.Error(), "BadOrder", nil)
	}
	return n.run(ctx)
}

// dreamRun is the state of a dream and what it holds on to.
type dreamRun struct {
	spec    activities.Spec
	stretch stretch
	away    time.Duration // between sittings
	plan    budget.Plan
	began   time.Time
	state   Progress
	ended   map[dream.Phase]string // phases that a cap or a failure ended early, and why

	gathered  activities.GatherResult
	fragments []activities.Made // kept, in order of capture
	shown     int               // of these, the first so many, to the hooks of the capture
	selected  []activities.Made // rated promote at lucid capture
	patterns  []activities.Made
	gists     []activities.Made
	scenarios []activities.Made // kept
	staged    []activities.Made
	insights  []activities.Made
	taken     int // of all these, what another dream has made

	behaviour dream.Behaviour // how the agent did when memories were last gathered
	descent   descent

	broken []string          // phases whose every call failed
	open   *phase            // the phase under way
	breaks []screen.Break    // where it was woken
	marks  []activities.Mark // not announced yet
	marked []int             // the tallies they belong to
}

// verdict ends a dream early.
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
	n.hear(ctx)
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateWake, n.asked, workflow.UpdateHandlerOptions{
		Description: "stop dreaming at a token boundary; answers when the sitting is booked",
	})
}

func (n *dreamRun) run(ctx workflow.Context) (Result, error) {
	lain, err := n.begin(ctx, 1)
	if err != nil {
		return n.finish(ctx, err)
	}
	if lain.Refused != dream.Dreaming {
		return n.refused(ctx, lain)
	}
	n.sit(ctx, 1, lain.Epoch)
	if err := n.takeOver(ctx); err != nil {
		return n.finish(ctx, err)
	}
	for _, phase := range []func(workflow.Context, activities.BeginResult) error{
		n.descend, n.replay, n.imagine, n.integrate, n.awaken,
	} {
		if err := phase(ctx, lain); err != nil {
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
	n.stretch.lying = true
	defer func() { n.stretch.lying = false }()
	var lain activities.BeginResult
	err := workflow.ExecuteLocalActivity(quickWrite(ctx, "lie down"), "Bed.LieDown", activities.BeginRequest{
		Spec: n.spec, Workflow: info.WorkflowExecution.ID, Run: info.WorkflowExecution.RunID,
		Stretch: number, Now: workflow.Now(ctx), Phase: n.state.Phase,
	}).Get(ctx, &lain)
	return lain, err
}

// watchClock ends a dream that outlasts its wall; the time between its sittings does not count.
func (n *dreamRun) watchClock(ctx workflow.Context) error {
	if lasted := workflow.Now(ctx).Sub(n.began) - n.away; lasted > n.spec.Knobs.DreamWall {
		return &verdict{
			dream.Exhausted,
			fmt.Sprintf("it lasted %s and may last %s", lasted.Round(time.Second), n.spec.Knobs.DreamWall),
		}
	}
	return nil
}

// outcome says how the night ended, and why.
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
		if reason, ok := n.ended[dream.Onset]; ok { // a spent onset alone is no end, but here nothing followed it
			return dream.Exhausted, reason
		}
		return n.nothing()
	}
	if len(n.broken) > 0 {
		return dream.Completed, "every call of " + strings.Join(n.broken, " and ") + " failed"
	}
	return dream.Completed, ""
}

// nothing says why a night in which no cap ended a phase has nothing to show.
func (n *dreamRun) nothing() (dream.Outcome, string) {
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

// kept counts what will outlast the night.
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

// finish closes the night, whatever ended it; it is done even when the workflow was cancelled.
func (n *dreamRun) finish(ctx workflow.Context, cause error) (Result, error) {
	outcome, reason := n.outcome(ctx, cause)
	free, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	n.state.Outcome, n.state.Reason, n.state.Until = outcome, reason, time.Time{}
	if p := n.open; p != nil { // the dream ends in its midst
		p.stopped = reason
		state := "stopped"
		if outcome == dream.Exhausted {
			state = "exhausted"
		}
		p.note(activities.Mark{Name: "close", State: state})
	}
	if n.stretch.over { // it ends between two sittings: what there is to announce was booked with the last one
		n.marks, n.marked = nil, nil
	}
	if err := n.lastWords(free); err != nil {
		workflow.GetLogger(ctx).Warn("the last phase could not be announced", "dream", n.spec.Dream, "error", err)
	}
	ending := activities.Ending{Outcome: outcome, Reason: reason, Kept: n.kept(), Tallies: n.state.Tallies}
	var risen activities.FinishResult
	err := workflow.ExecuteLocalActivity(quickWrite(free, "rise"), "Bed.Rise",
		activities.FinishRequest{Stretch: n.seat(free), Ending: ending}).Get(free, &risen)
	if err != nil {
		workflow.GetLogger(ctx).Error("the night could not be closed; it will be reconciled", "dream", n.spec.Dream,
			"error", err)
	}
	if err == nil { // otherwise what the phases have announced is the best that is known
		n.state.Spent = risen.Spent
	}
	if len(risen.Tallies) > 0 {
		n.state.Tallies = risen.Tallies
	}
	if risen.Reason != "" {
		n.state.Reason = risen.Reason
	}
	if risen.Outcome != "" { // it was undone
		outcome, n.state.Outcome = risen.Outcome, risen.Outcome
		ending.Outcome, ending.Reason = risen.Outcome, risen.Reason
	}
	n.find(free, AttrAgent.ValueSet(n.spec.Handle), AttrOutcome.ValueSet(string(outcome)),
		AttrPhase.ValueSet("ended"), AttrSpend.ValueSet(int64(n.state.Spent)))
	n.show(free)
	n.report(free, Ended{Dream: n.spec.Dream, Outcome: outcome, Epoch: n.state.Epoch})
	n.leftTo(free, ending, risen)
	return n.result(), nil
}

// refused ends a dream that never began; LieDown has closed its record already.
func (n *dreamRun) refused(ctx workflow.Context, lain activities.BeginResult) (Result, error) {
	n.state.Outcome, n.state.Reason = lain.Refused, lain.Reason
	n.find(ctx, AttrAgent.ValueSet(n.spec.Handle), AttrOutcome.ValueSet(string(lain.Refused)),
		AttrPhase.ValueSet("ended"))
	n.show(ctx)
	n.report(ctx, Ended{Dream: n.spec.Dream, Outcome: lain.Refused})
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

// report tells the agent's life how a sitting ended.
func (n *dreamRun) report(ctx workflow.Context, ended Ended) {
	if n.spec.Owner == "" {
		return
	}
	err := workflow.SignalExternalWorkflow(ctx, n.spec.Owner, "", SignalEnded, ended).Get(ctx, nil)
	if err != nil { // the agent's life has ended; nobody is left to tell
		workflow.GetLogger(ctx).Info("nobody to tell that the sitting has ended", "owner", n.spec.Owner, "error", err)
	}
}

// find writes search attributes, where the cluster has them.
func (n *dreamRun) find(ctx workflow.Context, updates ...temporal.SearchAttributeUpdate) {
	if !n.spec.Searchable {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes were refused", "error", err)
	}
}

func skipReason(o activities.Spec, lain activities.BeginResult) string {
	return SkipReason(o, lain.Remaining)
}

// SkipReason is why the onset of an order is skipped when so much remains under every cap; empty: it is not.
func SkipReason(o activities.Spec, remaining budget.Micros) string {
	return hypnagogia.Enter(o.Knobs.OnsetEnabled, hypnagogia.Bounds(o.Behaviour).Allowed, remaining, o.Budget,
		o.Knobs.BudgetFraction, o.Free)
}
