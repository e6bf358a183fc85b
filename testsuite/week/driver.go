package week

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workflows"
)

// driver connects and disconnects the clients of one agent.
type driver struct {
	deployment *Deployment
	sleeper    *Sleeper
	clock      *Clock
	starter    *starter.Starter
	namespace  string
	leases     *leaseRecorder

	mu    sync.Mutex
	lived *Observed
}

// days lets the time of the agent pass, from visit to visit, and ends its dreaming.
func (d *driver) days(ctx context.Context) error {
	for _, step := range d.steps() {
		if err := d.clock.Forward(ctx, step.at); err != nil {
			return err
		}
		if err := d.undisturbed(ctx); err != nil {
			return err
		}
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	if err := d.clock.Forward(ctx, d.sleeper.End); err != nil {
		return err
	}
	d.lived.End = d.clock.Now()
	return d.endDreaming(ctx)
}

// endDreaming stops dreams by itself, and waits for the last dream.
func (d *driver) endDreaming(ctx context.Context) error {
	asleep := d.sleeper.Agent
	asleep.Auto = false
	if err := d.starter.EnsureWorkflow(ctx, asleep); err != nil {
		return err
	}
	if err := d.undisturbed(ctx); err != nil {
		return err
	}
	return d.until(ctx, "its life is at rest", func(l workflows.AgentState) bool {
		d.lived.AgentState = l
		return l.Dream == nil && !l.Settings.Auto && l.State != workflows.Waking && l.Greeted == l.Epoch
	})
}

// step is a client that comes or goes.
type step struct {
	at time.Time
	do func(context.Context) error
}

// steps are the comings and goings in order.
func (d *driver) steps() []step {
	var all []step
	for _, v := range d.sleeper.Visits {
		all = append(all, step{v.At, func(ctx context.Context) error { return d.come(ctx, v) }})
		if v.Stays > 0 {
			all = append(all, step{v.At.Add(v.Stays), func(ctx context.Context) error { return d.leave(ctx, v.Who) }})
		}
	}
	slices.SortStableFunc(all, func(a, b step) int { return a.at.Compare(b.at) })
	return all
}

func (d *driver) come(ctx context.Context, v Visit) error {
	woken, err := d.connect(ctx, starter.Connection{
		Agent:   d.sleeper.Agent.Handle,
		Client:  v.Who,
		Cause:   v.Cause,
		For:     v.For,
		Trigger: trigger(v.Cause),
	})
	if err == nil && woken.Dream != "" && woken.Raised {
		// it had just begun; it may not resume
		err = SkipAll(ctx, d.starter.Client, d.namespace, woken.Dream)
	}
	return err
}

func trigger(c presence.Cause) string {
	if c == presence.Alarm {
		return "feed/rule"
	}
	return ""
}

// connect wakes the agent and waits until its workflow has recorded it.
func (d *driver) connect(ctx context.Context, k starter.Connection) (starter.WakeResult, error) {
	ahead := d.clock.Ahead()
	woken, err := d.starter.Wake(ctx, k)
	if err != nil {
		return woken, err
	}
	if woken.Degraded != "" {
		return woken, fmt.Errorf("a connect was degraded: %s", woken.Degraded)
	}
	switch {
	case woken.Raised:
		_, err = d.starter.Recorded(ctx, d.sleeper.Agent.ID, woken.Epoch)
	case woken.Joined(k.Cause): // its workflow is signalled in the background
		err = d.until(ctx, "it is awake with the client that joined",
			func(l workflows.AgentState) bool { return l.State == workflows.Awake })
	}
	if err != nil {
		return woken, err
	}
	return woken, d.compare(ctx, ahead)
}

func (d *driver) leave(ctx context.Context, who string) error {
	ahead := d.clock.Ahead()
	if err := d.starter.Leave(ctx, d.sleeper.Agent.Handle, who); err != nil {
		return err
	}
	return d.compare(ctx, ahead)
}

// compare records whether the server skipped while a client came or left.
func (d *driver) compare(ctx context.Context, ahead time.Duration) error {
	if _, err := d.clock.Read(ctx); err != nil {
		return err
	}
	d.leases.behind(d.clock.Ahead() - ahead)
	return nil
}

// undisturbed waits until no dream of the agent runs or waits to be resumed.
func (d *driver) undisturbed(ctx context.Context) error {
	return d.until(ctx, "no dream is under way", func(l workflows.AgentState) bool {
		return l.Dream == nil && l.Interrupted == nil && l.State != workflows.Waking
	})
}

// often is how often the agent's workflow is queried.
const often = 50 * time.Millisecond

func (d *driver) until(ctx context.Context, what string, so func(workflows.AgentState) bool) error {
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		agentState, err := d.starter.AgentState(ctx, d.sleeper.Agent.Handle)
		var new *serviceerror.WorkflowNotReady // it continues as new at this moment
		if err != nil && !errors.As(err, &new) {
			return err
		}
		if err == nil && so(agentState) {
			_, err = d.clock.Read(ctx)
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w; it is %s", what, context.Cause(ctx), agentState.State)
		}
	}
}

// connectAll connects during dreams, in order.
func (d *driver) connectAll(ctx context.Context) error {
	for _, k := range d.sleeper.Connections {
		select {
		case dream := <-k.reached:
			if err := d.connectDuringCall(ctx, k, dream); err != nil {
				return fmt.Errorf("a connect during %s, %s: %w", dream, k.Manner, err)
			}
			d.mu.Lock()
			d.lived.Connections++
			d.mu.Unlock()
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// connectDuringCall connects while a call of the dream hangs.
func (d *driver) connectDuringCall(ctx context.Context, k *Connection, dream string) error {
	if _, err := d.clock.Read(ctx); err != nil {
		return err
	}
	connect := starter.Connection{
		Agent: d.sleeper.Agent.Handle, Client: "visitor", Cause: presence.Connect,
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
	woken, err := d.connect(ctx, connect)
	if err != nil {
		return err
	}
	if woken.Dream != dream {
		return fmt.Errorf("it woke %q", woken.Dream)
	}
	switch k.Manner {
	case Briefly:
		return d.leave(ctx, connect.Client)
	case ForLong: // the dream's clock runs to the end of its waiting time; its agent stays awake longer than that
		return SkipAll(ctx, d.starter.Client, d.namespace, dream)
	case AsAlarm:
	}
	return nil
}
