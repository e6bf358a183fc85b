package week

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Observed is what happened to an agent: its leases, as its store has them, and when it fell asleep, as its events
// have it.
type Observed struct {
	Actives     []time.Time // a client came or left
	Held        []Held      // a client held it awake
	Asleep      []time.Time // it announced that no client holds it awake any more
	AgentState  workflows.AgentState
	End         time.Time
	Wakes       int
	Connections int // of the wakes, those during dreams
}

// Held is a lease, or the lock after one: no dream may begin before it ends.
type Held struct {
	Who      string
	From, To time.Time
	locks    bool // it is the lock
	rises    bool // it made the agent awake
	// how far the workflow's time was ahead of From when this was recorded, because the server skipped
	behind time.Duration
}

// quiet are the times from which idleness counts: a client came or left, or the agent fell asleep again.
func (l *Observed) quiet() []time.Time { return slices.Concat(l.Actives, l.Asleep) }

// awakeSpell is the time from an agent's waking until no client held it any more.
type awakeSpell struct {
	from, end time.Time
	behind    time.Duration // of what ended it
}

// awakeSpells are the times in which the agent is awake, by its leases alone.
func (l *Observed) awakeSpells() []awakeSpell {
	var all []awakeSpell
	for _, h := range l.Held {
		if !h.rises {
			continue
		}
		w := awakeSpell{h.From, h.To, h.behind}
		for longer := true; longer; {
			longer = false
			for _, o := range l.Held {
				if !o.From.After(w.end) && o.To.After(w.end) {
					w.end, longer = o.To, true
					w.behind = max(w.behind, o.behind)
				}
			}
		}
		all = append(all, w)
	}
	return all
}

// awake are the times from the agent's waking until it fell asleep, soon after no client held it any more.
func (l *Observed) awake() []Held {
	var all []Held
	for _, w := range l.awakeSpells() {
		if n := slices.IndexFunc(l.Asleep, w.ended); n >= 0 {
			all = append(all, Held{From: w.from, To: l.Asleep[n]})
		}
	}
	return all
}

// Run runs the days of an agent and returns when its last dream is over.
func (h *Deployment) Run(ctx context.Context, s *Sleeper, namespace string) (*Observed, error) {
	g, err := h.newDriver(ctx, s, namespace)
	if err != nil {
		return nil, err
	}
	defer g.starter.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	connected := make(chan error, 1)
	go func() {
		err := g.connectAll(ctx)
		if err != nil {
			cancel(err)
		}
		connected <- err
	}()
	err = g.days(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	cancel(nil)
	err = errors.Join(err, <-connected)
	if err == nil {
		err = g.readEvents(context.WithoutCancel(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("the days of %s (%s, %s): %w", s.Agent.Handle, s.Hours.Name, s.Zone, err)
	}
	return g.lived, nil
}

// readEvents reads what happened from store and events.
func (d *driver) readEvents(ctx context.Context) error {
	d.leases.report(d.lived)
	events, err := d.deployment.Base.Store.Events(ctx, d.sleeper.Agent.ID, 0, 0)
	for _, e := range events {
		if e.Type == (event.AgentAsleep{}).EventType() {
			d.lived.Asleep = append(d.lived.Asleep, e.At)
		}
	}
	return err
}

// RunUnvisited runs an agent without clients until it has started so many dreams, its time skipped freely.
func (h *Deployment) RunUnvisited(ctx context.Context, s *Sleeper, namespace string, dreams int) (*Observed, error) {
	g, err := h.newDriver(ctx, s, namespace)
	if err != nil {
		return nil, err
	}
	defer g.starter.Close()
	if err := g.clock.Run(ctx); err != nil {
		return nil, err
	}
	if err := g.until(ctx, "it has dreamt enough",
		func(l workflows.AgentState) bool { return l.Dreams >= dreams }); err != nil {
		return nil, err
	}
	if err := g.endDreaming(ctx); err != nil {
		return nil, fmt.Errorf("the days of %s (%s, %s): %w", s.Agent.Handle, s.Hours.Name, s.Zone, err)
	}
	nights, err := h.ObservedDreams(ctx, s.Agent.ID)
	if err == nil && len(nights) > 0 { // it is stopped at any moment after the last
		g.lived.End = nights[len(nights)-1].End()
		s.End = g.lived.End
	}
	return g.lived, err
}

// newDriver starts the workflow of an agent and takes it to the noon of its first day.
func (h *Deployment) newDriver(ctx context.Context, s *Sleeper, namespace string) (*driver, error) {
	clock := NewClock(h.Base.Client, namespace, workflows.AgentID(s.Agent.Handle))
	leases := &leaseRecorder{Store: h.Base.Starter.Presence}
	app := h.starterFor(s, clock, leases)
	asleep := s.Agent
	asleep.Auto = false
	if err := app.EnsureWorkflow(ctx, asleep); err != nil {
		return nil, err
	}
	if err := clock.Forward(ctx, s.Start); err != nil {
		return nil, err
	}
	if err := app.EnsureWorkflow(ctx, s.Agent); err != nil {
		return nil, err
	}
	return &driver{
		deployment: h,
		sleeper:    s,
		clock:      clock,
		starter:    app,
		namespace:  namespace,
		leases:     leases,
		lived:      &Observed{},
	}, nil
}
