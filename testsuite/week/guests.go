package week

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workflows"
)

// guests come to one agent.
type guests struct {
	deployment *Deployment
	sleeper    *Sleeper
	clock      *Clock
	starter    *starter.Starter
	namespace  string
	clients    *visitors

	mu    sync.Mutex
	lived *Lived
}

// days lets the time of the agent pass, from visit to visit, and ends its dreaming.
func (g *guests) days(ctx context.Context) error {
	for _, step := range g.steps() {
		if err := g.clock.Forward(ctx, step.at); err != nil {
			return err
		}
		if err := g.undisturbed(ctx); err != nil {
			return err
		}
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	if err := g.clock.Forward(ctx, g.sleeper.End); err != nil {
		return err
	}
	g.lived.End = g.clock.Now()
	return g.rest(ctx)
}

// rest ends the dreaming by itself, and waits for the last dream.
func (g *guests) rest(ctx context.Context) error {
	asleep := g.sleeper.Agent
	asleep.Auto = false
	if err := g.starter.Live(ctx, asleep); err != nil {
		return err
	}
	if err := g.undisturbed(ctx); err != nil {
		return err
	}
	return g.until(ctx, "its life is at rest", func(l workflows.AgentState) bool {
		g.lived.AgentState = l
		return l.Dream == nil && !l.Settings.Auto && l.State != workflows.Waking && l.Greeted == l.Epoch
	})
}

// step is something that a guest does.
type step struct {
	at time.Time
	do func(context.Context) error
}

// steps are the comings and goings in order.
func (g *guests) steps() []step {
	var all []step
	for _, v := range g.sleeper.Visits {
		all = append(all, step{v.At, func(ctx context.Context) error { return g.come(ctx, v) }})
		if v.Stays > 0 {
			all = append(all, step{v.At.Add(v.Stays), func(ctx context.Context) error { return g.leave(ctx, v.Who) }})
		}
	}
	slices.SortStableFunc(all, func(a, b step) int { return a.at.Compare(b.at) })
	return all
}

func (g *guests) come(ctx context.Context, v Visit) error {
	woken, err := g.connect(ctx, starter.Connection{
		Agent:   g.sleeper.Agent.Handle,
		Client:  v.Who,
		Cause:   v.Cause,
		For:     v.For,
		Trigger: trigger(v.Cause),
	})
	if err == nil && woken.Dream != "" && woken.Raised {
		// it had begun in this very moment; it may not go on
		err = Spend(ctx, g.starter.Client, g.namespace, woken.Dream)
	}
	return err
}

func trigger(c presence.Cause) string {
	if c == presence.Alarm {
		return "feed/rule"
	}
	return ""
}

// connect wakes the agent and waits until its life knows.
func (g *guests) connect(ctx context.Context, k starter.Connection) (starter.Woken, error) {
	ahead := g.clock.Ahead()
	woken, err := g.starter.Wake(ctx, k)
	if err != nil {
		return woken, err
	}
	if woken.Degraded != "" {
		return woken, fmt.Errorf("a knock was degraded: %s", woken.Degraded)
	}
	switch {
	case woken.Raised:
		_, err = g.starter.Recorded(ctx, g.sleeper.Agent.ID, woken.Epoch)
	case woken.Joined(k.Cause): // its life is told in the background
		err = g.until(ctx, "it is awake with whoever joined",
			func(l workflows.AgentState) bool { return l.State == workflows.Awake })
	}
	if err != nil {
		return woken, err
	}
	return woken, g.compare(ctx, ahead)
}

func (g *guests) leave(ctx context.Context, who string) error {
	ahead := g.clock.Ahead()
	if err := g.starter.Leave(ctx, g.sleeper.Agent.Handle, who); err != nil {
		return err
	}
	return g.compare(ctx, ahead)
}

// compare notes whether the server skipped while somebody came or left.
func (g *guests) compare(ctx context.Context, ahead time.Duration) error {
	if _, err := g.clock.Read(ctx); err != nil {
		return err
	}
	g.clients.behind(g.clock.Ahead() - ahead)
	return nil
}

// undisturbed waits until no dream of the agent is under way, or waits to be resumed.
func (g *guests) undisturbed(ctx context.Context) error {
	return g.until(ctx, "no dream is under way", func(l workflows.AgentState) bool {
		return l.Dream == nil && l.Broken == nil && l.State != workflows.Waking
	})
}

// often is how often a life is asked.
const often = 50 * time.Millisecond

func (g *guests) until(ctx context.Context, what string, so func(workflows.AgentState) bool) error {
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		agentState, err := g.starter.AgentState(ctx, g.sleeper.Agent.Handle)
		var new *serviceerror.WorkflowNotReady // it goes on as new at this moment
		if err != nil && !errors.As(err, &new) {
			return err
		}
		if err == nil && so(agentState) {
			_, err = g.clock.Read(ctx)
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w; it is %s", what, context.Cause(ctx), agentState.State)
		}
	}
}

// connectAll comes in the midst of dreams, in order.
func (g *guests) connectAll(ctx context.Context) error {
	for _, k := range g.sleeper.Connections {
		select {
		case dream := <-k.met:
			if err := g.midst(ctx, k, dream); err != nil {
				return fmt.Errorf("a knock in the midst of %s, %s: %w", dream, k.Manner, err)
			}
			g.mu.Lock()
			g.lived.Connections++
			g.mu.Unlock()
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// midst knocks while a call of the dream hangs.
func (g *guests) midst(ctx context.Context, k *Connection, dream string) error {
	if _, err := g.clock.Read(ctx); err != nil {
		return err
	}
	connect := starter.Connection{
		Agent: g.sleeper.Agent.Handle, Client: "visitor", Cause: presence.Connect,
		For: time.Minute,
	}
	switch k.Manner {
	case ForLong:
		connect.For = 2 * TTL
	case AsAlarm:
		connect.Cause = presence.Alarm
		connect.Client = "alarm/feed/rule"
		connect.Trigger = "feed/rule"
		connect.For = time.Second
	case Briefly:
	}
	woken, err := g.connect(ctx, connect)
	if err != nil {
		return err
	}
	if woken.Dream != dream {
		return fmt.Errorf("it woke %q", woken.Dream)
	}
	switch k.Manner {
	case Briefly:
		return g.leave(ctx, connect.Client)
	case ForLong: // the dream's own clock runs to the end of its time; its agent stays awake longer than that
		return Spend(ctx, g.starter.Client, g.namespace, dream)
	case AsAlarm:
	}
	return nil
}
