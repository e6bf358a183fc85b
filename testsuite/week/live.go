package week

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Lived is what happened to an agent from outside, as its store has it, and when it fell asleep, as its events have it.
type Lived struct {
	Actives     []time.Time // somebody came or left
	Held        []Held      // somebody held it awake
	Asleep      []time.Time // it announced that nobody holds it awake any more
	AgentState  workflows.AgentState
	End         time.Time
	Wakes       int
	Connections int // of the wakes, those in the midst of dreams
}

// Held is a lease, or the lock after one: no dream may begin before it ends.
type Held struct {
	Who      string
	From, To time.Time
	locks    bool // it is the lock
	rises    bool // by it the agent became awake
	// by so much the life's time was ahead of From already, as the server skipped while it was written down
	behind time.Duration
}

// quiet are the times from which idleness counts: somebody came or left, or the agent fell asleep again.
func (l *Lived) quiet() []time.Time { return slices.Concat(l.Actives, l.Asleep) }

// waking is a stretch from which an agent rose until nobody held it any more.
type waking struct {
	from, end time.Time
	behind    time.Duration // of what ended it
}

// wakings are the stretches in which the agent is awake, by its leases alone.
func (l *Lived) wakings() []waking {
	var all []waking
	for _, h := range l.Held {
		if !h.rises {
			continue
		}
		w := waking{h.From, h.To, h.behind}
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

// awake are the stretches from which the agent rose until it fell asleep, soon after nobody held it any more.
func (l *Lived) awake() []Held {
	var all []Held
	for _, w := range l.wakings() {
		if n := slices.IndexFunc(l.Asleep, w.ended); n >= 0 {
			all = append(all, Held{From: w.from, To: l.Asleep[n]})
		}
	}
	return all
}

// Live lets an agent live its days and answers when its last dream is over.
func (h *Deployment) Live(ctx context.Context, s *Sleeper, namespace string) (*Lived, error) {
	g, err := h.begin(ctx, s, namespace)
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
		err = g.recall(context.WithoutCancel(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("the days of %s (%s, %s): %w", s.Agent.Handle, s.Hours.Name, s.Zone, err)
	}
	return g.lived, nil
}

// recall takes from store and events what was lived.
func (g *guests) recall(ctx context.Context) error {
	g.clients.report(g.lived)
	events, err := g.deployment.Company.Store.Events(ctx, g.sleeper.Agent.ID, 0, 0)
	for _, e := range events {
		if e.Type == (event.AgentAsleep{}).EventType() {
			g.lived.Asleep = append(g.lived.Asleep, e.At)
		}
	}
	return err
}

// LiveAlone lets an agent that nobody visits live until it has begun so many dreams, its time skipped freely.
func (h *Deployment) LiveAlone(ctx context.Context, s *Sleeper, namespace string, dreams int) (*Lived, error) {
	g, err := h.begin(ctx, s, namespace)
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
	if err := g.rest(ctx); err != nil {
		return nil, fmt.Errorf("the days of %s (%s, %s): %w", s.Agent.Handle, s.Hours.Name, s.Zone, err)
	}
	nights, err := h.Diary(ctx, s.Agent.ID)
	if err == nil && len(nights) > 0 { // it is told to stop at any moment after the last
		g.lived.End = nights[len(nights)-1].End()
		s.End = g.lived.End
	}
	return g.lived, err
}

// begin starts the life of an agent and takes it to the noon of its first day.
func (h *Deployment) begin(ctx context.Context, s *Sleeper, namespace string) (*guests, error) {
	clock := NewClock(h.Company.Client, namespace, workflows.AgentID(s.Agent.Handle))
	clients := &visitors{Store: h.Company.Starter.Presence}
	app := h.concierge(s, clock, clients)
	asleep := s.Agent
	asleep.Auto = false
	if err := app.Live(ctx, asleep); err != nil {
		return nil, err
	}
	if err := clock.Forward(ctx, s.Start); err != nil {
		return nil, err
	}
	if err := app.Live(ctx, s.Agent); err != nil {
		return nil, err
	}
	return &guests{
		deployment: h,
		sleeper:    s,
		clock:      clock,
		starter:    app,
		namespace:  namespace,
		clients:    clients,
		lived:      &Lived{},
	}, nil
}
