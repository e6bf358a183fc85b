package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/circadian"
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
	State      string    `json:"state"` // sleeping, dreaming, waking or awake (W1)
	Dream      *Begun    `json:"dream,omitempty"`
	LastActive time.Time `json:"last_active"`
	LastDream  time.Time `json:"last_dream"`            // when the last one ended
	LastReason string    `json:"last_reason,omitempty"` // why the last automatic dream was not begun
	LastTry    time.Time `json:"last_try"`              // when an automatic dream was last planned in vain
	Dreams     int       `json:"dreams"`
	Settings   Settings  `json:"settings"`

	Epoch     int64     `json:"epoch,omitempty"`      // of the newest wake that is recorded
	Wake      *Wake     `json:"wake,omitempty"`       // that wake
	Since     time.Time `json:"since,omitzero"`       // of the state waking or awake
	Until     time.Time `json:"until,omitzero"`       // when to look next whether anybody is still connected
	Broken    *Broken   `json:"broken,omitempty"`     // the interrupted dream that may go on
	NotBefore time.Time `json:"not_before,omitzero"`  // quiet hours last until then
	Greeted   int64     `json:"greeted,omitempty"`    // the newest epoch that was announced
	Unraised  *Wake     `json:"unraised,omitempty"`   // a wake whose epoch could not be raised yet
	Wakes     int       `json:"wakes,omitempty"`      // wakes that were recorded
	Alarms    int       `json:"alarms,omitempty"`     // of them by an alarm
	LastWoken *Begun    `json:"last_woken,omitempty"` // the dream that the newest wake interrupted
}

// Broken is a dream that was interrupted and may go on until its time runs out.
type Broken struct {
	Begun
	Until time.Time `json:"until"`
}

// States of life (W1), as circadian names them.
const (
	Sleeping = string(circadian.Sleeping)
	Dreaming = string(circadian.Dreaming)
	Waking   = string(circadian.Waking)
	Awake    = string(circadian.Awake)
)

const (
	// look is how often a life asks whether its dream still runs, in case a terminated dream could not say that it ended.
	look = 2 * time.Minute
	// hard is how long an agent may take to wake at most; then it is awake, whatever its dream does (W2).
	hard = time.Second
	// visited is how long a request counts when the deployment says nothing (Z10).
	visited = time.Minute
)

// Types of the errors that refuse what was asked of a life.
const (
	AlreadyDreaming = "AlreadyDreaming" // a second dream
	HeldAwake       = "HeldAwake"       // a dream of an agent that is awake, or being woken
	NothingToResume = "NothingToResume" // no interrupted dream waits
)

// Agent is one agent's life: it begins dreams, one at a time, knows when they have ended, wakes and falls asleep (O2). It
// never completes.
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

	ended, active, settings      workflow.ReceiveChannel
	wakes, alarms, sleep, resume workflow.ReceiveChannel
	visited                      workflow.ReceiveChannel

	found   string          // the state that the search attributes tell
	missing bool            // a wake came that is not settled yet
	changed bool            // an update changed the state: look again at what to wait for
	dream   workflow.Future // of a dream begun in this run; nil after continue-as-new

	sent []workflow.Future // what dreams were told, on its way
}

func (a *life) setup(ctx workflow.Context, r AgentRequest) error {
	if r.Agent == "" || r.Handle == "" {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("agent %q and handle %q must not be empty", r.Agent, r.Handle), "BadRequest", nil)
	}
	a.request = r
	a.state = Life{State: Sleeping, LastActive: workflow.Now(ctx), Settings: r.Settings}
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
	if err := workflow.SetQueryHandler(ctx, QueryLife, func() (Life, error) { return a.state, nil }); err != nil {
		return err
	}
	for _, each := range []struct {
		name    string
		handler any
		options workflow.UpdateHandlerOptions
	}{
		{UpdateDream, a.asked, workflow.UpdateHandlerOptions{
			Validator: a.mayBegin, Description: "begin the dream of this order; refused while another runs, or while the agent is awake",
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
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() && a.through(ctx) {
			next := a.request
			next.Settings, next.Carried = a.state.Settings, &a.state
			return workflow.NewContinueAsNewError(ctx, AgentType, next)
		}
	}
}

// through takes in what has come, and says whether the run may end. Taking in may have to wait, and more may come meanwhile:
// whatever is unread when a run ends is lost.
func (a *life) through(ctx workflow.Context) bool {
	a.arrived(ctx)
	for a.called() && ctx.Err() == nil {
		a.catchUp(ctx)
		a.arrived(ctx)
	}
	return ctx.Err() == nil && workflow.AllHandlersFinished(ctx)
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
	if workflow.Await(ctx, func() bool { return rang() || a.dreamt() || a.changed || a.missing || a.called() }) != nil {
		return
	}
	a.catchUp(ctx)
	if rang() && a.state.State == Dreaming {
		a.lookAtDream(ctx)
	}
	a.settle(ctx, rang())
	a.show(ctx)
}

// called says whether a signal waits to be read.
func (a *life) called() bool {
	for _, c := range []workflow.ReceiveChannel{a.ended, a.active, a.settings, a.wakes, a.alarms, a.sleep, a.resume, a.visited} {
		if c.Len() > 0 {
			return true
		}
	}
	return false
}

// next is how long to wait at most, if anything is to be waited for.
func (a *life) next(now time.Time) (time.Duration, bool) {
	switch a.state.State {
	case Dreaming:
		if a.state.Unraised != nil {
			return raiseAgain, true
		}
		return look, true
	case Waking:
		if a.untold() {
			return max(time.Millisecond, a.state.Since.Add(heardOf).Sub(now)), true
		}
		return max(time.Millisecond, a.state.Since.Add(hard).Sub(now)), true
	case Awake:
		return max(time.Second, a.state.Until.Sub(now)), true
	}
	at, ok := a.dueAt(now)
	if a.state.Unraised != nil { // the store was away
		return raiseAgain, true
	}
	return max(time.Second, at.Sub(now)), ok
}

// dueAt is when the next dream by itself begins, or goes on; false for never.
func (a *life) dueAt(now time.Time) (time.Time, bool) {
	s := a.state.Settings
	past := circadian.Past{Active: a.state.LastActive, Dream: a.state.LastDream, Try: a.state.LastTry}
	if a.state.Broken != nil {
		past.Expires = a.state.Broken.Until
	}
	next := circadian.Rhythm{
		IdleTimeout: s.IdleTimeout, MinGap: s.MinGap, ResumeAfter: s.ResumeAfter,
		Jitter: circadian.Jitter(a.request.Agent, a.state.Dreams, s.Jitter),
	}.Due(now, past)
	if next.At.IsZero() || !next.Resume && !s.Auto {
		return time.Time{}, false
	}
	if a.state.NotBefore.After(next.At) {
		next.At = a.state.NotBefore
	}
	return next.At, true
}

func (a *life) due(now time.Time) bool {
	at, ok := a.dueAt(now)
	return a.state.State == Sleeping && ok && !at.After(now)
}

// dreamt says whether the dream of this run has closed and nobody has noted it yet.
func (a *life) dreamt() bool { return a.dream != nil && a.dream.IsReady() }

// catchUp takes in everything that has come.
func (a *life) catchUp(ctx workflow.Context) {
	if a.dreamt() {
		if a.state.Dream != nil {
			a.over(ctx, Ended{Dream: a.state.Dream.Dream})
		} else { // it was interrupted, and has ended for good
			a.state.Broken = nil
		}
		a.dream = nil
	}
	a.drain(ctx)
}

// drain takes every signal that has come, so that none is lost when the run is continued as new.
func (a *life) drain(ctx workflow.Context) {
	var ended Ended
	for a.ended.ReceiveAsync(&ended) {
		a.over(ctx, ended)
		ended = Ended{}
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
		settings = Settings{}
	}
	a.drainWakes(ctx)
	came := false
	for a.visited.ReceiveAsync(nil) {
		came = true
	}
	if came {
		a.joined(ctx)
	}
}

// mayBegin refuses a dream that must not begin; nothing of it is recorded. News of an end that has come and was not read
// yet is left for begin to read: a validator changes nothing.
func (a *life) mayBegin(_ workflow.Context, order activities.Order) error {
	if a.state.State == Dreaming && !a.dreamt() && a.ended.Len() == 0 {
		return a.alreadyDreaming()
	}
	if a.state.State == Waking || a.state.State == Awake {
		return a.heldAwake()
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

// heldAwake says why an agent that is awake begins no dream (W1).
func (a *life) heldAwake() error {
	_, err := circadian.Step(circadian.State(a.state.State), circadian.Asked)
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf("%s: %v", a.request.Handle, err), HeldAwake, nil)
}

// asked begins a dream that somebody asked for; asking is a use of the agent.
func (a *life) asked(ctx workflow.Context, order activities.Order) (Begun, error) {
	a.state.LastActive = workflow.Now(ctx)
	return a.begin(ctx, order)
}

// over notes that a sitting has ended, once: for good, or until the dream goes on.
func (a *life) over(ctx workflow.Context, ended Ended) {
	if b := a.state.Broken; b != nil && b.Dream == ended.Dream && ended.Until.IsZero() {
		a.state.Broken = nil
	}
	if a.state.Dream == nil || a.state.Dream.Dream != ended.Dream {
		return
	}
	if !ended.Until.IsZero() {
		a.state.Broken = &Broken{Begun: *a.state.Dream, Until: ended.Until}
		a.missed(ctx, ended)
	} else {
		a.dream = nil
	}
	a.state.Dream = nil
	switch a.state.State {
	case Dreaming:
		a.state.State = Sleeping
	case Awake: // it had not waited for this dream: look again who is there
		a.state.Until = workflow.Now(ctx)
	}
	a.state.LastDream = workflow.Now(ctx)
}

// lookAtDream notices a dream that ended without being able to say so.
func (a *life) lookAtDream(ctx workflow.Context) {
	held := *a.state.Dream
	var running bool
	err := workflow.ExecuteLocalActivity(shortly(ctx, "is it still dreaming"), "Bed.Running",
		activities.RunningRequest{Workflow: held.Workflow, Run: held.Run}).Get(ctx, &running)
	if err == nil && !running {
		a.over(ctx, Ended{Dream: held.Dream})
	}
}
