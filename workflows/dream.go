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
)

// Dream is one night: onset, NREM, REM, integration, return (O1). It always ends with a stated outcome (Z7); it fails
// only when the order itself is wrong.
func Dream(ctx workflow.Context, order activities.Order) (Result, error) {
	n := new(night)
	if err := n.setup(ctx, order); err != nil {
		return Result{}, temporal.NewNonRetryableApplicationError(err.Error(), "BadOrder", nil)
	}
	return n.run(ctx)
}

// night is the state of a dream and what it holds on to.
type night struct {
	order   activities.Order
	sitting activities.Sitting
	plan    budget.Plan
	began   time.Time
	state   Progress
	ended   map[dream.Phase]string // phases that a cap or a failure ended early, and why

	gathered  activities.GatherResult
	fragments []activities.Made // kept, in order of capture
	selected  []activities.Made // rated promote at lucid capture
	patterns  []activities.Made
	gists     []activities.Made
	scenarios []activities.Made // kept
	staged    []activities.Made
	insights  []activities.Made

	broken []string          // phases whose every call failed
	marks  []activities.Mark // not announced yet
	marked []int             // the tallies they belong to
}

// verdict ends a dream early.
type verdict struct {
	outcome dream.Outcome
	reason  string
}

func (v *verdict) Error() string { return string(v.outcome) + ": " + v.reason }

func (n *night) setup(ctx workflow.Context, order activities.Order) error {
	if err := order.Validate(); err != nil {
		return err
	}
	info := workflow.GetInfo(ctx)
	n.order = order
	n.sitting = activities.Sitting{Agent: order.Agent, Dream: order.Dream, Run: info.WorkflowExecution.RunID}
	n.plan = budget.Split(order.Budget, order.Knobs.Shares)
	n.began = workflow.Now(ctx)
	n.state = Progress{Dream: order.Dream}
	n.ended = map[dream.Phase]string{}
	return workflow.SetQueryHandler(ctx, QueryProgress, func() (Progress, error) { return n.state, nil })
}

func (n *night) run(ctx workflow.Context) (Result, error) {
	lain, err := n.lieDown(ctx)
	if err != nil {
		return n.rise(ctx, err)
	}
	if lain.Refused != dream.Dreaming {
		return n.refused(ctx, lain)
	}
	for _, phase := range []func(workflow.Context, activities.LieDownResult) error{
		n.descend, n.replay, n.imagine, n.integrate, n.awaken,
	} {
		if err := phase(ctx, lain); err != nil {
			return n.rise(ctx, err)
		}
		if err := n.watchClock(ctx); err != nil {
			return n.rise(ctx, err)
		}
	}
	return n.rise(ctx, nil)
}

func (n *night) lieDown(ctx workflow.Context) (activities.LieDownResult, error) {
	info := workflow.GetInfo(ctx)
	var lain activities.LieDownResult
	err := workflow.ExecuteLocalActivity(quickWrite(ctx, "lie down"), "Bed.LieDown", activities.LieDownRequest{
		Order: n.order, Workflow: info.WorkflowExecution.ID, Run: info.WorkflowExecution.RunID,
	}).Get(ctx, &lain)
	return lain, err
}

// watchClock ends a dream that outlasts its wall.
func (n *night) watchClock(ctx workflow.Context) error {
	if lasted := workflow.Now(ctx).Sub(n.began); lasted > n.order.Knobs.DreamWall {
		return &verdict{dream.Exhausted, fmt.Sprintf("it lasted %s and may last %s", lasted.Round(time.Second), n.order.Knobs.DreamWall)}
	}
	return nil
}

// outcome says how the night ended, and why (Z7).
func (n *night) outcome(ctx workflow.Context, cause error) (dream.Outcome, string) {
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
func (n *night) nothing() (dream.Outcome, string) {
	for _, t := range n.state.Tallies {
		switch {
		case n.order.Tier != dream.Core || t.Phase != dream.Onset || t.State != "skipped":
		case t.Reason == hypnagogia.SkipBudget:
			return dream.Exhausted, "too little of the budget remained for the onset, and the core tier does nothing else"
		default:
			return dream.Empty, fmt.Sprintf("the onset was skipped (%s), and the core tier does nothing else", t.Reason)
		}
	}
	return dream.Empty, "nothing was worth keeping"
}

// kept counts what will outlast the night.
func (n *night) kept() int {
	return len(n.fragments) + len(n.patterns) + len(n.gists) + len(n.scenarios) + len(n.staged)
}

// rise closes the night, whatever ended it; it is done even when the workflow was cancelled.
func (n *night) rise(ctx workflow.Context, cause error) (Result, error) {
	outcome, reason := n.outcome(ctx, cause)
	free, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	n.state.Outcome, n.state.Reason = outcome, reason
	if err := n.announce(free); err != nil {
		workflow.GetLogger(ctx).Warn("the last phase could not be announced", "dream", n.order.Dream, "error", err)
	}
	ending := activities.Ending{Outcome: outcome, Reason: reason, Kept: n.kept(), Tallies: n.state.Tallies}
	var risen activities.RiseResult
	err := workflow.ExecuteLocalActivity(quickWrite(free, "rise"), "Bed.Rise", activities.RiseRequest{Sitting: n.sitting, Ending: ending}).Get(free, &risen)
	if err != nil {
		workflow.GetLogger(ctx).Error("the night could not be closed; it will be reconciled", "dream", n.order.Dream, "error", err)
	}
	n.state.Spent = risen.Spent
	if len(risen.Tallies) > 0 {
		n.state.Tallies = risen.Tallies
	}
	n.find(free, AttrAgent.ValueSet(n.order.Handle), AttrOutcome.ValueSet(string(outcome)), AttrPhase.ValueSet("ended"), AttrSpend.ValueSet(int64(risen.Spent)))
	n.show(free)
	n.tellOwner(free, outcome)
	return n.result(), nil
}

// refused ends a dream that never began; LieDown has closed its record already.
func (n *night) refused(ctx workflow.Context, lain activities.LieDownResult) (Result, error) {
	n.state.Outcome, n.state.Reason = lain.Refused, lain.Reason
	n.find(ctx, AttrAgent.ValueSet(n.order.Handle), AttrOutcome.ValueSet(string(lain.Refused)), AttrPhase.ValueSet("ended"))
	n.show(ctx)
	n.tellOwner(ctx, lain.Refused)
	return n.result(), nil
}

func (n *night) result() Result {
	return Result{
		Dream: n.order.Dream, Outcome: n.state.Outcome, Reason: n.state.Reason, Spent: n.state.Spent, Kept: n.kept(), Tallies: n.state.Tallies,
	}
}

func (n *night) tellOwner(ctx workflow.Context, outcome dream.Outcome) {
	if n.order.Owner == "" {
		return
	}
	err := workflow.SignalExternalWorkflow(ctx, n.order.Owner, "", SignalEnded, Ended{Dream: n.order.Dream, Outcome: outcome}).Get(ctx, nil)
	if err != nil { // the agent's life has ended; nobody is left to tell
		workflow.GetLogger(ctx).Info("nobody to tell that the dream has ended", "owner", n.order.Owner, "error", err)
	}
}

// find writes search attributes, where the cluster has them.
func (n *night) find(ctx workflow.Context, updates ...temporal.SearchAttributeUpdate) {
	if !n.order.Searchable {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes were refused", "error", err)
	}
}

// phase is the bookkeeping of one part of the night.
type phase struct {
	n       *night
	name    dream.Phase
	limit   budget.Micros
	began   time.Time
	tally   int // its place in the tallies
	made    int
	kept    int
	cycles  int
	failed  int
	bought  int
	stopped string // why it ended early; empty when it ran to its end
}

// enter opens a phase and announces it, together with the end of the one before.
func (n *night) enter(ctx workflow.Context, name dream.Phase, limit budget.Micros, open activities.Mark) (*phase, error) {
	p := &phase{n: n, name: name, limit: limit, began: workflow.Now(ctx), tally: len(n.state.Tallies)}
	n.state.Phase = name
	n.state.Tallies = append(n.state.Tallies, dream.Tally{Phase: name, State: "running", Cap: limit})
	updates := []temporal.SearchAttributeUpdate{AttrAgent.ValueSet(n.order.Handle), AttrPhase.ValueSet(string(name))}
	if name == dream.Onset {
		updates = append(updates, AttrDepth.ValueSet(string(dream.Shallow)))
	}
	n.find(ctx, updates...)
	open.Name, open.State = "open", "running"
	p.note(open)
	return p, n.announce(ctx)
}

// skip records a phase that is not dreamt.
func (n *night) skip(ctx workflow.Context, name dream.Phase, reason string) {
	p := &phase{n: n, name: name, began: workflow.Now(ctx), tally: len(n.state.Tallies), stopped: reason}
	n.state.Tallies = append(n.state.Tallies, dream.Tally{Phase: name, State: "skipped", Reason: reason})
	p.note(activities.Mark{Name: "skip", State: "skipped"})
}

// note keeps a mark to be announced with the next ones.
func (p *phase) note(m activities.Mark) {
	m.Phase, m.Reason, m.Cap, m.Started = p.name, p.stopped, p.limit, p.began
	m.Made, m.Kept, m.Cycles, m.Failed = p.made, p.kept, p.cycles, p.failed
	p.n.marks = append(p.n.marks, m)
	p.n.marked = append(p.n.marked, p.tally)
}

// announce writes the marks that were noted and takes the phases' figures from the ledger.
func (n *night) announce(ctx workflow.Context) error {
	if len(n.marks) == 0 {
		return nil
	}
	var tallies []dream.Tally
	last := n.marks[len(n.marks)-1]
	request := activities.MarkRequest{Sitting: n.sitting, Now: workflow.Now(ctx), Marks: n.marks}
	places := n.marked
	n.marks, n.marked = nil, nil
	err := workflow.ExecuteLocalActivity(quickWrite(ctx, string(last.Phase)+" "+last.Name), "Chronicle.Mark", request).Get(ctx, &tallies)
	if err != nil {
		return err
	}
	for i, t := range tallies {
		n.state.Tallies[places[i]] = t
	}
	n.state.Spent = 0
	for _, t := range n.state.Tallies {
		n.state.Spent += t.Spent
	}
	n.show(ctx)
	return nil
}

// leave closes a phase. When every call of it failed, what the phases before it made is kept; a night that has made
// nothing by then is aborted.
func (p *phase) leave() error {
	state := "ran"
	failed := p.failed > 0 && p.bought == 0
	switch {
	case p.stopped != "":
		state = "exhausted"
		p.n.ended[p.name] = p.stopped
	case failed:
		state = "failed"
		p.n.broken = append(p.n.broken, string(p.name))
	}
	p.note(activities.Mark{Name: "close", State: state})
	if failed && p.n.kept() == 0 {
		return &verdict{dream.Aborted, fmt.Sprintf("every call of %s failed", p.name)}
	}
	return nil
}

// step is what most paid deeds are asked with.
func (p *phase) step(cycle, turn int, heat float64) activities.StepRequest {
	return activities.StepRequest{
		Sitting: p.n.sitting, Limit: p.limit, Cycle: cycle, Turn: turn, Heat: heat, Source: p.n.gathered.Cycle, Tone: p.n.gathered.Affect,
	}
}

// errSpent says that the phase has no money left; the caller stops asking.
var errSpent = errors.New("the phase's budget is used up")

// settle reads the result of a paid deed. It answers errSpent when the phase must stop, a verdict when the dream must,
// and nil with an empty result when the deed failed and the phase can do without it.
func (p *phase) settle(ctx workflow.Context, f workflow.Future) (activities.StepResult, error) {
	var r activities.StepResult
	if err := f.Get(ctx, &r); err != nil {
		return r, p.failedCall(ctx, err)
	}
	switch r.End {
	case activities.EndCut:
		return r, &verdict{dream.Canceled, "cancelled by an operator"}
	case activities.EndCap:
		if r.Scope == activities.PhaseScope(p.n.order.Dream, p.name) {
			p.stopped = r.Reason
			return r, errSpent
		}
		p.stopped = r.Reason
		return r, &verdict{dream.Exhausted, r.Reason}
	case activities.EndUnreadable:
		p.failed++
		p.bought++
		return activities.StepResult{Done: r.Done}, nil
	case activities.EndDone:
		p.bought++
	}
	return r, nil
}

// failedCall decides whether a failed deed ends the dream: a fence or a provider that will never answer does.
func (p *phase) failedCall(ctx workflow.Context, err error) error {
	if temporal.IsCanceledError(err) {
		return err
	}
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		switch app.Type() {
		case activities.FailFenced:
			return &verdict{dream.Canceled, "another dream took the slot"}
		case activities.FailRefused:
			return &verdict{dream.Aborted, app.Message()}
		}
	}
	p.failed++
	workflow.GetLogger(ctx).Warn("a call failed; the phase goes on without it", "phase", p.name, "error", err)
	return nil
}

// plain is the innermost message of a failure.
func plain(err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Message()
	}
	return err.Error()
}

func ids(made ...[]activities.Made) []string {
	var out []string
	for _, list := range made {
		for _, m := range list {
			out = append(out, m.ID)
		}
	}
	return out
}

func keptOf(made []activities.Made) []activities.Made {
	var kept []activities.Made
	for _, m := range made {
		if m.Kept {
			kept = append(kept, m)
		}
	}
	return kept
}

func skipReason(o activities.Order, lain activities.LieDownResult) string {
	return hypnagogia.Enter(o.Knobs.OnsetEnabled, true, lain.Remaining, o.Budget, o.Knobs.BudgetFraction, o.Free)
}
