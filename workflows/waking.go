package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/circadian"
)

// handleWake handles the wake update and returns when the agent is awake. Of simultaneous wakes the first wakes the
// agent and the others wait for it.
func (a *agentRun) handleWake(ctx workflow.Context, w Wake) (WakeAnswer, error) {
	if err := a.wake(ctx, w); err != nil {
		return WakeAnswer{}, err
	}
	if err := workflow.Await(ctx, func() bool { return a.state.State != Waking }); err != nil {
		return WakeAnswer{}, err
	}
	answer := WakeAnswer{Epoch: a.state.Epoch, State: a.state.State}
	if d := a.state.LastWoken; d != nil {
		answer.Dream = d.Dream
	}
	if b := a.state.Interrupted; b != nil && b.Dream == answer.Dream {
		answer.Until = b.Until
	}
	return answer, nil
}

// drainWakes reads the signals that other Temporal clients sent, and those of clients that did not wait for an
// answer.
func (a *agentRun) drainWakes(ctx workflow.Context) {
	for a.wakes.Len() > 0 {
		var w Wake
		if a.wakes.ReceiveAsync(&w) {
			a.receiveWake(ctx, w)
		}
	}
	for a.alarms.Len() > 0 {
		var w Wake
		if a.alarms.ReceiveAsync(&w) {
			w.Cause = presence.Alarm
			a.receiveWake(ctx, w)
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
	if requested && a.state.State == Sleeping && a.state.Interrupted != nil {
		if _, err := a.resumeDream(ctx); err != nil {
			workflow.GetLogger(ctx).Warn("the interrupted dream could not go on", "error", err)
		}
	}
}

// raiseRetry is the delay before an epoch that could not be raised is tried again.
const raiseRetry = 5 * time.Second

// receiveWake handles one wake signal. A wake whose epoch could not be raised is kept for a retry.
func (a *agentRun) receiveWake(ctx workflow.Context, w Wake) {
	if err := a.wake(ctx, w); err != nil {
		workflow.GetLogger(ctx).Warn("a wake could not be carried out yet", "error", err)
		if w.Epoch == 0 {
			a.state.Unraised = &w
		}
	}
}

// wake carries out one wake. A wake without an epoch raises one first. A wake whose epoch is already recorded changes
// nothing: it is a duplicate, late or forged.
func (a *agentRun) wake(ctx workflow.Context, w Wake) error {
	if w.Epoch < 0 {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("epoch is %d; it must not be negative", w.Epoch),
			"BadWake", nil)
	}
	if w.Hold <= 0 && w.Cause == presence.Alarm {
		w.Hold = a.state.Settings.AlarmHold
	}
	if w.Hold <= 0 && w.Cause == presence.Connect {
		w.Hold = a.clientTimeout()
	}
	joined := false
	if w.Epoch == 0 {
		request := activities.RaiseEpochRequest{
			Agent: a.request.Agent, Wake: w, Now: workflow.Now(ctx),
			Lock: a.state.Settings.WakeLock,
		}
		var raised activities.RaiseEpochResult
		if err := workflow.ExecuteLocalActivity(shortly(ctx, "raise the epoch"), activities.AgentRaiseEpoch, request).Get(ctx,
			&raised); err != nil {
			return err
		}
		w, joined = raised.Wake, raised.Joined
	}
	if w.Epoch > a.state.Epoch {
		a.record(ctx, w)
	} else {
		a.unsettled = a.unsettled || a.state.Greeted < a.state.Epoch // confirm a repeated wake again
	}
	if joined {
		a.wakeForClient(ctx)
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
	a.unsettled, a.wakeTrace = true, ctx.Value(TraceKey{})
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
	// checkClients then takes the time from the store's leases; the client may have left already
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
	if w.SignalledDream != woken.Workflow { // the dream answers by reporting the end of its stretch
		a.send(ctx, woken, SignalWake, w)
	}
}

// forwardDelay is how long a dream that another process has signalled may take to stop before the agent's workflow
// signals it as well.
const forwardDelay = 250 * time.Millisecond

// signalledElsewhere says whether another process has signalled the dream and this workflow has not.
func (a *timetable) signalledElsewhere() bool {
	d := a.state.Dream
	return a.state.State == Waking && a.state.Wake != nil && d != nil && a.state.Wake.SignalledDream == d.Workflow
}

// forwardWake signals the wake to a dream that another process seems not to have reached.
func (a *agentRun) forwardWake(ctx workflow.Context, now time.Time) {
	if a.signalledElsewhere() && !a.state.Since.Add(forwardDelay).After(now) {
		a.state.Wake.SignalledDream = ""
		a.send(ctx, *a.state.Dream, SignalWake, *a.state.Wake)
	}
}

// clientTimeout is how long a client request keeps the agent awake.
func (a *timetable) clientTimeout() time.Duration {
	if a.state.Settings.ClientTimeout > 0 {
		return a.state.Settings.ClientTimeout
	}
	return defaultClientTimeout
}

// recordMissed records a wake that reached the dream before this workflow, by the wake bus or from another client.
func (a *agentRun) recordMissed(ctx workflow.Context, ended EndedDream) {
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

// ready changes a waking agent to awake.
func (a *agentRun) ready(ctx workflow.Context) {
	if state, err := circadian.Step(circadian.State(a.state.State), circadian.Ready); err == nil {
		a.state.State = string(state)
		a.state.Since = workflow.Now(ctx)
		a.changed, a.unsettled = true, true
	}
}

// settle does what the state requires now. A waking agent whose dream has stopped, or does not answer in time,
// becomes awake; an awake agent that nothing holds awake falls asleep. timerFired says that the time to look again has
// come: a wake whose epoch could not be raised is tried again, and the store is asked who is connected.
func (a *agentRun) settle(ctx workflow.Context, timerFired bool) {
	now := workflow.Now(ctx)
	a.forwardWake(ctx, now)
	if a.state.State == Waking && (a.state.Dream == nil || !a.state.Since.Add(wakeDeadline).After(now)) {
		a.ready(ctx)
	}
	a.unsettled = false
	if w := a.state.Unraised; w != nil && timerFired {
		a.state.Unraised = nil
		a.receiveWake(ctx, *w)
	}
	if a.state.State != Waking && a.state.Greeted < a.state.Epoch {
		a.announceWake(ctx, now)
	}
	if a.state.State == Awake && (timerFired || !a.state.Until.After(now)) {
		a.checkClients(ctx, now)
	}
}

// TraceKey is the context key under which a tracing interceptor finds the trace of a wake, so that what the workflow
// does for a wake belongs to the trace of the client that caused it, not of the one that started the workflow.
type TraceKey struct{}

// announceWake announces that the agent is awake and notes in the store that its wake is recorded. A wake that left the
// agent asleep, as an alarm does, is only noted. A failure is logged and tried again by later calls.
func (a *agentRun) announceWake(ctx workflow.Context, now time.Time) {
	request := activities.AnnounceWakeRequest{
		Agent: a.request.Agent, Epoch: a.state.Epoch, Now: now,
		Asleep: a.state.State != Awake,
	}
	if a.state.Wake != nil {
		request.Cause = string(a.state.Wake.Cause)
	}
	if a.state.LastWoken != nil {
		request.Dream = a.state.LastWoken.Dream
	}
	if a.wakeTrace != nil {
		ctx, a.wakeTrace = workflow.WithValue(ctx, TraceKey{}, a.wakeTrace), nil
	}
	var greeted activities.AnnounceWakeResult
	err := workflow.ExecuteLocalActivity(shortly(ctx, "announce the wake"), activities.AgentAnnounceWake,
		request).Get(ctx, &greeted)
	if err != nil {
		workflow.GetLogger(ctx).Warn("the wake could not be announced; it is tried again", "error",
			err)
		return
	}
	a.state.Greeted = request.Epoch
	if greeted.Forged { // otherwise real wakes with lower epochs would count as duplicates
		if a.state.Epoch == request.Epoch {
			a.state.Epoch = greeted.Epoch
		}
		a.state.Greeted = greeted.Epoch
	}
}

// checkClients asks the store which clients are connected, so that a server that died does not keep an agent awake for
// ever.
func (a *agentRun) checkClients(ctx workflow.Context, now time.Time) {
	// still there although the agent woke: it will report its end, or it was terminated
	if b := a.state.Dream; b != nil {
		a.checkDream(ctx)
	}
	var found activities.CheckClientsResult
	err := workflow.ExecuteLocalActivity(shortly(ctx, "which clients are connected"), activities.AgentCheckClients,
		activities.CheckClientsRequest{Agent: a.request.Agent, Now: now}).Get(ctx, &found)
	if err != nil {
		a.state.Until = now.Add(a.clientTimeout())
		return
	}
	if found.Epoch > a.state.Epoch { // a wake whose signal never arrived
		last := found.Last
		a.state.Epoch, a.state.Wake, a.unsettled = found.Epoch, &last, true
		a.state.Wakes++
	}
	if found.Until.After(now) || a.state.Dream != nil {
		a.state.Until = later(found.Until, now.Add(time.Second))
		if most := now.Add(lookInterval); a.state.Until.After(most) { // the signal of a client that leaves may be lost
			a.state.Until = most
		}
		if !found.Until.After(now) { // only the dream keeps the agent from sleeping
			a.state.Until = now.Add(lookInterval)
		}
		return
	}
	if state, err := circadian.Step(circadian.Awake, circadian.ClientLeft); err == nil {
		a.state.State, a.changed = string(state), true
		a.state.LastActive = now // idle time begins when nothing holds the agent awake
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
