package workflows

import (
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/triggers"
)

// Triggering is the trigger state of an agent. It is carried across continue-as-new, so that a missed schedule calls
// once and a call that arrives during a dream is not lost.
type Triggering struct {
	Pending *triggers.Fire `json:"pending,omitempty"` // the call that is waiting
	// waiting calls of other triggers, which the same dream answers; the first replaces Pending when that is dropped
	AlsoPending  []triggers.Fire          `json:"also_pending,omitempty"`
	Appointments []activities.Appointment `json:"appointments,omitempty"` // the next time of each schedule
	// the schedules and the zone that Appointments were computed from
	ComputedFrom string             `json:"computed_from,omitempty"`
	LastKeys     map[string]string  `json:"last_keys,omitempty"` // the key of the last call, by trigger
	Last         *triggers.Fire     `json:"last,omitempty"`      // the call that the last dream answered
	Began        time.Time          `json:"began,omitzero"`      // when the last dream began
	Checked      time.Time          `json:"checked,omitzero"`    // when urgency was last checked
	Urgency      *circadian.Urgency `json:"urgency,omitempty"`   // the result of that check
	// no check before then, because the store was unreachable
	Again time.Time `json:"again,omitzero"`
}

// triggerRetry is the delay before triggers are checked again when the store was unreachable.
const triggerRetry = time.Minute

// hasTriggers says whether there are triggers or an urgency to check. Settings of older versions have neither.
func (s Settings) hasTriggers() bool { return s.Triggers != nil || s.UrgencyRule != nil }

// idles says whether idleness alone begins a dream.
func (s Settings) idles() bool {
	return s.Triggers == nil ||
		slices.ContainsFunc(s.Triggers, func(t dream.Trigger) bool { return t.Kind == dream.OnIdle })
}

// schedules lists the triggers that are schedules.
func (s Settings) schedules() []dream.Trigger {
	return slices.DeleteFunc(slices.Clone(s.Triggers), func(t dream.Trigger) bool { return t.Kind != dream.OnSchedule })
}

// scheduled identifies the schedules and their zone; appointments of another value are out of date.
func (s Settings) scheduled() string {
	schedules := s.schedules()
	if len(schedules) == 0 {
		return ""
	}
	words := []string{s.Zone}
	for _, t := range schedules {
		words = append(words, t.Name, t.Schedule)
	}
	return strings.Join(words, "\n")
}

// keeps says whether an appointment computed from the value of still holds: the trigger's schedule and the zone are
// unchanged, although other schedules may differ.
func (s Settings) keeps(of, trigger string) bool {
	words := strings.Split(of, "\n")
	if words[0] != s.Zone {
		return false
	}
	return slices.ContainsFunc(s.schedules(), func(t dream.Trigger) bool {
		for pair := range slices.Chunk(words[1:], 2) {
			if t.Name == trigger && len(pair) == 2 && pair[0] == t.Name && pair[1] == t.Schedule {
				return true
			}
		}
		return false
	})
}

// quiet is the idle time before a dream that a trigger calls for.
func (s Settings) quiet() time.Duration {
	if s.UrgencyRule != nil && s.UrgencyRule.Idle > 0 {
		return min(s.UrgencyRule.Idle, s.IdleTimeout)
	}
	return s.IdleTimeout
}

// rhythm is the timing of automatic dreams by the current settings.
func (a *timetable) rhythm() circadian.Rhythm {
	s := a.state.Settings
	return circadian.Rhythm{
		IdleTimeout: s.IdleTimeout, MinGap: s.MinGap, ResumeAfter: s.ResumeAfter,
		Jitter: circadian.Jitter(a.agent, a.state.Dreams, s.Jitter),
	}
}

// past is what the timing needs to know of earlier events.
func (a *timetable) past() circadian.LastTimes {
	past := circadian.LastTimes{Active: a.state.LastActive, Dream: a.state.LastDream, Try: a.state.LastTry}
	if a.state.Interrupted != nil {
		past.Expires = a.state.Interrupted.Until
	}
	return past
}

// calledAt is when the dream of the pending call may begin. An urgent call expires when the agent is used after it.
func (a *timetable) calledAt() (time.Time, bool) {
	f := a.state.Triggering.Pending
	if f == nil || f.Kind != dream.OnRequest && !a.state.Settings.Auto ||
		f.Kind == triggers.OnUrgency && a.state.LastActive.After(f.At) {
		return time.Time{}, false
	}
	r := a.rhythm()
	c := circadian.TriggerCall{
		At: f.At, Now: f.Kind == dream.OnRequest, Quiet: a.state.Settings.quiet(),
		Jitter: r.Jitter,
	}
	if f.Kind == triggers.OnUrgency { // its check was delayed by the jitter already
		c.Jitter = 0
	}
	return r.CallDue(c, a.past()), true
}

// triggersDueAt is when to check the triggers next: at once when schedules have changed, otherwise at the next
// appointment and when an idle agent may be urgent.
func (a *timetable) triggersDueAt(now time.Time) (time.Time, bool) {
	s, t := a.state.Settings, a.state.Triggering
	if !s.hasTriggers() || !s.Auto {
		return time.Time{}, false
	}
	var at time.Time
	sooner := func(when time.Time) {
		if !when.IsZero() && (at.IsZero() || when.Before(at)) {
			at = when
		}
	}
	if t.ComputedFrom != s.scheduled() {
		sooner(now)
	}
	for _, each := range t.Appointments {
		sooner(each.At)
	}
	if look, ok := a.urgencyDueAt(); ok {
		sooner(look)
	}
	if t.Again.After(at) && !at.IsZero() {
		at = t.Again
	}
	return at, !at.IsZero()
}

// urgencyDueAt is when urgency is checked, once in each stretch of idleness.
func (a *timetable) urgencyDueAt() (time.Time, bool) {
	s := a.state.Settings
	if s.UrgencyRule == nil || s.UrgencyRule.Idle <= 0 || s.UrgencyRule.Idle >= s.IdleTimeout || !s.idles() ||
		a.state.Interrupted != nil {
		return time.Time{}, false
	}
	at := a.rhythm().CheckAt(s.UrgencyRule.Idle, a.past())
	return at, a.state.Triggering.Checked.Before(at)
}

// checkTriggers checks the triggers when it is time. An appointment that has passed calls once, however many were
// missed; an idle agent that is urgent calls for a dream.
func (a *agentRun) checkTriggers(ctx workflow.Context) {
	now := workflow.Now(ctx)
	at, ok := a.triggersDueAt(now)
	if a.state.State != Sleeping || !ok || at.After(now) {
		return
	}
	s := a.state.Settings
	request := activities.CheckTriggersRequest{Agent: a.request.Agent, Now: now, Zone: s.Zone, Schedules: s.schedules()}
	look, asks := a.urgencyDueAt()
	if asks && !look.After(now) {
		request.UrgencyRule = s.UrgencyRule
	}
	var found activities.CheckTriggersResult
	err := workflow.ExecuteLocalActivity(shortly(ctx, "look at the triggers"), activities.AgentCheckTriggers,
		request).Get(ctx, &found)
	if err != nil {
		a.state.Triggering.Again = now.Add(triggerRetry)
		return
	}
	t := &a.state.Triggering
	for _, each := range t.Appointments {
		if !each.At.IsZero() && !each.At.After(now) && s.keeps(t.ComputedFrom, each.Trigger) {
			a.call(triggers.Fire{Trigger: each.Trigger, Kind: dream.OnSchedule, At: each.At, Reason: "its schedule"})
		}
	}
	t.Appointments, t.ComputedFrom, t.Again = found.Appointments, s.scheduled(), time.Time{}
	if request.UrgencyRule != nil {
		t.Checked, t.Urgency = now, found.Urgency
	}
	if found.Early {
		a.call(
			triggers.Fire{
				Trigger: string(triggers.OnUrgency), Kind: triggers.OnUrgency, At: now,
				Reason: "it is urgent",
			})
	}
}

// call handles one call. Since one dream answers all waiting calls, the first stays pending; a person's request goes
// before it.
func (a *timetable) call(f triggers.Fire) {
	t := &a.state.Triggering
	switch {
	case f.Drop:
		t.drop(func(waiting triggers.Fire) bool { return waiting.Trigger == f.Trigger })
		return
	case f.Kind == dream.OnRequest:
		a.state.NotBefore = time.Time{} // a request ignores quiet hours
	case f.Kind != triggers.OnUrgency &&
		!slices.ContainsFunc(a.state.Settings.Triggers, func(own dream.Trigger) bool { return own.Name == f.Trigger }):
		return // the trigger was removed meanwhile
	case f.Key != "" && t.LastKeys[f.Trigger] == f.Key, f.At.Before(t.Began):
		return
	}
	if f.Key != "" {
		if t.LastKeys == nil {
			t.LastKeys = map[string]string{}
		}
		t.LastKeys[f.Trigger] = f.Key
	}
	t.wait(f)
}

// wait queues a call, one per trigger. An urgent call gives way to any other.
func (t *Triggering) wait(f triggers.Fire) {
	p := t.Pending
	switch {
	case p == nil || p.Kind == triggers.OnUrgency:
		t.Pending = &f
	case f.Kind == triggers.OnUrgency || p.Trigger == f.Trigger:
	case f.Kind == dream.OnRequest:
		t.Pending, t.AlsoPending = &f, slices.Insert(t.AlsoPending, 0, *p)
	case !slices.ContainsFunc(t.AlsoPending, func(b triggers.Fire) bool { return b.Trigger == f.Trigger }):
		t.AlsoPending = append(t.AlsoPending, f)
	}
}

// drop removes waiting calls; the first of those left becomes pending.
func (t *Triggering) drop(removed func(triggers.Fire) bool) {
	t.AlsoPending = slices.DeleteFunc(t.AlsoPending, removed)
	if t.Pending == nil || !removed(*t.Pending) {
		return
	}
	t.Pending = nil
	if len(t.AlsoPending) > 0 {
		t.Pending, t.AlsoPending = &t.AlsoPending[0], slices.Clone(t.AlsoPending[1:])
	}
}

// answer clears the waiting calls because a dream begins. The function it returns restores them, for a dream that
// failed to begin.
func (t *Triggering) answer(now time.Time) (restore func()) {
	before := *t
	t.Last = t.Pending
	t.Pending, t.AlsoPending = nil, nil
	t.Began = now
	return func() {
		arrivals := t.AlsoPending
		if t.Pending != nil {
			arrivals = slices.Insert(arrivals, 0, *t.Pending)
		}
		t.Last = before.Last
		t.Pending = before.Pending
		t.AlsoPending = before.AlsoPending
		t.Began = before.Began
		for _, f := range arrivals {
			t.wait(f)
		}
	}
}

// drainCalls takes every call that has come.
func (a *agentRun) drainCalls() {
	var f triggers.Fire
	for a.calls.ReceiveAsync(&f) {
		a.call(f)
		a.changed = true
		f = triggers.Fire{}
	}
}

// forget drops the state of triggers that no longer exist.
func (a *timetable) forget() {
	t, own := &a.state.Triggering, map[string]bool{string(dream.OnRequest): true, string(triggers.OnUrgency): true}
	for _, each := range a.state.Settings.Triggers {
		own[each.Name] = true
	}
	t.drop(func(f triggers.Fire) bool { return !own[f.Trigger] })
	// schedules missed while automatic dreams are off are not made up for; a condition that still holds calls again
	if !a.state.Settings.Auto {
		t.Appointments, t.ComputedFrom, t.LastKeys = nil, "", nil
		t.drop(func(f triggers.Fire) bool { return f.Kind != dream.OnRequest })
	}
	for _, name := range workflow.DeterministicKeys(t.LastKeys) {
		if !own[name] {
			delete(t.LastKeys, name)
		}
	}
}

// calling is the call that a dream which begins now answers; nil when it begins by idleness.
func (a *timetable) calling(now time.Time) *triggers.Fire {
	if at, ok := a.calledAt(); ok && !at.After(now) {
		return a.state.Triggering.Pending
	}
	return nil
}
