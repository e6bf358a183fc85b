package workflows

import (
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
)

// AgentRequest begins, or goes on with, an agent's life.
type AgentRequest struct {
	Agent    string   `json:"agent"`
	Handle   string   `json:"handle"`
	Settings Settings `json:"settings"`
	Carried  *Life    `json:"carried,omitempty"` // set by continue-as-new only
}

// Life is the state of an agent; all of it crosses continue-as-new.
type Life struct {
	State      string    `json:"state"` // sleeping or dreaming
	Dream      *Begun    `json:"dream,omitempty"`
	LastActive time.Time `json:"last_active"`
	LastDream  time.Time `json:"last_dream"`            // when the last one ended
	LastReason string    `json:"last_reason,omitempty"` // why the last automatic dream was not begun
	LastTry    time.Time `json:"last_try"`              // when an automatic dream was last planned in vain
	Dreams     int       `json:"dreams"`
	Settings   Settings  `json:"settings"`
}

// States of life that this version knows.
const (
	Sleeping = "sleeping"
	Dreaming = "dreaming"
)

// look is how often a life asks whether its dream still runs, in case a terminated dream could not say that it ended.
const look = 2 * time.Minute

// AlreadyDreaming is the type of the error that refuses a second dream.
const AlreadyDreaming = "AlreadyDreaming"

// Agent is one agent's life: it begins dreams, one at a time, and knows when they have ended (O2). It never completes.
func Agent(ctx workflow.Context, r AgentRequest) error {
	a := new(life)
	if err := a.setup(ctx, r); err != nil {
		return err
	}
	return a.run(ctx)
}

type life struct {
	request AgentRequest
	state   Life

	ended, active, settings workflow.ReceiveChannel
	found                   string          // the state that the search attributes tell
	changed                 bool            // an update changed the state: look again at what to wait for
	dream                   workflow.Future // of a dream begun in this run; nil after continue-as-new
}

func (a *life) setup(ctx workflow.Context, r AgentRequest) error {
	if r.Agent == "" || r.Handle == "" {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("agent %q and handle %q must not be empty", r.Agent, r.Handle), "BadRequest", nil)
	}
	a.request = r
	a.state = Life{State: Sleeping, LastActive: workflow.Now(ctx), Settings: r.Settings}
	if r.Carried != nil {
		a.state = *r.Carried
	}
	a.ended = workflow.GetSignalChannel(ctx, SignalEnded)
	a.active = workflow.GetSignalChannel(ctx, SignalActive)
	a.settings = workflow.GetSignalChannel(ctx, SignalSettings)
	if err := workflow.SetQueryHandler(ctx, QueryLife, func() (Life, error) { return a.state, nil }); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateDream, a.asked, workflow.UpdateHandlerOptions{
		Validator: a.mayBegin, Description: "begin the dream of this order; refused while another runs",
	})
}

func (a *life) run(ctx workflow.Context) error {
	a.show(ctx)
	for {
		a.wait(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		if a.due(workflow.Now(ctx)) {
			a.dreamByItself(ctx)
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx) {
			a.drain(ctx)
			next := a.request
			next.Settings, next.Carried = a.state.Settings, &a.state
			return workflow.NewContinueAsNewError(ctx, AgentType, next)
		}
	}
}

// wait sleeps until something happens: a signal, an update, the end of the dream, or the next time to look.
func (a *life) wait(ctx workflow.Context) {
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	var timer workflow.Future
	if until, ok := a.next(workflow.Now(ctx)); ok {
		timer = workflow.NewTimerWithOptions(timed, until, workflow.TimerOptions{Summary: "look again"})
	}
	a.changed = false
	rang := func() bool { return timer != nil && timer.IsReady() }
	if workflow.Await(ctx, func() bool {
		return rang() || a.dreamt() || a.changed || a.ended.Len() > 0 || a.active.Len() > 0 || a.settings.Len() > 0
	}) != nil {
		return
	}
	a.catchUp(ctx)
	if rang() && a.state.State == Dreaming {
		a.lookAtDream(ctx)
	}
	a.show(ctx)
}

// next is how long to wait at most, if anything is to be waited for.
func (a *life) next(now time.Time) (time.Duration, bool) {
	if a.state.State == Dreaming {
		return look, true
	}
	if !a.state.Settings.Auto {
		return 0, false
	}
	return max(time.Second, a.dueAt().Sub(now)), true
}

func (a *life) dueAt() time.Time {
	idle := a.state.LastActive.Add(a.state.Settings.IdleTimeout)
	for _, last := range []time.Time{a.state.LastDream, a.state.LastTry} {
		if gap := last.Add(a.state.Settings.MinGap); !last.IsZero() && gap.After(idle) {
			idle = gap
		}
	}
	return idle
}

func (a *life) due(now time.Time) bool {
	return a.state.State == Sleeping && a.state.Settings.Auto && !a.dueAt().After(now)
}

// dreamt says whether the dream of this run has closed and nobody has noted it yet.
func (a *life) dreamt() bool { return a.dream != nil && a.dream.IsReady() }

// catchUp takes in everything that has come.
func (a *life) catchUp(ctx workflow.Context) {
	if a.dreamt() && a.state.Dream != nil {
		a.over(ctx, a.state.Dream.Dream)
	}
	a.drain(ctx)
}

// drain takes every signal that has come, so that none is lost when the run is continued as new.
func (a *life) drain(ctx workflow.Context) {
	var ended Ended
	for a.ended.ReceiveAsync(&ended) {
		a.over(ctx, ended.Dream)
	}
	var when time.Time
	for a.active.ReceiveAsync(&when) {
		if when.After(a.state.LastActive) {
			a.state.LastActive = when
		}
	}
	var settings Settings
	for a.settings.ReceiveAsync(&settings) {
		a.state.Settings = settings
	}
}

// mayBegin refuses a dream that must not begin; nothing of it is recorded. News of an end that has come and was not read
// yet is left for begin to read: a validator changes nothing.
func (a *life) mayBegin(_ workflow.Context, order activities.Order) error {
	if a.state.State == Dreaming && !a.dreamt() && a.ended.Len() == 0 {
		return a.alreadyDreaming()
	}
	if order.Agent != a.request.Agent {
		return temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("the order is for agent %q and this is %q", order.Agent, a.request.Agent), "BadOrder", nil)
	}
	return order.Validate()
}

func (a *life) alreadyDreaming() error {
	return temporal.NewNonRetryableApplicationError(
		fmt.Sprintf("%s is already dreaming %s", a.request.Handle, a.state.Dream.Dream), AlreadyDreaming, nil)
}

// asked begins a dream that somebody asked for; asking is a use of the agent.
func (a *life) asked(ctx workflow.Context, order activities.Order) (Begun, error) {
	a.state.LastActive = workflow.Now(ctx)
	return a.begin(ctx, order)
}

// begin starts the dream as a child that outlives this run.
func (a *life) begin(ctx workflow.Context, order activities.Order) (Begun, error) {
	if a.catchUp(ctx); a.state.State == Dreaming {
		return Begun{}, a.alreadyDreaming()
	}
	a.state.State, a.state.Dream, a.changed = Dreaming, &Begun{Dream: order.Dream, Workflow: order.Dream}, true
	order.Owner = workflow.GetInfo(ctx).WorkflowExecution.ID
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            order.Dream,
		WorkflowTaskTimeout:   TaskTimeout,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		StaticSummary:         string(order.Tier) + " night of " + order.Handle,
	}), DreamType, order)
	var execution workflow.Execution
	if err := child.GetChildWorkflowExecution().Get(ctx, &execution); err != nil {
		a.state.State, a.state.Dream, a.changed = Sleeping, nil, true
		return Begun{}, fmt.Errorf("begin %s: %w", order.Dream, err)
	}
	a.state.Dreams++
	if a.changed = true; a.state.Dream != nil && a.state.Dream.Dream == order.Dream { // unless it is over already
		a.dream, a.state.Dream.Run = child, execution.RunID
	}
	return Begun{Dream: order.Dream, Workflow: order.Dream, Run: execution.RunID}, nil
}

// over notes that a dream has ended, once.
func (a *life) over(ctx workflow.Context, dreamID string) {
	if a.state.Dream == nil || a.state.Dream.Dream != dreamID {
		return
	}
	a.state.State, a.state.Dream, a.dream = Sleeping, nil, nil
	a.state.LastDream = workflow.Now(ctx)
}

// lookAtDream notices a dream that ended without being able to say so.
func (a *life) lookAtDream(ctx workflow.Context) {
	held := *a.state.Dream
	var running bool
	err := workflow.ExecuteLocalActivity(quickWrite(ctx, "is it still dreaming"), "Bed.Running",
		activities.RunningRequest{Workflow: held.Workflow, Run: held.Run}).Get(ctx, &running)
	if err == nil && !running {
		a.over(ctx, held.Dream)
	}
}

// dreamByItself begins a dream that nobody asked for, unless the store remembers something lived since the agent fell
// idle: then idleness counts from there. What else speaks against it is kept, and the next look is one gap away.
func (a *life) dreamByItself(ctx workflow.Context) {
	var plan activities.PlanResult
	request := activities.PlanRequest{Agent: a.request.Agent, Now: workflow.Now(ctx), IdleTimeout: a.state.Settings.IdleTimeout}
	err := workflow.ExecuteLocalActivity(quickWrite(ctx, "plan a dream"), "Bed.Plan", request).Get(ctx, &plan)
	if plan.Active.After(a.state.LastActive) {
		a.state.LastActive = plan.Active
	}
	if err == nil && plan.Reason == "" && plan.Order.Dream == "" {
		return
	}
	if err == nil && plan.Reason == "" && a.state.State == Sleeping {
		_, err = a.begin(ctx, plan.Order)
	}
	a.state.LastReason = plan.Reason
	if err != nil {
		a.state.LastReason = plain(err)
	}
	if a.state.LastReason != "" {
		a.state.LastTry = workflow.Now(ctx)
	}
}

// show writes the summary for Temporal's own tools.
func (a *life) show(ctx workflow.Context) {
	a.find(ctx)
	text := "sleeping"
	if a.state.Dream != nil {
		text = "dreaming " + a.state.Dream.Dream
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("%s; %d dreams so far. %s", text, a.state.Dreams, a.state.LastReason))
}

// find writes the search attributes of the agent when its state has changed: twice a dream, and once a run.
func (a *life) find(ctx workflow.Context) {
	if !a.state.Settings.Searchable || a.found == a.state.State {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, AttrAgent.ValueSet(a.request.Handle), AttrLife.ValueSet(a.state.State)); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes were refused", "error", err)
	}
	a.found = a.state.State
}
