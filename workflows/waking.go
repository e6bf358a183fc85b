package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// woken answers a wake when the agent is awake: of simultaneous ones the first wakes it, the others wait for the same.
func (a *agentRun) woken(ctx workflow.Context, w Wake) (Awoken, error) {
	if err := a.wake(ctx, w); err != nil {
		return Awoken{}, err
	}
	if err := workflow.Await(ctx, func() bool { return a.state.State != Waking }); err != nil {
		return Awoken{}, err
	}
	awoken := Awoken{Epoch: a.state.Epoch, State: a.state.State}
	if d := a.state.LastWoken; d != nil {
		awoken.Dream = d.Dream
	}
	if b := a.state.Broken; b != nil && b.Dream == awoken.Dream {
		awoken.Until = b.Until
	}
	return awoken, nil
}

// drainWakes takes what other clients than ours, and clients that went away, have to say.
func (a *agentRun) drainWakes(ctx workflow.Context) {
	for a.wakes.Len() > 0 {
		var w Wake
		if a.wakes.ReceiveAsync(&w) {
			a.told(ctx, w)
		}
	}
	for a.alarms.Len() > 0 {
		var w Wake
		if a.alarms.ReceiveAsync(&w) {
			w.Cause = presence.Alarm
			a.told(ctx, w)
		}
	}
	for a.sleep.ReceiveAsync(nil) {
		a.state.Until = workflow.Now(ctx)
		a.changed = true
	}
	requested := false
	for a.resume.ReceiveAsync(nil) {
		requested = true
	}
	if requested && a.state.State == Sleeping && a.state.Broken != nil {
		if _, err := a.goOn(ctx); err != nil {
			workflow.GetLogger(ctx).Warn("the interrupted dream could not go on", "error", err)
		}
	}
}

// raiseAgain is how long a life waits before it tries again to raise an epoch, when the store was away.
const raiseAgain = 5 * time.Second

func (a *agentRun) told(ctx workflow.Context, w Wake) {
	if err := a.wake(ctx, w); err != nil {
		workflow.GetLogger(ctx).Warn("a wake could not be carried out yet", "error", err)
		if w.Epoch == 0 {
			a.state.Unraised = &w
		}
	}
}

// wake carries out one wake. One without an epoch raises it first; one of an epoch that is recorded already changes
// nothing: it is a duplicate, or late, or forged.
func (a *agentRun) wake(ctx workflow.Context, w Wake) error {
	if w.Epoch < 0 {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("epoch is %d; it must not be negative", w.Epoch),
			"BadWake", nil)
	}
	if w.Hold <= 0 && w.Cause == presence.Alarm {
		w.Hold = a.state.Settings.AlarmHold
	}
	if w.Hold <= 0 && w.Cause == presence.Connect {
		w.Hold = a.visits()
	}
	joined := false
	if w.Epoch == 0 {
		request := activities.RouseRequest{
			Agent: a.request.Agent, Wake: w, Now: workflow.Now(ctx),
			Lock: a.state.Settings.WakeLock,
		}
		var roused activities.RouseResult
		if err := workflow.ExecuteLocalActivity(shortly(ctx, "raise the epoch"), "Bed.Rouse", request).Get(ctx,
			&roused); err != nil {
			return err
		}
		w, joined = roused.Wake, roused.Joined
	}
	if w.Epoch > a.state.Epoch {
		a.record(ctx, w)
	} else {
		a.missing = a.missing || a.state.Greeted < a.state.Epoch // whoever tells again is told that it is recorded
	}
	if joined {
		a.joined(ctx)
	}
	return nil
}

// record notes a wake and passes it on to the dream.
func (a *agentRun) record(ctx workflow.Context, w Wake) {
	now := workflow.Now(ctx)
	a.state.Epoch = w.Epoch
	a.state.Wake = &w
	a.state.LastActive = now
	a.state.LastWoken = nil
	a.state.Wakes++
	a.missing, a.traced = true, ctx.Value(TraceKey{})
	event := circadian.Connect
	switch w.Cause {
	case presence.Alarm:
		event = circadian.Alarm
		a.state.Alarms++
	case presence.Operator:
		event = circadian.Operator
	case presence.Connect:
	}
	a.changed = true
	// then the store tells how long; whoever came may have left
	a.state.Until = now.Add(max(time.Second, a.state.Settings.WakeLock))
	state, err := circadian.Step(circadian.State(a.state.State), event)
	if err != nil || string(state) == a.state.State {
		return
	}
	dreaming := a.state.State == Dreaming
	a.state.State, a.state.Since = string(state), now
	if !dreaming || a.state.Dream == nil {
		a.ready(ctx)
		return
	}
	woken := *a.state.Dream
	a.state.LastWoken = &woken
	if w.Told != woken.Workflow { // its answer is the end of the sitting
		a.send(ctx, woken, SignalWake, w)
	}
}

// heardOf is how long a dream that others have told of a wake may take to be put down, before the agent's life tells it
// too.
const heardOf = 250 * time.Millisecond

// untold says whether the life has yet to tell its dream of a wake, because others do.
func (a *agentRun) untold() bool {
	d := a.state.Dream
	return a.state.State == Waking && a.state.Wake != nil && d != nil && a.state.Wake.Told == d.Workflow
}

// pass tells a dream of its wake that others seem not to have reached.
func (a *agentRun) pass(ctx workflow.Context, now time.Time) {
	if a.untold() && !a.state.Since.Add(heardOf).After(now) {
		a.state.Wake.Told = ""
		a.send(ctx, *a.state.Dream, SignalWake, *a.state.Wake)
	}
}

// visits is how long a visit counts that does not say.
func (a *agentRun) visits() time.Duration {
	if a.state.Settings.ClientTimeout > 0 {
		return a.state.Settings.ClientTimeout
	}
	return visited
}

// missed takes in a wake that the dream heard of before the agent's life did: by the bell, or from another client.
func (a *agentRun) missed(ctx workflow.Context, ended Ended) {
	if ended.Epoch <= a.state.Epoch {
		return
	}
	woken := *a.state.Dream
	a.record(ctx, Wake{Epoch: ended.Epoch, Cause: ended.Cause})
	a.state.LastWoken = &woken
	if a.state.State == Waking {
		a.ready(ctx)
	}
}

// ready makes a waking agent awake.
func (a *agentRun) ready(ctx workflow.Context) {
	if state, err := circadian.Step(circadian.State(a.state.State), circadian.Ready); err == nil {
		a.state.State, a.state.Since, a.changed, a.missing = string(state), workflow.Now(ctx), true, true
	}
}

// settle does what the state asks for now: a waking agent whose dream is put down, or does not answer, is awake; an
// awake one that nobody holds any more sleeps.
func (a *agentRun) settle(ctx workflow.Context, notified bool) {
	now := workflow.Now(ctx)
	a.pass(ctx, now)
	if a.state.State == Waking && (a.state.Dream == nil || !a.state.Since.Add(hard).After(now)) {
		a.ready(ctx)
	}
	a.missing = false
	if w := a.state.Unraised; w != nil && notified {
		a.state.Unraised = nil
		a.told(ctx, *w)
	}
	if a.state.State != Waking && a.state.Greeted < a.state.Epoch {
		a.greet(ctx, now)
	}
	if a.state.State == Awake && (notified || !a.state.Until.After(now)) {
		a.lookAround(ctx, now)
	}
}

// TraceKey is under what a workflow's context holds its place in a trace, for whoever fits an interceptor that traces:
// what a life does for a wake goes on in the trace of whoever knocked, and not in that of whoever the life began with.
type TraceKey struct{}

// greet announces that the agent is awake, and notes that its wake is recorded; one that found it asleep and left it
// so, as an alarm does, is only noted. Nobody waits for it.
func (a *agentRun) greet(ctx workflow.Context, now time.Time) {
	request := activities.GreetRequest{
		Agent: a.request.Agent, Epoch: a.state.Epoch, Now: now,
		Asleep: a.state.State != Awake,
	}
	if a.state.Wake != nil {
		request.Cause = string(a.state.Wake.Cause)
	}
	if a.state.LastWoken != nil {
		request.Dream = a.state.LastWoken.Dream
	}
	if a.traced != nil {
		ctx, a.traced = workflow.WithValue(ctx, TraceKey{}, a.traced), nil
	}
	var greeted activities.GreetResult
	if err := workflow.ExecuteLocalActivity(shortly(ctx, "announce the wake"), "Bed.Greet", request).Get(ctx,
		&greeted); err != nil {
		workflow.GetLogger(ctx).Warn("the wake could not be announced; whoever finds it untold tells again", "error",
			err)
		return
	}
	a.state.Greeted = request.Epoch
	if greeted.Forged { // otherwise every true wake below it would count as known
		if a.state.Epoch == request.Epoch {
			a.state.Epoch = greeted.Epoch
		}
		a.state.Greeted = greeted.Epoch
	}
}

// lookAround asks who is still connected: a replica that died leaves no agent awake for ever.
func (a *agentRun) lookAround(ctx workflow.Context, now time.Time) {
	if b := a.state.Dream; b != nil { // left behind when the agent woke; it says when it is over, or it is gone
		a.lookAtDream(ctx)
	}
	var found activities.LookResult
	err := workflow.ExecuteLocalActivity(shortly(ctx, "who is connected"), "Bed.Look",
		activities.LookRequest{Agent: a.request.Agent, Now: now}).Get(ctx, &found)
	if err != nil {
		a.state.Until = now.Add(a.visits())
		return
	}
	if found.Epoch > a.state.Epoch { // a wake that nobody could tell us
		last := found.Last
		a.state.Epoch, a.state.Wake, a.missing = found.Epoch, &last, true
		a.state.Wakes++
	}
	if found.Until.After(now) || a.state.Dream != nil {
		a.state.Until = later(found.Until, now.Add(time.Second))
		if most := now.Add(look); a.state.Until.After(most) { // whoever leaves may not reach us
			a.state.Until = most
		}
		if !found.Until.After(now) { // only its dream keeps it from sleeping
			a.state.Until = now.Add(look)
		}
		return
	}
	if state, err := circadian.Step(circadian.Awake, circadian.Left); err == nil {
		a.state.State, a.changed = string(state), true
		a.state.LastActive = now // quiet begins when nobody holds it awake any more
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
