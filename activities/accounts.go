package activities

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/inference"
)

// DreamScope names the account of a whole dream.
func DreamScope(dreamID string) string { return "dream:" + dreamID }

// PhaseScope names the account of one phase of a dream.
func PhaseScope(dreamID string, phase dream.Phase) string {
	return "phase:" + dreamID + "/" + string(phase)
}

// DayAccounts are the caps of an agent's day (YYYY-MM-DD): its own, its month's and the fleet's, each on the day of the
// agent's zone (decision 1). Whoever pays for an agent outside of a dream checks the same accounts.
func DayAccounts(agent dream.Agent, day string, fleet budget.Micros) []budget.Account {
	month := day[:min(len("2006-01"), len(day))]
	return []budget.Account{
		{Scope: "day:" + agent.ID + "/" + day, Limit: agent.Caps.Day},
		{Scope: "month:" + agent.ID + "/" + month, Limit: agent.Caps.Month},
		{Scope: "fleet:" + day, Limit: fleet},
	}
}

// DreamAccounts are the caps that a dream's order must name: its own and those of its day.
func DreamAccounts(dreamID string, amount budget.Micros, agent dream.Agent, day string,
	fleet budget.Micros,
) []budget.Account {
	return append([]budget.Account{{Scope: DreamScope(dreamID), Limit: amount}}, DayAccounts(agent, day, fleet)...)
}

// Within says where an order goes beyond what its agent may spend: every order can be written by hand and handed to any
// Temporal client, so the caps are those of the agent's record and of the deployment, not those that the order states.
// An order may be stricter than its agent, never laxer.
func (o Spec) Within(agent dream.Agent, fleet budget.Micros, catalog inference.Catalog) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if o.Agent != agent.ID {
		fault("it is for agent %q and not for %q", o.Agent, agent.ID)
	}
	zone, err := time.LoadLocation(agent.Zone)
	if err != nil {
		fault("zone %q of the agent is not an IANA time zone", agent.Zone)
	} else if day := o.AsOf.In(zone).Format(time.DateOnly); o.Day != day {
		fault("day is %q, and as_of falls on %s in %s", o.Day, day, agent.Zone)
	}
	if o.Budget > agent.Caps.Dream {
		fault("budget is %s; one dream of the agent may cost %s", o.Budget, agent.Caps.Dream)
	}
	if o.DayLimit > agent.Caps.Day {
		fault("day_limit is %s; a day of the agent may cost %s", o.DayLimit, agent.Caps.Day)
	}
	faults = append(faults,
		o.accounted(DreamAccounts(o.Dream, min(o.Budget, agent.Caps.Dream), agent, o.Day, fleet))...)
	return errors.Join(append(faults, o.free(catalog))...)
}

// accounted checks that the order names every account that it must, once, and none with a higher limit.
func (o Spec) accounted(wanted []budget.Account) []error {
	var faults []error
	named := map[string]budget.Micros{}
	for _, a := range o.Accounts {
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

// free checks that an order that calls itself free names only models that state a price of zero.
func (o Spec) free(catalog inference.Catalog) error {
	if !o.Free {
		return nil
	}
	for _, role := range dream.Roles {
		spec, err := catalog.Lookup(o.Models[role])
		if err != nil {
			return fmt.Errorf("it calls itself free, and the price of its %s is not known: %w", role, err)
		}
		if spec.Price == nil || *spec.Price != (budget.Price{}) {
			return fmt.Errorf("it calls itself free, and its %s, %s, is not", role, o.Models[role])
		}
	}
	return nil
}
