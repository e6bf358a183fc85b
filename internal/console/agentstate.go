package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/workflows"
)

// agentView is the present state of an agent.
type agentView struct {
	State       string                `json:"state"`  // sleeping, dreaming, waking or awake
	Source      string                `json:"source"` // temporal: from its workflow; store: from the store alone
	Why         string                `json:"why,omitempty"`
	AgentState  *workflows.AgentState `json:"workflow,omitempty"`
	Status      presence.Status       `json:"presence"`
	Interrupted *publicRecord         `json:"interrupted,omitempty"`
	Wakes       []*interruption       `json:"wakes"`
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

	missed missedDream
}

// How many wakes and dreams the view of an agent covers.
const (
	wakesText    = 5
	alarmsDreams = 100 // the frequency of alarms counts onsets; so many dreams are some three months of one a night
)

// agentStateWithin bounds the query to Temporal, since the store knows nearly the same.
const agentStateWithin = 1500 * time.Millisecond

// agentStateOf reads the agent's state from the store, and from Temporal where that answers.
func (app *App) agentStateOf(ctx context.Context, h *Deployment, a dream.Agent) (agentView, error) {
	l := agentView{knobs: h.Knobs}
	var err error
	l.Status, err = app.status(ctx, h, a)
	if err != nil {
		return l, err
	}
	if n, err := app.resumable(ctx, h, a); err != nil {
		return l, err
	} else if n != nil {
		p := app.public(n)
		l.Interrupted = &p
	}
	if err := l.readPast(ctx, h, a); err != nil {
		return l, err
	}
	if err := l.readCaps(ctx, h, a, app.Now()); err != nil {
		return l, err
	}
	if err := app.state(ctx, h, a, &l); err != nil {
		return l, err
	}
	l.Next, err = app.next(ctx, h, a, l)
	return l, err
}

// readPast reads the newest wakes, and how often alarms ended onsets.
func (l *agentView) readPast(ctx context.Context, h *Deployment, a dream.Agent) error {
	l.Wakes = []*interruption{}
	var events []event.Event
	err := backwards(ctx, h.Events, a.ID, func(e event.Event) (bool, error) {
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
	l.Alarms = alarm.Frequent(events, alarmsDreams)
	return err
}

// readCaps reads what is left under the caps, and what an agent with that much left may do.
func (l *agentView) readCaps(ctx context.Context, h *Deployment, a dream.Agent, now time.Time) error {
	today := now.In(location(a.Zone)).Format(time.DateOnly)
	var bind []circadian.Cap
	for i, account := range activities.DayAccounts(a, today, h.FleetDay) {
		of := []string{"day", "month", "fleet"}[i]
		if of == "fleet" && (account.Limit == 0 || account.Limit == budget.Unlimited) {
			continue
		}
		b, err := h.Ledger.Balance(ctx, account.Scope)
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
	if free(h, a) {
		bind = nil
	}
	l.Vitality = circadian.Vitality(a.Vitality, bind...)
	bounds := h.Vitality
	if bounds == (circadian.Thresholds{}) {
		bounds = circadian.DefaultThresholds
	}
	l.Behaviour = circadian.BehaviourOf(l.Vitality, bounds)
	return nil
}

// free reports whether every model of the agent's dreams has a price of zero.
func free(h *Deployment, a dream.Agent) bool {
	for _, role := range dream.Roles {
		name := a.Models[role]
		if name == "" {
			name = h.Roles[role]
		}
		spec, err := h.Catalog.Lookup(name)
		if err != nil || spec.Price == nil || *spec.Price != (budget.Price{}) {
			return false
		}
	}
	return true
}

// state reads the state from the store, as every interface to the agent does, and queries the agent's workflow for
// the rest.
func (app *App) state(ctx context.Context, h *Deployment, a dream.Agent, l *agentView) error {
	slots, err := h.Store.Slots(ctx)
	if err != nil {
		return err
	}
	_, dreaming := slots[a.ID]
	l.Source, l.State = "store", string(l.Status.State(dreaming, app.Now()))
	agentState, err := app.queryAgentState(ctx, h, a)
	switch {
	case err == nil:
		l.Source, l.AgentState = "temporal", &agentState
		if agentState.State != l.State {
			l.Why = fmt.Sprintf("its workflow still says %s", agentState.State)
		}
	case errors.Is(err, memory.ErrNotFound):
		l.Why = "it has no workflow on Temporal yet"
	case errors.Is(err, ErrNoServer):
		l.Why = "no Temporal server runs"
	default:
		l.Why = "Temporal or a worker does not answer"
	}
	return ctx.Err()
}

func (app *App) queryAgentState(ctx context.Context, h *Deployment, a dream.Agent) (workflows.AgentState, error) {
	if app.Dream.Waker == nil {
		return workflows.AgentState{}, ErrNoServer
	}
	ctx, cancel := context.WithTimeout(ctx, agentStateWithin)
	defer cancel()
	w, err := app.Dream.Waker(ctx, h)
	if err != nil {
		return workflows.AgentState{}, err
	}
	agentState, err := w.AgentState(ctx, a.Handle)
	return agentState, errors.Join(err, w.Stop())
}
