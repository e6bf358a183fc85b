package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// Wake asks an agent, or one dream, to wake up. Whoever raised the epoch names it; with the zero Wake, which a person
// may send with any tool, the epoch is raised where it arrives.
type Wake struct {
	Epoch   int64          `json:"epoch,omitempty"`
	Cause   presence.Cause `json:"cause,omitempty"`   // operator when empty; alarm for a signal of that name
	Client  string         `json:"client,omitempty"`  // who came
	At      time.Time      `json:"at,omitzero"`       // when the visit was received
	Raised  time.Time      `json:"raised,omitzero"`   // when its epoch was durable
	Trigger string         `json:"trigger,omitempty"` // of an alarm: "feed/rule"
	// how long an agent that nobody visits stays awake for it; 0: a minute
	Hold time.Duration `json:"hold,omitempty"`
	// the dream that whoever raised the epoch tells himself, beside the agent's life
	Told string `json:"told,omitempty"`
}

// alarmed begins the name of the client that an alarm comes as.
const alarmed = "alarm/"

// held is how long an agent stays awake for a wake that does not say.
const held = time.Minute

// visit is the wake as a visit, for one that came without an epoch.
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
		v.For = held
	}
	if v.Client == "" {
		v.Client = "signal"
	}
	if v.Cause == presence.Alarm && w.Trigger != "" {
		v.Client = alarmed + w.Trigger
	}
	return v
}

// RouseRequest asks to raise an agent's epoch for a wake that nobody raised it for.
type RouseRequest struct {
	Agent string    `json:"agent"`
	Wake  Wake      `json:"wake"`
	Now   time.Time `json:"now"`

	Lock time.Duration `json:"lock,omitempty"` // the wake lock
}

// RouseResult is the wake with the epoch that holds now.
type RouseResult struct {
	Wake
	// a knock that raised no epoch, as an alarm or an operator held the sleeper awake
	Joined bool `json:"joined,omitempty"`
}

// Rouse raises the epoch of an agent and rings the bell, for a wake that reached its workflow by another tool than
// ours. It answers the wake with the epoch that holds now.
func (b *DreamRun) Rouse(ctx context.Context, r RouseRequest) (RouseResult, error) {
	now := b.now(Stretch{Now: r.Now})
	visit := r.Wake.visit(r.Agent, now)
	visit.Lock, visit.Notify = r.Lock, b.WakeBus != nil
	arrival, err := b.Presence.Arrive(ctx, visit)
	if err != nil {
		return RouseResult{Wake: r.Wake}, toApplicationError(fmt.Errorf("raise the epoch of %s: %w", r.Agent, err))
	}
	w := r.Wake
	w.Epoch, w.Cause, w.Client, w.At, w.Raised = arrival.Epoch, arrival.Cause, arrival.Client, arrival.At,
		b.now(Stretch{Now: r.Now})
	if arrival.Raised && !arrival.Notified {
		b.notify(ctx, r.Agent, w)
	}
	joined := visit.Cause == presence.Connect && !arrival.Raised && arrival.Cause != presence.Connect &&
		arrival.Dream == ""
	return RouseResult{Wake: w, Joined: joined}, nil
}

// notify tells every process; what it does not reach, the fence and the workflow do.
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

// GreetRequest notes that an agent's life has recorded a wake, or that nobody holds the agent awake any more.
type GreetRequest struct {
	Agent string    `json:"agent"`
	Epoch int64     `json:"epoch"`
	Cause string    `json:"cause,omitempty"`
	Dream string    `json:"dream,omitempty"`
	Now   time.Time `json:"now"`

	Asleep bool `json:"asleep,omitempty"` // the wake left it asleep: there is nothing to announce
}

// GreetResult tells of a wake whose epoch nobody has raised.
type GreetResult struct {
	Forged bool  `json:"forged,omitempty"`
	Epoch  int64 `json:"epoch,omitempty"` // the agent's newest, when the one that was told is above it
}

// Greet announces that the agent is awake and notes that its life knows. Of a forged epoch it notes the newest that is
// true.
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
		// somebody waits
		if _, err := b.Memory.Commit(ctx,
			memory.Write{Agent: r.Agent, Cause: "wake", Events: []event.Event{e}, Late: true}); err != nil {
			return result, toApplicationError(fmt.Errorf("announce that %s is awake: %w", r.Agent, err))
		}
	}
	return result, toApplicationError(b.Presence.Recorded(ctx, r.Agent, r.Epoch))
}

// LookRequest asks who holds an agent awake.
type LookRequest struct {
	Agent string    `json:"agent"`
	Now   time.Time `json:"now"`

	Asleep bool `json:"asleep,omitempty"` // its life has it asleep: when nobody is there, there is nothing to announce
}

// LookResult tells until when an agent stays awake.
type LookResult struct {
	Until time.Time     `json:"until,omitzero"` // not after now: it is free to sleep
	Epoch int64         `json:"epoch"`
	Last  Wake          `json:"last"` // the newest wake
	Seen  time.Time     `json:"seen,omitzero"`
	Hold  time.Duration `json:"hold,omitempty"`
	Visit Wake          `json:"guest,omitzero"` // the last of those who came by themselves and are still there
}

// Look asks who holds an agent awake; when nobody does, it announces that the agent falls asleep.
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
