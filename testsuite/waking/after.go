package waking

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// follow does the given thing with an interrupted dream.
func (l *lane) follow(ctx context.Context, id string, after After, from time.Time) error {
	switch after {
	case Cancelled:
		if err := l.deployment.Starter.Cancel(ctx, id); err != nil {
			return err
		}
		l.ended = append(l.ended, id)
	case Abandoned:
		if err := l.deployment.Client.TerminateWorkflow(ctx, id, "", "chaos"); err != nil {
			return err
		}
		if err := workers.Abandon(ctx, l.deployment.Ports, l.deployment.Starter.Executions(), l.agent.ID, id); err != nil {
			return err
		}
	case Replaced:
		l.abandoned = id
	case Resumed:
	}
	if err := l.release(ctx, from); err != nil || after != Resumed {
		return err
	}
	for {
		_, err := l.deployment.Starter.Resume(ctx, l.agent.Handle)
		if errors.Is(err, starter.ErrDreaming) { // it had begun, although the answer came too late or never
			err = nil
		}
		if err != nil && !errors.Is(err, starter.ErrUnreachable) {
			return l.explain(ctx, id, err)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// explain adds the state of the agent and its dream to an error.
func (l *lane) explain(ctx context.Context, id string, err error) error {
	agentState, agentStateErr := l.deployment.Starter.AgentState(ctx, l.agent.Handle)
	record, nightErr := memory.One[*dream.Record](ctx, l.deployment.Store, l.agent.ID, id)
	events, eventsErr := l.deployment.Store.Events(ctx, l.agent.ID, 0, 0)
	body, _ := json.Marshal(map[string]any{"life": agentState, "night": record, "last": events[max(0, len(events)-6):]})
	return errors.Join(fmt.Errorf("%s: %w: %s", id, err, body), agentStateErr, nightErr, eventsErr)
}

// release ends what holds the agent awake, and waits until it sleeps. Nothing may have been dreamt meanwhile.
func (l *lane) release(ctx context.Context, from time.Time) error {
	to := time.Now()
	if l.dice.IntN(2) == 0 {
		for _, name := range []string{"guest", "another", "alarm/feed/rule", "operator", "signal"} {
			if err := l.deployment.Starter.Leave(ctx, l.agent.Handle, name); err != nil {
				return err
			}
		}
		to = to.Add(lock)
	} else if err := l.deployment.Starter.Sleep(ctx, l.agent.Handle); err != nil {
		return err
	}
	if !from.IsZero() {
		l.awake = append(l.awake, awakeTime{from, to})
	}
	return l.waitAsleep(ctx)
}

// waitAsleep waits until the agent's workflow says that it sleeps.
func (l *lane) waitAsleep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		agentState, err := l.deployment.Starter.AgentState(ctx, l.agent.Handle)
		if err == nil && agentState.State == workflows.Sleeping {
			tick.Stop()
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			id := workflows.DreamID(l.agent.Handle, int64(l.dreams))
			return l.explain(
				context.WithoutCancel(ctx),
				id,
				errors.Join(errors.New("the agent does not fall asleep"), err),
			)
		}
	}
}

// undisturbed checks that no stretch began while the agent was held awake.
func (l *lane) undisturbed(ctx context.Context) error {
	events, err := l.deployment.Store.Events(ctx, l.agent.ID, 0, 0)
	if err != nil {
		return err
	}
	var faults []error
	for _, e := range events {
		if e.Type != (event.DreamStarted{}).EventType() && e.Type != (event.DreamResumed{}).EventType() {
			continue
		}
		for _, s := range l.awake {
			if e.At.After(s.from) && e.At.Before(s.to) {
				body, _ := json.Marshal(e)
				faults = append(faults, fmt.Errorf("held awake from %s to %s, and then: %s", s.from, s.to, body))
			}
		}
	}
	l.note(func(t *Tally) { t.Windows += len(l.awake) })
	return errors.Join(faults...)
}
