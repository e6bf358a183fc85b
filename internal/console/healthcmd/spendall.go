package healthcmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// agentBalance is what counts under the caps of an agent's day and month: what was spent, and what calls under way have
// reserved.
type agentBalance struct {
	Agent    string        `json:"agent,omitempty"` // handle; empty: all agents together
	Day      string        `json:"day,omitempty"`   // in the agent's zone
	Today    budget.Micros `json:"day_micros"`
	Month    budget.Micros `json:"month_micros"`
	Reserved budget.Micros `json:"reserved_micros"` // of the month; part of it
}

// balancesShown is how many agents a list of balances shows.
const balancesShown = 50

// spendAll shows what counts under the caps of every agent, those that have spent most this month first.
func spendAll(ctx context.Context, app *cli.App, cmd *cobra.Command, day string, limit int) error {
	for _, name := range []string{"agent", "by", "phase", "model", "dream"} {
		if cmd.Flags().Changed(name) {
			return exit.Usagef("--all shows what counts under each agent's caps; leave --%s out", name)
		}
	}
	if limit < 0 {
		return exit.Usagef("--limit is %d; it must not be negative", limit)
	}
	lines, err := agentBalances(ctx, app, day)
	if err != nil {
		return err
	}
	var all agentBalance
	for _, l := range lines {
		all.Today += l.Today
		all.Month += l.Month
		all.Reserved += l.Reserved
	}
	agents := len(lines)
	lines = slices.DeleteFunc(lines, func(l agentBalance) bool { return l.Today+l.Month == 0 })
	slices.SortStableFunc(lines, func(a, b agentBalance) int {
		if a.Month != b.Month {
			return int(max(-1, min(1, b.Month-a.Month)))
		}
		return strings.Compare(a.Agent, b.Agent)
	})
	shown := lines
	if limit > 0 {
		shown = lines[:min(limit, len(lines))]
	}
	if app.Json {
		return app.Answer(map[string]any{
			"agents": agents, "spenders": len(lines), "lines": cli.OrEmpty(shown), "total": all,
		})
	}
	t := cli.NewTable("AGENT,flex", "DAY,drop=1", "THAT DAY,right", "THAT MONTH,right", "RESERVED,right,drop=2")
	for _, l := range shown {
		t.Add(l.Agent, l.Day, l.Today.String(), l.Month.String(), cli.Money(l.Reserved))
	}
	if len(shown) > 0 {
		t.Total = []string{
			"all " + fmt.Sprint(agents), "", all.Today.String(), all.Month.String(), cli.Money(all.Reserved),
		}
	}
	if err := app.Rows(shown, t, "No agent has spent anything in that month."); err != nil {
		return err
	}
	if len(shown) < len(lines) {
		app.Note("%d of %d agents that have spent something are shown; --limit 0 shows all.", len(shown), len(lines))
	}
	return nil
}

// agentBalances reads the balances of the day and the month of every agent; of today if no day is named.
func agentBalances(ctx context.Context, app *cli.App, day string) ([]agentBalance, error) {
	agents, err := app.Store.Agents(ctx)
	if err != nil {
		return nil, err
	}
	today := map[string]string{} // by zone
	lines := make([]agentBalance, len(agents))
	scopes := make([]string, 0, 2*len(agents))
	for i, a := range agents {
		on := day
		if on == "" && today[a.Zone] == "" {
			today[a.Zone] = app.Now().In(cli.Location(a.Zone)).Format(time.DateOnly)
		}
		if on == "" {
			on = today[a.Zone]
		}
		lines[i] = agentBalance{Agent: a.Handle, Day: on}
		accounts := activities.DayAccounts(a, on, app.FleetDay)
		scopes = append(scopes, accounts[0].Scope, accounts[1].Scope)
	}
	balances, err := app.Balances.Balances(ctx, scopes)
	if err != nil {
		return nil, fmt.Errorf("read the balances of all agents: %w", err)
	}
	for i := range lines {
		ofDay, ofMonth := balances[2*i], balances[2*i+1]
		lines[i].Today = ofDay.Spent + ofDay.Reserved
		lines[i].Month = ofMonth.Spent + ofMonth.Reserved
		lines[i].Reserved = ofMonth.Reserved
	}
	return lines, nil
}
