package activities

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// DreamScope is the spend account of a whole dream.
func DreamScope(dreamID string) string { return "dream:" + dreamID }

// PhaseScope is the spend account of one phase of a dream.
func PhaseScope(dreamID string, phase dream.Phase) string {
	return "phase:" + dreamID + "/" + string(phase)
}

// DayAccounts are the caps that apply on an agent's day (YYYY-MM-DD in the agent's zone): its day, its month and the
// whole deployment's day. Spending for an agent outside of a dream is checked against the same accounts.
func DayAccounts(agent dream.Agent, day string, fleet budget.Micros) []budget.Account {
	month := day[:min(len("2006-01"), len(day))]
	return []budget.Account{
		{Scope: "day:" + agent.ID + "/" + day, Limit: agent.Caps.Day},
		{Scope: "month:" + agent.ID + "/" + month, Limit: agent.Caps.Month},
		{Scope: "fleet:" + day, Limit: fleet},
	}
}

// DreamAccounts are the accounts that a dream's spec must name: the dream's own and those of its day.
func DreamAccounts(dreamID string, amount budget.Micros, agent dream.Agent, day string,
	fleet budget.Micros,
) []budget.Account {
	return append([]budget.Account{{Scope: DreamScope(dreamID), Limit: amount}}, DayAccounts(agent, day, fleet)...)
}

// Within returns where a spec exceeds what its agent may spend. A spec can be written by hand and sent with any
// Temporal client, so the limits of the agent's record and of the deployment apply. A spec may be stricter, never
// laxer.
func (s Spec) Within(agent dream.Agent, fleet budget.Micros, catalog inference.Catalog) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if s.Agent != agent.ID {
		fault("it is for agent %q and not for %q", s.Agent, agent.ID)
	}
	zone, err := time.LoadLocation(agent.Zone)
	if err != nil {
		fault("zone %q of the agent is not an IANA time zone", agent.Zone)
	} else if day := s.AsOf.In(zone).Format(time.DateOnly); s.Day != day {
		fault("day is %q, and as_of falls on %s in %s", s.Day, day, agent.Zone)
	}
	if s.Budget > agent.Caps.Dream {
		fault("budget is %s; one dream of the agent may cost %s", s.Budget, agent.Caps.Dream)
	}
	if s.DayLimit > agent.Caps.Day {
		fault("day_limit is %s; a day of the agent may cost %s", s.DayLimit, agent.Caps.Day)
	}
	faults = append(faults,
		s.checkAccounts(DreamAccounts(s.Dream, min(s.Budget, agent.Caps.Dream), agent, s.Day, fleet))...)
	return errors.Join(append(faults, s.checkFree(catalog))...)
}

// checkAccounts checks that the spec names every required account exactly once and none with a higher limit.
func (s Spec) checkAccounts(wanted []budget.Account) []error {
	var faults []error
	named := map[string]budget.Micros{}
	for _, a := range s.Accounts {
		if _, twice := named[a.Scope]; twice {
			faults = append(faults, fmt.Errorf("account %s is named twice", a.Scope))
		}
		named[a.Scope] = a.Limit
	}
	for _, a := range wanted {
		limit, ok := named[a.Scope]
		switch {
		case !ok:
			faults = append(faults, fmt.Errorf("account %s is missing; its limit is %s", a.Scope, a.Limit))
		case limit > a.Limit:
			faults = append(faults,
				fmt.Errorf("account %s has the limit %s; at most %s is right", a.Scope, limit, a.Limit))
		}
	}
	return faults
}

// checkFree checks that a spec marked as free uses only models with a stated price of zero.
func (s Spec) checkFree(catalog inference.Catalog) error {
	if !s.Free {
		return nil
	}
	for _, role := range dream.Roles {
		model, err := catalog.Lookup(s.Models[role])
		if err != nil {
			return fmt.Errorf("it is marked as free, and the price of its %s is not known: %w", role, err)
		}
		if model.Price == nil || *model.Price != (budget.Price{}) {
			return fmt.Errorf("it is marked as free, and its %s, %s, has a price", role, s.Models[role])
		}
	}
	return nil
}
