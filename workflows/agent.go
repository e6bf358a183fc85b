package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// AgentRequest is the input of the agent workflow.
type AgentRequest struct {
	Agent    string      `json:"agent"`
	Handle   string      `json:"handle"`
	Settings Settings    `json:"settings"`
	Carried  *AgentState `json:"carried,omitempty"` // set by continue-as-new only
}

// Agent is the workflow of one agent: it begins dreams, one at a time, learns when they end, and keeps whether the
// agent sleeps, dreams or is awake. It completes only when a plan finds that the agent was removed; removing an agent
// normally terminates it first.
func Agent(ctx workflow.Context, r AgentRequest) error {
	a := new(agentRun)
	if err := a.setup(ctx, r); err != nil {
		return err
	}
	return a.run(ctx)
}

// timetable says when an agent's workflow has something to do next. It reads and changes the agent's state alone.
type timetable struct {
	agent string // id
	state *AgentState
}

type agentRun struct {
	timetable
	request AgentRequest

	ended, active, settings      workflow.ReceiveChannel
	wakes, alarms, sleep, resume workflow.ReceiveChannel
	connected, calls             workflow.ReceiveChannel

	wakeTrace any             // the trace context of the newest wake; nil without tracing
	indexed   string          // the state that the search attributes show
	removed   bool            // the agent was removed from the store: the workflow completes
	unsettled bool            // a wake was recorded that settle has not handled
	changed   bool            // an update changed the state: compute the next wait again
	dream     workflow.Future // of a dream begun in this run; nil after continue-as-new

	sent []workflow.Future // signals to dreams that are not delivered yet
}

func (a *agentRun) setup(ctx workflow.Context, r AgentRequest) error {
	if r.Agent == "" || r.Handle == "" {
		return temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("agent %q and handle %q must not be empty", r.Agent, r.Handle), InvalidRequest, nil)
	}
	a.request = r
	a.timetable = timetable{
		agent: r.Agent, state: &AgentState{State: Sleeping, LastActive: workflow.Now(ctx), Settings: r.Settings},
	}
	if r.Carried != nil {
		*a.state = *r.Carried
		a.unsettled = a.state.Greeted < a.state.Epoch
	}
	a.ended = workflow.GetSignalChannel(ctx, SignalEnded)
	a.active = workflow.GetSignalChannel(ctx, SignalActive)
	a.settings = workflow.GetSignalChannel(ctx, SignalSettings)
	a.wakes = workflow.GetSignalChannel(ctx, SignalWake)
	a.alarms = workflow.GetSignalChannel(ctx, SignalAlarm)
	a.sleep = workflow.GetSignalChannel(ctx, SignalSleep)
	a.resume = workflow.GetSignalChannel(ctx, SignalResume)
	a.connected = workflow.GetSignalChannel(ctx, SignalConnected)
	a.calls = workflow.GetSignalChannel(ctx, SignalTrigger)
	if err := workflow.SetQueryHandler(ctx, QueryAgentState,
		func() (AgentState, error) { return *a.state, nil }); err != nil {
		return err
	}
	for _, each := range []struct {
		name    string
		handler any
		options workflow.UpdateHandlerOptions
	}{
		{UpdateDream, a.handleDream, workflow.UpdateHandlerOptions{
			Validator:   a.mayBegin,
			Description: "begin the dream of this spec; refused while another runs, or while the agent is awake",
		}},
		{
			UpdateWake, a.handleWake,
			workflow.UpdateHandlerOptions{Description: "wake up; answers when the agent is awake"},
		},
		{UpdateResume, a.handleResume, workflow.UpdateHandlerOptions{
			Validator: a.mayResume, Description: "resume the interrupted dream; refused when there is none",
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
		a.checkTriggers(ctx)
		if a.due(workflow.Now(ctx)) {
			a.beginAutomatic(ctx)
			if a.removed {
				return nil
			}
		}
		if shouldContinue(ctx) && a.readyToContinue(ctx) {
			next := a.request
			next.Settings, next.Carried = a.state.Settings, a.state
			return continueAsNew(ctx, AgentType, next)
		}
	}
}

// readyToContinue handles all signals and says whether the run may continue as new. Handling can block while more
// signals arrive, so it repeats: a signal that is unread when a run ends is lost.
func (a *agentRun) readyToContinue(ctx workflow.Context) bool {
	a.awaitSent(ctx)
	for a.called() && ctx.Err() == nil {
		a.catchUp(ctx)
		a.awaitSent(ctx)
	}
	return ctx.Err() == nil && workflow.AllHandlersFinished(ctx)
}

// wait blocks until there is something to do: a signal, an update, the end of the dream, or the next time to check.
func (a *agentRun) wait(ctx workflow.Context) {
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	var timer workflow.Future
	if until, ok := a.next(workflow.Now(ctx)); ok {
		timer = workflow.NewTimerWithOptions(timed, until, workflow.TimerOptions{Summary: "look again"})
	}
	a.changed = false
	timerFired := func() bool { return timer != nil && timer.IsReady() }
	if workflow.Await(ctx,
		func() bool { return timerFired() || a.dreamClosed() || a.changed || a.unsettled || a.called() }) !=
		nil {
		return
	}
	a.catchUp(ctx)
	if timerFired() && a.state.State == Dreaming {
		a.checkDream(ctx)
	}
	a.settle(ctx, timerFired())
	a.show(ctx)
}

// called says whether a signal is unread.
func (a *agentRun) called() bool {
	for _, c := range []workflow.ReceiveChannel{
		a.ended, a.active, a.settings, a.wakes, a.alarms, a.sleep, a.resume,
		a.connected, a.calls,
	} {
		if c.Len() > 0 {
			return true
		}
	}
	return false
}
