package dreamrun

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/activities/urgency"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// CheckTriggers computes the next times of the schedules and the agent's urgency. It buys at most the vectors of claims
// that have none, and only if automatic dreams may cost money.
func (d *DreamRun) CheckTriggers(ctx context.Context,
	r activities.CheckTriggersRequest,
) (activities.CheckTriggersResult, error) {
	result := activities.CheckTriggersResult{Appointments: Appointments(r.Schedules, r.Zone, r.Now)}
	if r.UrgencyRule == nil {
		return result, nil
	}
	rule, err := urgencyRule(ctx, d.Resolver(), r)
	if err != nil {
		return result, err
	}
	needs := urgency.Reader{Memory: d.Memory, Reason: "it could not change anything"}
	lived, err := needs.Input(ctx, r.Agent, r.Now)
	if err != nil {
		return result, err
	}
	if all := lived; lived.Residuals > 0 { // embedding claims is expensive, so only where it matters
		all.Novel = all.Residuals
		if rule.Early(circadian.UrgencyOf(all)) {
			needs.Place, needs.Reason = d.placing(ctx, r)
			lived, err = needs.Input(ctx, r.Agent, r.Now)
			if err != nil {
				return result, err
			}
		}
	}
	urgency := circadian.UrgencyOf(lived)
	result.Urgency, result.Early = &urgency, rule.Early(urgency)
	return result, nil
}

// urgencyRule is the rule of the request, with a lower threshold while many predictions of the agent's dreams come
// true.
func urgencyRule(ctx context.Context, k review.Resolver,
	r activities.CheckTriggersRequest,
) (circadian.UrgencyRule, error) {
	rule := *r.UrgencyRule
	yields, err := k.Consequence(ctx, r.Agent)
	if err != nil {
		return rule, err
	}
	rule.Urgent = max(0, rule.Urgent-yields.Earlier)
	rule.Uncertain = max(0, rule.Uncertain-yields.Earlier)
	return rule, nil
}

// Appointments are the next times of schedules after a moment.
func Appointments(schedules []dream.Trigger, zone string, after time.Time) []activities.Appointment {
	var next []activities.Appointment
	location, fault := time.LoadLocation(zone)
	for _, t := range schedules {
		a := activities.Appointment{Trigger: t.Name}
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

// placeWithin limits how long the check of an idle agent waits for an embedder: half of the check's time limit, since
// the schedules wait with it.
const placeWithin = 2 * time.Second

// placing buys vectors outside of a dream, under the caps of the agent's day.
func (d *DreamRun) placing(ctx context.Context, r activities.CheckTriggersRequest) (urgency.EmbedFunc, string) {
	if d.Guard == nil {
		return nil, "this worker places nothing outside a dream"
	}
	agent, err := d.Memory.Agent(ctx, r.Agent)
	if err != nil {
		return nil, "its record could not be read"
	}
	model, why := d.Planner.Embedder(ctx, agent)
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
		v, err := d.Guard.Embed(ctx, spend.Charge{
			Step: "urgency/" + agent.ID + "/" + hex.EncodeToString(sum[:16]), Agent: agent.ID, Phase: "urgency",
			Day:      day,
			Accounts: activities.DayAccounts(agent, day, d.Planner.FleetDay()),
		}, model, texts)
		switch { // urgency is an estimate: without money or provider it is computed without vectors
		case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
			return nil, "", urgency.WithoutVectors("its embedder did not answer in time")
		case err != nil:
			return nil, "", urgency.WithoutVectors("its claims could not be placed: " + core.OneLine(err.Error()))
		}
		return v.V, v.Space, nil
	}, ""
}
