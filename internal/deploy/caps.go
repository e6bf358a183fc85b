package deploy

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
)

// capUse returns which share of each cap is used up or reserved: of the caps of the agents that of the agent nearest
// to its own. Caps that are unlimited or 0 have no share.
func (h *Deployment) capUse(ctx context.Context) (telemetry.CapUse, error) {
	agents, err := h.store.Agents(ctx)
	if err != nil {
		return telemetry.CapUse{}, err
	}
	caps, scopes := capsOf(agents, h.FleetDay, time.Now())
	balances, err := h.Balances.Balances(ctx, scopes)
	if err != nil {
		return telemetry.CapUse{}, fmt.Errorf("read the balances of all agents: %w", err)
	}
	var use telemetry.CapUse
	for i, c := range caps {
		share := float64(balances[i].Spent+balances[i].Reserved) / float64(c.limit)
		*c.of(&use) = max(*c.of(&use), share)
	}
	return use, nil
}

// bounded is an account that has a cap.
type bounded struct {
	limit budget.Micros
	of    func(*telemetry.CapUse) *float64
}

// The caps in the order of activities.DayAccounts.
var capKinds = []func(*telemetry.CapUse) *float64{
	func(u *telemetry.CapUse) *float64 { return &u.AgentDay },
	func(u *telemetry.CapUse) *float64 { return &u.AgentMonth },
	func(u *telemetry.CapUse) *float64 { return &u.FleetDay },
}

// capsOf lists the accounts with a cap on the agents' day, each once, and their scopes.
func capsOf(agents []dream.Agent, fleet budget.Micros, now time.Time) ([]bounded, []string) {
	var caps []bounded
	var scopes []string
	seen := map[string]bool{}
	for _, a := range agents {
		zone, err := time.LoadLocation(a.Zone)
		if err != nil {
			zone = time.UTC
		}
		for i, account := range activities.DayAccounts(a, now.In(zone).Format(time.DateOnly), fleet) {
			if account.Limit <= 0 || account.Limit >= budget.Unlimited || seen[account.Scope] {
				continue
			}
			seen[account.Scope] = true
			caps = append(caps, bounded{limit: account.Limit, of: capKinds[i]})
			scopes = append(scopes, account.Scope)
		}
	}
	return caps, scopes
}
