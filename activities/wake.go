package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// Wake asks an agent, or one dream, to wake up. It carries the epoch when its sender has raised one. With the zero
// Wake, which a person may send with any tool, the receiver raises it.
type Wake struct {
	Epoch   int64          `json:"epoch,omitempty"`
	Cause   presence.Cause `json:"cause,omitempty"`   // empty: operator; alarm for the alarm signal
	Client  string         `json:"client,omitempty"`  // which client connected
	At      time.Time      `json:"at,omitzero"`       // when the request was received
	Raised  time.Time      `json:"raised,omitzero"`   // when its epoch was durable
	Trigger string         `json:"trigger,omitempty"` // of an alarm: "feed/rule"
	// how long an agent without clients stays awake for it; 0: a minute
	Hold time.Duration `json:"hold,omitempty"`
	// the dream that the sender signals itself, beside the agent's workflow
	SignalledDream string `json:"told,omitempty"`
}

// alarmed is the prefix of the client name of an alarm.
const alarmed = "alarm/"

// defaultHold is how long an agent stays awake for a wake that does not say.
const defaultHold = time.Minute

// visit converts a wake that arrived without an epoch for the presence store.
func (w Wake) visit(agent string, now time.Time) presence.Visit {
	v := presence.Visit{
		Agent:  agent,
		Client: w.Client,
		Cause:  w.Cause,
		Now:    now,
		For:    w.Hold,
	}
	if v.Cause == "" {
		v.Cause = presence.Operator
	}
	if v.For <= 0 {
		v.For = defaultHold
	}
	if v.Client == "" {
		v.Client = "signal"
	}
	if v.Cause == presence.Alarm && w.Trigger != "" {
		v.Client = alarmed + w.Trigger
	}
	return v
}

// RouseRequest is the input of DreamRun.Rouse.
type RouseRequest struct {
	Agent string    `json:"agent"`
	Wake  Wake      `json:"wake"`
	Now   time.Time `json:"now"`

	Lock time.Duration `json:"lock,omitempty"` // the wake lock
}

// RouseResult is the wake with the agent's current epoch.
type RouseResult struct {
	Wake
	// a client connected while an alarm or an operator held the agent, so no epoch was raised
	Joined bool `json:"joined,omitempty"`
}

// Rouse raises the epoch of an agent and publishes the wake notice, for a wake that another Temporal client sent to
// its workflow. It returns the wake with the agent's current epoch.
func (b *DreamRun) Rouse(ctx context.Context, r RouseRequest) (RouseResult, error) {
	now := b.now(Stretch{Now: r.Now})
	visit := r.Wake.visit(r.Agent, now)
	visit.Lock, visit.Notify = r.Lock, b.WakeBus != nil
	arrival, err := b.Presence.Arrive(ctx, visit)
	if err != nil {
		return RouseResult{Wake: r.Wake}, toApplicationError(fmt.Errorf("raise the epoch of %s: %w", r.Agent, err))
	}
	w := r.Wake
	w.Epoch = arrival.Epoch
	w.Cause = arrival.Cause
	w.Client = arrival.Client
	w.At = arrival.At
	w.Raised = b.now(Stretch{Now: r.Now})
	if arrival.Raised && !arrival.Notified {
		b.notify(ctx, r.Agent, w)
	}
	joined := visit.Cause == presence.Connect && !arrival.Raised && arrival.Cause != presence.Connect &&
		arrival.Dream == ""
	return RouseResult{Wake: w, Joined: joined}, nil
}

// notify publishes a wake notice to every process. A failure is ignored: the fence and the workflow stop the dream as
// well.
func (b *DreamRun) notify(ctx context.Context, agent string, w Wake) {
	if b.WakeBus != nil {
		_ = b.WakeBus.Publish(ctx, presence.WakeNotice{
			Agent:  agent,
			Epoch:  w.Epoch,
			Cause:  w.Cause,
			At:     w.At,
			Raised: w.Raised,
		})
	}
}

// GreetRequest says that an agent's workflow has recorded a wake, or that the agent may sleep again.
type GreetRequest struct {
	Agent string    `json:"agent"`
	Epoch int64     `json:"epoch"`
	Cause string    `json:"cause,omitempty"`
	Dream string    `json:"dream,omitempty"`
	Now   time.Time `json:"now"`

	Asleep bool `json:"asleep,omitempty"` // the wake left the agent asleep: nothing is announced
}

// GreetResult reports a wake whose epoch was never raised in the store.
type GreetResult struct {
	Forged bool  `json:"forged,omitempty"`
	Epoch  int64 `json:"epoch,omitempty"` // the agent's newest epoch, if the announced one is above it
}

// Greet announces that the agent is awake and records that its workflow knows. For a forged epoch it records the
// newest real one.
func (b *DreamRun) Greet(ctx context.Context, r GreetRequest) (GreetResult, error) {
	newest, err := b.Presence.Epoch(ctx, r.Agent)
	if err != nil {
		return GreetResult{}, toApplicationError(fmt.Errorf("ask for the epoch of %s: %w", r.Agent, err))
	}
	var result GreetResult
	if r.Epoch > newest {
		r.Epoch, result = newest, GreetResult{Forged: true, Epoch: newest}
	}
	if !r.Asleep {
		e := event.New(fmt.Sprintf("awake/%d", r.Epoch), r.Agent, r.Dream, b.now(Stretch{Now: r.Now}),
			event.AgentAwake{Epoch: r.Epoch, Cause: r.Cause, Dream: r.Dream})
		// a client is waiting
		if _, err := b.Memory.Commit(ctx,
			memory.Write{Agent: r.Agent, Cause: "wake", Events: []event.Event{e}, Late: true}); err != nil {
			return result, toApplicationError(fmt.Errorf("announce that %s is awake: %w", r.Agent, err))
		}
	}
	return result, toApplicationError(b.Presence.Recorded(ctx, r.Agent, r.Epoch))
}

// LookRequest is the input of DreamRun.Look.
type LookRequest struct {
	Agent string    `json:"agent"`
	Now   time.Time `json:"now"`

	// the workflow has the agent asleep: nothing is announced when no client is there
	Asleep bool `json:"asleep,omitempty"`
}

// LookResult is until when an agent stays awake, and its newest wake.
type LookResult struct {
	Until time.Time     `json:"until,omitzero"` // not after now: it may sleep
	Epoch int64         `json:"epoch"`
	Last  Wake          `json:"last"` // the newest wake
	Seen  time.Time     `json:"seen,omitzero"`
	Hold  time.Duration `json:"hold,omitempty"`
	Visit Wake          `json:"guest,omitzero"` // the last client that connected by itself and is still there
}

// Look reads what holds an agent awake. If nothing does, it announces that the agent falls asleep.
func (b *DreamRun) Look(ctx context.Context, r LookRequest) (LookResult, error) {
	now := b.now(Stretch{Now: r.Now})
	status, err := b.Presence.Status(ctx, r.Agent, now)
	if err != nil {
		return LookResult{}, toApplicationError(fmt.Errorf("ask who is connected to %s: %w", r.Agent, err))
	}
	result := LookResult{Until: status.Until(), Epoch: status.Epoch, Seen: status.Seen}
	if last := status.Last; last != nil {
		result.Last = Wake{Epoch: last.Epoch, Cause: last.Cause, Client: last.Client, At: last.At}
	}
	for _, l := range status.Leases {
		if l.Cause == presence.Connect && !l.Since.Before(result.Visit.At) {
			result.Visit = Wake{Epoch: status.Epoch, Cause: l.Cause, Client: l.Client, At: l.Since}
		}
	}
	if status.Awake(now) || status.Epoch == 0 || r.Asleep {
		return result, nil
	}
	e := event.New(fmt.Sprintf("asleep/%d", status.Epoch), r.Agent, "", now, event.AgentAsleep{Epoch: status.Epoch})
	_, err = b.Memory.Commit(ctx, memory.Write{Agent: r.Agent, Cause: "sleep", Events: []event.Event{e}})
	return result, toApplicationError(err)
}
