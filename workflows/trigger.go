package workflows

import (
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Triggering is what a life knows of its triggers. It crosses continue-as-new, so that a schedule which was missed
// calls once and a call that came in the midst of a dream is not lost.
type Triggering struct {
	Pending *activities.Fire `json:"pending,omitempty"` // the call that waits
	// the other triggers' that the same dream will answer: one takes its place when it is dropped
	Behind       []activities.Fire        `json:"behind,omitempty"`
	Appointments []activities.Appointment `json:"appointments,omitempty"` // the next call of each schedule
	// the schedules and the zone that they were made for
	Of      string             `json:"of,omitempty"`
	Heard   map[string]string  `json:"heard,omitempty"`   // by trigger, what called last
	Last    *activities.Fire   `json:"last,omitempty"`    // the call that the last dream answered
	Began   time.Time          `json:"began,omitzero"`    // when the last dream began
	Looked  time.Time          `json:"looked,omitzero"`   // when the urgency was looked at last
	Urgency *circadian.Urgency `json:"urgency,omitempty"` // as it was then
	Again   time.Time          `json:"again,omitzero"`    // the store was away: not before then
}

// heedAgain is how long a life waits before it looks at its triggers again, when the store was away.
const heedAgain = time.Minute

// heeding says whether this life has triggers, or an urgency, at all: those of before had none.
func (s Settings) heeding() bool { return s.Triggers != nil || s.Eager != nil }

// idles says whether idleness alone makes it dream.
func (s Settings) idles() bool {
	return s.Triggers == nil ||
		slices.ContainsFunc(s.Triggers, func(t dream.Trigger) bool { return t.Kind == dream.OnIdle })
}

func (s Settings) schedules() []dream.Trigger {
	return slices.DeleteFunc(slices.Clone(s.Triggers), func(t dream.Trigger) bool { return t.Kind != dream.OnSchedule })
}

// scheduled names what appointments are made for.
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

// keeps says whether a trigger's appointment still holds, although others may have come or gone: its schedule and the
// zone are those that it was made for.
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

// quiet is the time that must have passed since the last activity before a called dream begins.
func (s Settings) quiet() time.Duration {
	if s.Eager != nil && s.Eager.Idle > 0 {
		return min(s.Eager.Idle, s.IdleTimeout)
	}
	return s.IdleTimeout
}

func (a *agentRun) rhythm() circadian.Rhythm {
	s := a.state.Settings
	return circadian.Rhythm{
		IdleTimeout: s.IdleTimeout, MinGap: s.MinGap, ResumeAfter: s.ResumeAfter,
		Jitter: circadian.Jitter(a.request.Agent, a.state.Dreams, s.Jitter),
	}
}

func (a *agentRun) past() circadian.Past {
	past := circadian.Past{Active: a.state.LastActive, Dream: a.state.LastDream, Try: a.state.LastTry}
	if a.state.Broken != nil {
		past.Expires = a.state.Broken.Until
	}
	return past
}

// calledAt is when the dream that a call waits for may begin. An urgency is forgotten when the agent was used since.
func (a *agentRun) calledAt() (time.Time, bool) {
	f := a.state.Triggering.Pending
	if f == nil || f.Kind != dream.OnRequest && !a.state.Settings.Auto ||
		f.Kind == activities.OnUrgency && a.state.LastActive.After(f.At) {
		return time.Time{}, false
	}
	r := a.rhythm()
	c := circadian.Call{At: f.At, Now: f.Kind == dream.OnRequest, Quiet: a.state.Settings.quiet(), Jitter: r.Jitter}
	if f.Kind == activities.OnUrgency { // its look was late by the jitter already
		c.Jitter = 0
	}
	return r.Called(c, a.past()), true
}

// heedAt is when to look at the triggers next: at once when the schedules have changed, else at the next appointment
// and when an idle agent may be urgent.
func (a *agentRun) heedAt(now time.Time) (time.Time, bool) {
	s, t := a.state.Settings, a.state.Triggering
	if !s.heeding() || !s.Auto {
		return time.Time{}, false
	}
	var at time.Time
	sooner := func(when time.Time) {
		if !when.IsZero() && (at.IsZero() || when.Before(at)) {
			at = when
		}
	}
	if t.Of != s.scheduled() {
		sooner(now)
	}
	for _, each := range t.Appointments {
		sooner(each.At)
	}
	if look, ok := a.lookAt(); ok {
		sooner(look)
	}
	if t.Again.After(at) && !at.IsZero() {
		at = t.Again
	}
	return at, !at.IsZero()
}

// lookAt is when the urgency is to be asked for, once in each stretch of idleness.
func (a *agentRun) lookAt() (time.Time, bool) {
	s := a.state.Settings
	if s.Eager == nil || s.Eager.Idle <= 0 || s.Eager.Idle >= s.IdleTimeout || !s.idles() || a.state.Broken != nil {
		return time.Time{}, false
	}
	at := a.rhythm().Look(s.Eager.Idle, a.past())
	return at, a.state.Triggering.Looked.Before(at)
}

// heed looks at the triggers when it is time: an appointment that has come calls, however many were missed, and an idle
// agent that is urgent calls for itself.
func (a *agentRun) heed(ctx workflow.Context) {
	now := workflow.Now(ctx)
	at, ok := a.heedAt(now)
	if a.state.State != Sleeping || !ok || at.After(now) {
		return
	}
	s := a.state.Settings
	request := activities.HeedRequest{Agent: a.request.Agent, Now: now, Zone: s.Zone, Schedules: s.schedules()}
	look, asks := a.lookAt()
	if asks && !look.After(now) {
		request.Eager = s.Eager
	}
	var found activities.HeedResult
	if err := workflow.ExecuteLocalActivity(shortly(ctx, "look at the triggers"), "Bed.Heed", request).Get(ctx,
		&found); err != nil {
		a.state.Triggering.Again = now.Add(heedAgain)
		return
	}
	t := &a.state.Triggering
	for _, each := range t.Appointments {
		if !each.At.IsZero() && !each.At.After(now) && s.keeps(t.Of, each.Trigger) {
			a.call(activities.Fire{Trigger: each.Trigger, Kind: dream.OnSchedule, At: each.At, Why: "its schedule"})
		}
	}
	t.Appointments, t.Of, t.Again = found.Appointments, s.scheduled(), time.Time{}
	if request.Eager != nil {
		t.Looked, t.Urgency = now, found.Urgency
	}
	if found.Early {
		a.call(
			activities.Fire{
				Trigger: string(activities.OnUrgency), Kind: activities.OnUrgency, At: now,
				Why: "it is urgent",
			})
	}
}

// call takes in one call. Of several the first waits in front, since one dream answers them all; a person's goes
// before.
func (a *agentRun) call(f activities.Fire) {
	t := &a.state.Triggering
	switch {
	case f.Drop:
		t.drop(func(waiting activities.Fire) bool { return waiting.Trigger == f.Trigger })
		return
	case f.Kind == dream.OnRequest:
		a.state.NotBefore = time.Time{} // hours are not asked for it
	case f.Kind != activities.OnUrgency &&
		!slices.ContainsFunc(a.state.Settings.Triggers, func(own dream.Trigger) bool { return own.Name == f.Trigger }):
		return // it was dropped meanwhile
	case f.Key != "" && t.Heard[f.Trigger] == f.Key, f.At.Before(t.Began):
		return
	}
	if f.Key != "" {
		if t.Heard == nil {
			t.Heard = map[string]string{}
		}
		t.Heard[f.Trigger] = f.Key
	}
	t.wait(f)
}

// wait puts a call among those that wait, each trigger's once. An urgency gives way to whatever else calls.
func (t *Triggering) wait(f activities.Fire) {
	p := t.Pending
	switch {
	case p == nil || p.Kind == activities.OnUrgency:
		t.Pending = &f
	case f.Kind == activities.OnUrgency || p.Trigger == f.Trigger:
	case f.Kind == dream.OnRequest:
		t.Pending, t.Behind = &f, slices.Insert(t.Behind, 0, *p)
	case !slices.ContainsFunc(t.Behind, func(b activities.Fire) bool { return b.Trigger == f.Trigger }):
		t.Behind = append(t.Behind, f)
	}
}

// drop forgets calls that wait; the first of the others takes the place of the one in front.
func (t *Triggering) drop(removed func(activities.Fire) bool) {
	t.Behind = slices.DeleteFunc(t.Behind, removed)
	if t.Pending == nil || !removed(*t.Pending) {
		return
	}
	t.Pending = nil
	if len(t.Behind) > 0 {
		t.Pending, t.Behind = &t.Behind[0], slices.Clone(t.Behind[1:])
	}
}

// answered notes that a dream begins: whatever called for one has it. What it answers takes that back, for a dream that
// could not begin after all.
func (a *agentRun) answered(now time.Time) (unanswered func()) {
	t := &a.state.Triggering
	before := *t
	t.Last, t.Pending, t.Behind, t.Began = t.Pending, nil, nil, now
	return func() {
		came := t.Behind
		if t.Pending != nil {
			came = slices.Insert(came, 0, *t.Pending)
		}
		t.Last = before.Last
		t.Pending = before.Pending
		t.Behind = before.Behind
		t.Began = before.Began
		for _, f := range came {
			t.wait(f)
		}
	}
}

// drainCalls takes every call that has come.
func (a *agentRun) drainCalls() {
	var f activities.Fire
	for a.calls.ReceiveAsync(&f) {
		a.call(f)
		a.changed = true
		f = activities.Fire{}
	}
}

// forget drops what is known of triggers that are no more.
func (a *agentRun) forget() {
	t, own := &a.state.Triggering, map[string]bool{string(dream.OnRequest): true, string(activities.OnUrgency): true}
	for _, each := range a.state.Settings.Triggers {
		own[each.Name] = true
	}
	t.drop(func(f activities.Fire) bool { return !own[f.Trigger] })
	// what is missed while it may not dream by itself is not made up for; what still holds then is told again
	if !a.state.Settings.Auto {
		t.Appointments, t.Of, t.Heard = nil, "", nil
		t.drop(func(f activities.Fire) bool { return f.Kind != dream.OnRequest })
	}
	for _, name := range workflow.DeterministicKeys(t.Heard) {
		if !own[name] {
			delete(t.Heard, name)
		}
	}
}

// calling is what a dream that begins by itself now is called by; nil when it is idleness.
func (a *agentRun) calling(now time.Time) *activities.Fire {
	if at, ok := a.calledAt(); ok && !at.After(now) {
		return a.state.Triggering.Pending
	}
	return nil
}
