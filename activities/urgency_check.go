package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// Fire tells an agent's workflow that a trigger calls for a dream.
type Fire struct {
	Trigger string            `json:"trigger"`
	Kind    dream.TriggerKind `json:"kind"`
	At      time.Time         `json:"at"`
	Key     string            `json:"key,omitempty"`  // identifies the cause: a repeated call counts once
	Why     string            `json:"why,omitempty"`  // for people; no text of a memory
	Drop    bool              `json:"drop,omitempty"` // remove the waiting call of this trigger
}

// OnUrgency is the kind of a call without a trigger: an idle agent is urgent.
const OnUrgency dream.TriggerKind = "urgency"

// HeedRequest is the input of DreamRun.Heed.
type HeedRequest struct {
	Agent     string           `json:"agent"`
	Now       time.Time        `json:"now"`
	Zone      string           `json:"zone,omitempty"` // of the schedules; empty: UTC
	Schedules []dream.Trigger  `json:"schedules,omitempty"`
	Eager     *circadian.Eager `json:"eager,omitempty"` // nil: urgency is not computed
}

// Appointment is the next time at which a schedule calls.
type Appointment struct {
	Trigger string    `json:"trigger"`
	At      time.Time `json:"at,omitzero"` // zero: never
	Fault   string    `json:"fault,omitempty"`
}

// HeedResult has the next times of the schedules and the urgency.
type HeedResult struct {
	Appointments []Appointment      `json:"appointments,omitempty"`
	Urgency      *circadian.Urgency `json:"urgency,omitempty"`
	Early        bool               `json:"early,omitempty"` // urgent enough to dream after the shorter idle time
}

// Heed computes the next times of the schedules and the agent's urgency. It buys at most the vectors of claims that
// have none, and only if automatic dreams may cost money.
func (b *DreamRun) Heed(ctx context.Context, r HeedRequest) (HeedResult, error) {
	result := HeedResult{Appointments: Appointments(r.Schedules, r.Zone, r.Now)}
	if r.Eager == nil {
		return result, nil
	}
	needs := Needs{Memory: b.Memory, Why: "it could not change anything"}
	lived, err := needs.Input(ctx, r.Agent, r.Now)
	if err != nil {
		return result, toApplicationError(err)
	}
	if all := lived; lived.Residuals > 0 { // embedding claims is expensive, so only where it matters
		all.Novel = all.Residuals
		if r.Eager.Early(circadian.UrgencyOf(all)) {
			needs.Place, needs.Why = b.placing(ctx, r)
			lived, err = needs.Input(ctx, r.Agent, r.Now)
			if err != nil {
				return result, toApplicationError(err)
			}
		}
	}
	urgency := circadian.UrgencyOf(lived)
	result.Urgency, result.Early = &urgency, r.Eager.Early(urgency)
	return result, nil
}

// Appointments are the next times of schedules after a moment.
func Appointments(schedules []dream.Trigger, zone string, after time.Time) []Appointment {
	var next []Appointment
	location, fault := time.LoadLocation(zone)
	for _, t := range schedules {
		a := Appointment{Trigger: t.Name}
		schedule, err := circadian.ParseSchedule(t.Schedule)
		switch {
		case fault != nil:
			a.Fault = fmt.Sprintf("zone %q is not known here", zone)
		case err != nil:
			a.Fault = err.Error()
		default:
			a.At = schedule.Next(after, location).UTC()
		}
		next = append(next, a)
	}
	return next
}

// Embedders say which model embeds an agent's texts outside of a dream, or why none does.
type Embedders interface {
	Embedder(ctx context.Context, agent dream.Agent) (model, why string)
}

// placeWithin limits how long the check of an idle agent waits for an embedder: half of the check's time limit, since
// the schedules wait with it.
const placeWithin = 2 * time.Second

// withoutVectors is why a check continues without embedding.
type withoutVectors string

func (w withoutVectors) Error() string { return string(w) }

// placing buys vectors outside of a dream, under the caps of the agent's day.
func (b *DreamRun) placing(ctx context.Context, r HeedRequest) (EmbedFunc, string) {
	if b.Guard == nil {
		return nil, "this worker places nothing outside a dream"
	}
	agent, err := b.Memory.Agent(ctx, r.Agent)
	if err != nil {
		return nil, "its record could not be read"
	}
	model, why := b.Planner.Embedder(ctx, agent)
	if model == "" {
		return nil, why
	}
	zone, err := time.LoadLocation(agent.Zone)
	if err != nil {
		zone = time.UTC
	}
	day := r.Now.In(zone).Format(time.DateOnly)
	return func(ctx context.Context, texts []string) ([][]float32, string, error) {
		ctx, cancel := context.WithTimeout(ctx, placeWithin)
		defer cancel()
		sum := sha256.Sum256([]byte(model + "\x00" + strings.Join(texts, "\x00")))
		v, err := b.Guard.Embed(ctx, spend.Charge{
			Step: "urgency/" + agent.ID + "/" + hex.EncodeToString(sum[:16]), Agent: agent.ID, Phase: "urgency",
			Day:      day,
			Accounts: DayAccounts(agent, day, b.Planner.FleetDay()),
		}, model, texts)
		switch { // urgency is an estimate: without money or provider it is computed without vectors
		case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
			return nil, "", withoutVectors("its embedder did not answer in time")
		case err != nil:
			return nil, "", withoutVectors("its claims could not be placed: " + oneLine(err.Error()))
		}
		return v.V, v.Space, nil
	}, ""
}
