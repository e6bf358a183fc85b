package view

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// AgentView is the present state of an agent.
type AgentView struct {
	State       string                `json:"state"`  // sleeping, dreaming, waking or awake
	Source      string                `json:"source"` // temporal: from its workflow; store: from the store alone
	Why         string                `json:"why,omitempty"`
	AgentState  *workflows.AgentState `json:"workflow,omitempty"`
	Status      presence.Status       `json:"presence"`
	Interrupted *PublicRecord         `json:"interrupted,omitempty"`
	Wakes       []*Interruption       `json:"wakes"`
	Alarms      alarm.Frequency       `json:"alarms"`
	Left        []capLeft             `json:"left"`
	Vitality    float64               `json:"vitality"`
	Behaviour   dream.Behaviour       `json:"behaviour"`
	Next        nextDream             `json:"next"`

	knobs dream.Knobs // of the deployment
}

// capLeft is one cap and what is spent or reserved under it.
type capLeft struct {
	Of    string        `json:"of"` // day, month or fleet
	Limit budget.Micros `json:"limit_micros"`
	Used  budget.Micros `json:"used_micros"`
	Left  budget.Micros `json:"left_micros"`
}

// nextDream is when the agent next dreams by itself, and what prevents it.
type nextDream struct {
	At      *time.Time `json:"at,omitempty"` // the earliest time; absent: never, as things stand
	By      string     `json:"by,omitempty"` // the trigger that asks for it, or urgency; empty: idleness
	Resume  bool       `json:"resume"`       // the interrupted dream is resumed
	Against []string   `json:"against"`

	Urgency   *circadian.Urgency `json:"urgency,omitempty"`
	Threshold float64            `json:"threshold,omitempty"` // urgency above which a shorter idle time suffices
	Triggers  []triggerLine      `json:"triggers"`

	Missed missedDream
}

// How many wakes and dreams the view of an agent covers.
const (
	wakesText    = 5
	alarmsDreams = 100 // the frequency of alarms counts onsets; so many dreams are some three months of one a night
)

// AgentStateOf reads the agent's state from the store, and from Temporal where that answers.
func AgentStateOf(ctx context.Context, app *cli.App, a dream.Agent) (AgentView, error) {
	l := AgentView{knobs: app.Knobs}
	var err error
	l.Status, err = Status(ctx, app, a)
	if err != nil {
		return l, err
	}
	if n, err := Resumable(ctx, app, a); err != nil {
		return l, err
	} else if n != nil {
		p := Public(app, n)
		l.Interrupted = &p
	}
	if err := l.readPast(ctx, app, a); err != nil {
		return l, err
	}
	if err := l.ReadCaps(ctx, app, a, app.Now()); err != nil {
		return l, err
	}
	if err := state(ctx, app, a, &l); err != nil {
		return l, err
	}
	l.Next, err = Next(ctx, app, a, l)
	return l, err
}

// readPast reads the newest wakes, and how often alarms ended onsets.
func (l *AgentView) readPast(ctx context.Context, app *cli.App, a dream.Agent) error {
	l.Wakes = []*Interruption{}
	var events []event.Event
	err := Backwards(ctx, app.Events, a.ID, func(e event.Event) (bool, error) {
		events = append(events, e)
		if e.Type != (event.DreamInterrupted{}).EventType() || len(l.Wakes) == wakesText {
			return true, nil
		}
		i, err := interruptionOf(e)
		l.Wakes = append(l.Wakes, i)
		return true, err
	})
	for i, j := 0, len(events)-1; i < j; i, j = i+1, j-1 {
		events[i], events[j] = events[j], events[i]
	}
	l.Alarms = alarm.CountAlarmAborts(events, alarmsDreams)
	return err
}

// ReadCaps reads what is left under the caps, and what an agent with that much left may do.
func (l *AgentView) ReadCaps(ctx context.Context, app *cli.App, a dream.Agent, now time.Time) error {
	today := now.In(cli.Location(a.Zone)).Format(time.DateOnly)
	var bind []circadian.Cap
	for i, account := range activities.DayAccounts(a, today, app.FleetDay) {
		of := []string{"day", "month", "fleet"}[i]
		if of == "fleet" && (account.Limit == 0 || account.Limit == budget.Unlimited) {
			continue
		}
		b, err := app.Ledger.Balance(ctx, account.Scope)
		if err != nil {
			return fmt.Errorf("read what is left of the %s of %s: %w", of, a.Handle, err)
		}
		c := capLeft{
			Of: of, Limit: account.Limit, Used: b.Spent + b.Reserved,
			Left: max(0, account.Limit-b.Spent-b.Reserved),
		}
		l.Left = append(l.Left, c)
		if of != "fleet" {
			bind = append(bind, circadian.Cap{Left: c.Left, Limit: c.Limit})
		}
	}
	if Free(app, a) {
		bind = nil
	}
	l.Vitality = circadian.Vitality(a.Vitality, bind...)
	bounds := app.Vitality
	if bounds == (circadian.Thresholds{}) {
		bounds = circadian.DefaultThresholds
	}
	l.Behaviour = circadian.BehaviourOf(l.Vitality, bounds)
	return nil
}

// Free reports whether every model of the agent's dreams has a price of zero.
func Free(app *cli.App, a dream.Agent) bool {
	for _, role := range dream.Roles {
		spec, err := app.Catalog.Lookup(ModelOf(app, a, role))
		if err != nil || spec.Price == nil || *spec.Price != (budget.Price{}) {
			return false
		}
	}
	return true
}

// state reads the state from the store, as every interface to the agent does, and queries the agent's workflow for
// the rest.
func state(ctx context.Context, app *cli.App, a dream.Agent, l *AgentView) error {
	slots, err := app.Store.Slots(ctx)
	if err != nil {
		return err
	}
	_, dreaming := slots[a.ID]
	l.Source, l.State = "store", string(l.Status.State(dreaming, app.Now()))
	agentState, err := QueryAgentState(ctx, app, a)
	switch {
	case err == nil:
		l.Source, l.AgentState = "temporal", &agentState
		if agentState.State != l.State {
			l.Why = fmt.Sprintf("its workflow still says %s", agentState.State)
		}
	case errors.Is(err, memory.ErrNotFound):
		l.Why = "it has no workflow on Temporal yet"
	case errors.Is(err, deploy.ErrNoServer):
		l.Why = "no Temporal server runs"
	case errors.Is(err, deploy.ErrNoTemporal):
		l.Why = "Temporal does not answer"
	case errors.Is(err, deploy.ErrNoWorker):
		l.Why = "no worker answers"
	default:
		l.Why = "Temporal or a worker does not answer"
	}
	return ctx.Err()
}

// QueryAgentState asks the agent's workflow for its state.
func QueryAgentState(ctx context.Context, app *cli.App, a dream.Agent) (workflows.AgentState, error) {
	ctx, cancel := context.WithTimeout(ctx, deploy.AgentStateWithin)
	defer cancel()
	w, err := app.Backend.Waker(ctx, app.Deployment)
	if err != nil {
		return workflows.AgentState{}, err
	}
	agentState, err := w.AgentState(ctx, a.Handle)
	return agentState, errors.Join(err, w.Stop())
}
