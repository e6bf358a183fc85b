package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// AgentRequest begins, or goes on with, an agent's life.
type AgentRequest struct {
	Agent    string      `json:"agent"`
	Handle   string      `json:"handle"`
	Settings Settings    `json:"settings"`
	Carried  *AgentState `json:"carried,omitempty"` // set by continue-as-new only
}

// Agent is one agent's life: it begins dreams, one at a time, knows when they have ended, wakes and falls asleep (O2).
// It completes only when a plan finds that the agent was removed; whoever removes an agent terminates it before that.
func Agent(ctx workflow.Context, r AgentRequest) error {
	a := new(agentRun)
	if err := a.setup(ctx, r); err != nil {
		return err
	}
	return a.run(ctx)
}

type agentRun struct {
	request AgentRequest
	state   AgentState

	ended, active, settings      workflow.ReceiveChannel
	wakes, alarms, sleep, resume workflow.ReceiveChannel
	visited, calls               workflow.ReceiveChannel

	traced  any             // where the trace of the newest wake stands; nil where nobody traces
	found   string          // the state that the search attributes tell
	removed bool            // the store says so: nothing is left to do
	missing bool            // a wake came that is not settled yet
	changed bool            // an update changed the state: look again at what to wait for
	dream   workflow.Future // of a dream begun in this run; nil after continue-as-new

	sent []workflow.Future // what dreams were told, on its way
}

func (a *agentRun) setup(ctx workflow.Context, r AgentRequest) error {
	if r.Agent == "" || r.Handle == "" {
		return temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("agent %q and handle %q must not be empty", r.Agent, r.Handle), "BadRequest", nil)
	}
	a.request = r
	a.state = AgentState{State: Sleeping, LastActive: workflow.Now(ctx), Settings: r.Settings}
	if r.Carried != nil {
		a.state = *r.Carried
		a.missing = a.state.Greeted < a.state.Epoch
	}
	a.ended = workflow.GetSignalChannel(ctx, SignalEnded)
	a.active = workflow.GetSignalChannel(ctx, SignalActive)
	a.settings = workflow.GetSignalChannel(ctx, SignalSettings)
	a.wakes = workflow.GetSignalChannel(ctx, SignalWake)
	a.alarms = workflow.GetSignalChannel(ctx, SignalAlarm)
	a.sleep = workflow.GetSignalChannel(ctx, SignalSleep)
	a.resume = workflow.GetSignalChannel(ctx, SignalResume)
	a.visited = workflow.GetSignalChannel(ctx, SignalVisited)
	a.calls = workflow.GetSignalChannel(ctx, SignalTrigger)
	if err := workflow.SetQueryHandler(ctx, QueryAgentState,
		func() (AgentState, error) { return a.state, nil }); err != nil {
		return err
	}
	for _, each := range []struct {
		name    string
		handler any
		options workflow.UpdateHandlerOptions
	}{
		{UpdateDream, a.asked, workflow.UpdateHandlerOptions{
			Validator:   a.mayBegin,
			Description: "begin the dream of this order; refused while another runs, or while the agent is awake",
		}},
		{UpdateWake, a.woken, workflow.UpdateHandlerOptions{Description: "wake up; answers when the agent is awake"}},
		{UpdateResume, a.resumed, workflow.UpdateHandlerOptions{
			Validator: a.mayResume, Description: "go on with the interrupted dream; refused when none waits",
		}},
	} {
		if err := workflow.SetUpdateHandlerWithOptions(ctx, each.name, each.handler, each.options); err != nil {
			return err
		}
	}
	return nil
}

func (a *agentRun) run(ctx workflow.Context) error {
	a.show(ctx)
	for {
		a.wait(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		a.heed(ctx)
		if a.due(workflow.Now(ctx)) {
			a.dreamByItself(ctx)
			if a.removed {
				return nil
			}
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() && a.through(ctx) {
			next := a.request
			next.Settings, next.Carried = a.state.Settings, &a.state
			return workflow.NewContinueAsNewError(ctx, AgentType, next)
		}
	}
}

// through takes in what has come, and says whether the run may end. Taking in may have to wait, and more may come
// meanwhile: whatever is unread when a run ends is lost.
func (a *agentRun) through(ctx workflow.Context) bool {
	a.arrived(ctx)
	for a.called() && ctx.Err() == nil {
		a.catchUp(ctx)
		a.arrived(ctx)
	}
	return ctx.Err() == nil && workflow.AllHandlersFinished(ctx)
}

// wait sleeps until something happens: a signal, an update, the end of the dream, or the next time to look.
func (a *agentRun) wait(ctx workflow.Context) {
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	var timer workflow.Future
	if until, ok := a.next(workflow.Now(ctx)); ok {
		timer = workflow.NewTimerWithOptions(timed, until, workflow.TimerOptions{Summary: "look again"})
	}
	a.changed = false
	notified := func() bool { return timer != nil && timer.IsReady() }
	if workflow.Await(ctx, func() bool { return notified() || a.dreamt() || a.changed || a.missing || a.called() }) !=
		nil {
		return
	}
	a.catchUp(ctx)
	if notified() && a.state.State == Dreaming {
		a.lookAtDream(ctx)
	}
	a.settle(ctx, notified())
	a.show(ctx)
}

// called says whether a signal waits to be read.
func (a *agentRun) called() bool {
	for _, c := range []workflow.ReceiveChannel{
		a.ended, a.active, a.settings, a.wakes, a.alarms, a.sleep, a.resume,
		a.visited, a.calls,
	} {
		if c.Len() > 0 {
			return true
		}
	}
	return false
}
