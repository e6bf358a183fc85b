package week

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/workflows"
)

// Lived is what happened to an agent from outside, by the clock of its life.
type Lived struct {
	Actives []time.Time // somebody came or left
	Held    []Held      // somebody held it awake
	Life    workflows.Life
	End     time.Time
	Wakes   int
	Knocks  int // of the wakes, those in the midst of dreams
}

// Held is a lease: no dream may begin before it ends. A life looks who is there when the last of those that it knew of would
// have ended, and when the last client says that it leaves; of one who leaves while others stay it does not hear.
type Held struct {
	Who      string
	From, To time.Time
	left     bool
	rises    bool // by it the agent became awake
}

// quiet are the times from which idleness counts: somebody came or left, or the agent fell asleep again.
func (l *Lived) quiet() []time.Time {
	all := slices.Clone(l.Actives)
	for _, h := range l.Held {
		if !h.rises {
			continue
		}
		end := h.To
		for longer := true; longer; {
			longer = false
			for _, o := range l.Held {
				if !o.From.After(end) && o.To.After(end) {
					end, longer = o.To, true
				}
			}
		}
		all = append(all, end)
	}
	return all
}

// Live lets an agent live its days and answers when its last dream is over.
func (h *House) Live(ctx context.Context, s *Sleeper, namespace string) (*Lived, error) {
	g, err := h.begin(ctx, s, namespace)
	if err != nil {
		return nil, err
	}
	defer g.door.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	knocked := make(chan error, 1)
	go func() {
		err := g.knockAll(ctx)
		if err != nil {
			cancel(err)
		}
		knocked <- err
	}()
	err = g.days(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	cancel(nil)
	if err := errors.Join(err, <-knocked); err != nil {
		return nil, fmt.Errorf("the days of %s (%s, %s): %w", s.Agent.Handle, s.Hours.Name, s.Zone, err)
	}
	return g.lived, nil
}

// LiveAlone lets an agent that nobody visits live until it has begun so many dreams, its time skipped freely.
func (h *House) LiveAlone(ctx context.Context, s *Sleeper, namespace string, dreams int) (*Lived, error) {
	g, err := h.begin(ctx, s, namespace)
	if err != nil {
		return nil, err
	}
	defer g.door.Close()
	if err := g.clock.Run(ctx); err != nil {
		return nil, err
	}
	if err := g.until(ctx, "it has dreamt enough", func(l workflows.Life) bool { return l.Dreams >= dreams }); err != nil {
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
func (h *House) begin(ctx context.Context, s *Sleeper, namespace string) (*guests, error) {
	clock := NewClock(h.Company.Client, namespace, workflows.AgentID(s.Agent.Handle))
	door := h.concierge(s, clock)
	asleep := s.Agent
	asleep.Auto = false
	if err := door.Live(ctx, asleep); err != nil {
		return nil, err
	}
	if err := clock.Forward(ctx, s.Start); err != nil {
		return nil, err
	}
	if err := door.Live(ctx, s.Agent); err != nil {
		return nil, err
	}
	return &guests{house: h, sleeper: s, clock: clock, door: door, namespace: namespace, lived: &Lived{}}, nil
}
