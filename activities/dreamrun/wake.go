package dreamrun

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// defaultHold is how long an agent stays awake for a wake that does not say.
const defaultHold = time.Minute

// visitOf converts a wake that arrived without an epoch for the presence store.
func visitOf(w activities.Wake, agent string, now time.Time) presence.Visit {
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
		v.Client = presence.AlarmClient + w.Trigger
	}
	return v
}

// RaiseEpoch raises the epoch of an agent and publishes the wake notice, for a wake that another Temporal client sent
// to its workflow. It returns the wake with the agent's current epoch.
func (d *DreamRun) RaiseEpoch(ctx context.Context,
	r activities.RaiseEpochRequest,
) (activities.RaiseEpochResult, error) {
	now := core.At(d.Ports, activities.Stretch{Now: r.Now}).Now()
	visit := visitOf(r.Wake, r.Agent, now)
	visit.Lock, visit.Notify = r.Lock, d.WakeBus != nil
	arrival, err := d.Presence.Arrive(ctx, visit)
	if err != nil {
		return activities.RaiseEpochResult{Wake: r.Wake}, fmt.Errorf("raise the epoch of %s: %w", r.Agent, err)
	}
	w := r.Wake
	w.Epoch = arrival.Epoch
	w.Cause = arrival.Cause
	w.Client = arrival.Client
	w.At = arrival.At
	w.Raised = core.At(d.Ports, activities.Stretch{Now: r.Now}).Now()
	if arrival.Raised && !arrival.Notified {
		d.notify(ctx, r.Agent, w)
	}
	joined := visit.Cause == presence.Connect && !arrival.Raised && arrival.Cause != presence.Connect &&
		arrival.Dream == ""
	return activities.RaiseEpochResult{Wake: w, Joined: joined}, nil
}

// notify publishes a wake notice to every process. A failure is ignored: the fence and the workflow stop the dream as
// well.
func (d *DreamRun) notify(ctx context.Context, agent string, w activities.Wake) {
	if d.WakeBus != nil {
		_ = d.WakeBus.Publish(ctx, presence.WakeNotice{
			Agent:  agent,
			Epoch:  w.Epoch,
			Cause:  w.Cause,
			At:     w.At,
			Raised: w.Raised,
		})
	}
}

// AnnounceWake announces that the agent is awake and records that its workflow knows. For a forged epoch it records the
// newest real one.
func (d *DreamRun) AnnounceWake(ctx context.Context,
	r activities.AnnounceWakeRequest,
) (activities.AnnounceWakeResult, error) {
	newest, err := d.Presence.Epoch(ctx, r.Agent)
	if err != nil {
		return activities.AnnounceWakeResult{}, fmt.Errorf("ask for the epoch of %s: %w", r.Agent, err)
	}
	var result activities.AnnounceWakeResult
	if r.Epoch > newest {
		r.Epoch, result = newest, activities.AnnounceWakeResult{Forged: true, Epoch: newest}
	}
	if !r.Asleep {
		e := event.New(fmt.Sprintf("awake/%d", r.Epoch), r.Agent, r.Dream,
			core.At(d.Ports, activities.Stretch{Now: r.Now}).Now(),
			event.AgentAwake{Epoch: r.Epoch, Cause: r.Cause, Dream: r.Dream})
		// a client is waiting
		if _, err := d.Memory.Commit(ctx,
			memory.Write{Agent: r.Agent, Cause: "wake", Events: []event.Event{e}, Late: true}); err != nil {
			return result, fmt.Errorf("announce that %s is awake: %w", r.Agent, err)
		}
	}
	return result, d.Presence.Recorded(ctx, r.Agent, r.Epoch)
}

// CheckClients reads what holds an agent awake. If nothing does, it announces that the agent falls asleep.
func (d *DreamRun) CheckClients(ctx context.Context,
	r activities.CheckClientsRequest,
) (activities.CheckClientsResult, error) {
	now := core.At(d.Ports, activities.Stretch{Now: r.Now}).Now()
	status, err := d.Presence.Status(ctx, r.Agent, now)
	if err != nil {
		return activities.CheckClientsResult{}, fmt.Errorf("ask who is connected to %s: %w", r.Agent, err)
	}
	result := activities.CheckClientsResult{Until: status.Until(), Epoch: status.Epoch, Seen: status.Seen}
	if last := status.Last; last != nil {
		result.Last = activities.Wake{Epoch: last.Epoch, Cause: last.Cause, Client: last.Client, At: last.At}
	}
	for _, l := range status.Leases {
		if l.Cause == presence.Connect && !l.Since.Before(result.Visit.At) {
			result.Visit = activities.Wake{Epoch: status.Epoch, Cause: l.Cause, Client: l.Client, At: l.Since}
		}
	}
	if status.Awake(now) || status.Epoch == 0 || r.Asleep {
		return result, nil
	}
	e := event.New(fmt.Sprintf("asleep/%d", status.Epoch), r.Agent, "", now, event.AgentAsleep{Epoch: status.Epoch})
	_, err = d.Memory.Commit(ctx, memory.Write{Agent: r.Agent, Cause: "sleep", Events: []event.Event{e}})
	return result, err
}
