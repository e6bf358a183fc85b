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

// Fire tells an agent's life that a trigger calls for a dream.
type Fire struct {
	Trigger string            `json:"trigger"`
	Kind    dream.TriggerKind `json:"kind"`
	At      time.Time         `json:"at"`
	Key     string            `json:"key,omitempty"`  // of what happened: told twice, it calls once
	Why     string            `json:"why,omitempty"`  // for people; nothing of a memory
	Drop    bool              `json:"drop,omitempty"` // forget the call of this trigger that waits
}

// OnUrgency is the kind of a call that no trigger makes: an idle agent is urgent.
const OnUrgency dream.TriggerKind = "urgency"

// HeedRequest asks when schedules call next, and how urgent an agent is.
type HeedRequest struct {
	Agent     string           `json:"agent"`
	Now       time.Time        `json:"now"`
	Zone      string           `json:"zone,omitempty"` // of the schedules; empty: UTC
	Schedules []dream.Trigger  `json:"schedules,omitempty"`
	Eager     *circadian.Eager `json:"eager,omitempty"` // nil: urgency is not asked
}

// Appointment is the next time at which a schedule calls.
type Appointment struct {
	Trigger string    `json:"trigger"`
	At      time.Time `json:"at,omitzero"` // zero: never
	Fault   string    `json:"fault,omitempty"`
}

// HeedResult answers both.
type HeedResult struct {
	Appointments []Appointment      `json:"appointments,omitempty"`
	Urgency      *circadian.Urgency `json:"urgency,omitempty"`
	Early        bool               `json:"early,omitempty"` // it need not be idle for any longer
}

// Heed looks at the clock of the agent's zone, and at its memory. It buys at most the places of claims that were never
// placed, and only where dreams by themselves may spend.
func (b *DreamRun) Heed(ctx context.Context, r HeedRequest) (HeedResult, error) {
	result := HeedResult{Appointments: Appointments(r.Schedules, r.Zone, r.Now)}
	if r.Eager == nil {
		return result, nil
	}
	needs := Needs{Memory: b.Memory, Why: "it could not change anything"}
	lived, err := needs.Lived(ctx, r.Agent, r.Now)
	if err != nil {
		return result, toApplicationError(err)
	}
	if all := lived; lived.Residuals > 0 { // placing claims is dear beside the rest: only where it matters
		all.Novel = all.Residuals
		if r.Eager.Early(circadian.UrgencyOf(all)) {
			needs.Place, needs.Why = b.placing(ctx, r)
			lived, err = needs.Lived(ctx, r.Agent, r.Now)
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

// Embedders say which model places an agent's texts when nobody asked it to, or why none does.
type Embedders interface {
	Embedder(ctx context.Context, agent dream.Agent) (model, why string)
}

// placeWithin bounds how long a look at an idle agent waits for an embedder: half of what the whole look may take,
// since the agent's schedules wait with it.
const placeWithin = 2 * time.Second

// goesWithout is why nothing was placed, of a look that goes on without.
type goesWithout string

func (w goesWithout) Error() string { return string(w) }

// placing buys places outside a dream, under the caps of the agent's day.
func (b *DreamRun) placing(ctx context.Context, r HeedRequest) (Placing, string) {
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
		switch { // urgency is an estimate: over a cap, or with a provider away, it goes without
		case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
			return nil, "", goesWithout("its embedder did not answer in time")
		case err != nil:
			return nil, "", goesWithout("its claims could not be placed: " + oneLine(err.Error()))
		}
		return v.V, v.Space, nil
	}, ""
}
