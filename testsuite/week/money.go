package week

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// Spent is what one agent's days cost.
type Spent struct {
	Billed, Ledger budget.Micros
	Days           []string // on which something was paid
	Rows           int
}

// Money compares the provider, rows, accounts, allowances and records of one agent, day by day.
func (h *Deployment) Money(
	ctx context.Context,
	s *Sleeper,
	nights []ObservedDream,
	calls []provider.Call,
) (Spent, error) {
	var sum Spent
	rows, err := h.Ledger.Rows(ctx, spend.Query{Agent: s.Agent.ID})
	if err != nil {
		return sum, err
	}
	b := books{
		s:      s,
		rows:   map[string]spend.Row{},
		day:    map[string]budget.Micros{},
		night:  map[string]budget.Micros{},
		nights: map[string]ObservedDream{},
	}
	for _, n := range nights {
		b.nights[n.ID] = n
	}
	for _, r := range rows {
		if err := b.add(r); err != nil {
			return sum, err
		}
		sum.Ledger += r.Counted
	}
	sum.Rows = len(rows)
	for _, c := range calls {
		row, ok := b.rows[c.Key]
		switch {
		case !ok:
			return sum, fmt.Errorf("the provider served %s, and it has no row", c.Key)
		case row.Counted < c.Cost:
			return sum, fmt.Errorf("%s cost %s at the provider and counts %s", c.Key, c.Cost, row.Counted)
		case row.Counted > c.Cost && !s.Visited:
			return sum,
				fmt.Errorf("%s cost %s at the provider and counts %s, and no wake interrupted it", c.Key, c.Cost,
					row.Counted)
		}
		sum.Billed += c.Cost
	}
	for day := range b.day {
		sum.Days = append(sum.Days, day)
	}
	slices.Sort(sum.Days)
	return sum, h.accounts(ctx, s, b)
}

// books are the rows of one agent.
type books struct {
	s          *Sleeper
	rows       map[string]spend.Row
	day, night map[string]budget.Micros
	nights     map[string]ObservedDream
}

// add takes a row: it must be closed, belong to a finished dream, be paid on the day on which that dream began, and
// lie in its time.
func (b books) add(r spend.Row) error {
	key := spend.Hold{Step: r.Step, Attempt: r.Attempt}.Key()
	n, ok := b.nights[r.Dream]
	switch {
	case !ok || n.Refused:
		return fmt.Errorf("row %s belongs to no dream", key)
	case r.State == spend.Open:
		return fmt.Errorf("row %s is still open", key)
	case r.Day != n.AsOf.In(b.s.Zone).Format(time.DateOnly):
		return fmt.Errorf("row %s is paid by %s, and its dream began %s", key, r.Day, b.s.local(n.AsOf))
	case r.At.Before(n.Begin().Add(-early)) || r.At.After(n.End().Add(late)) || r.Ended.Before(r.At):
		return fmt.Errorf("row %s is of %s to %s, and its dream of %s to %s", key, r.At, r.Ended, n.Begin(), n.End())
	}
	b.rows[key] = r
	b.day[r.Day] += r.Counted
	b.night[r.Dream] += r.Counted
	return nil
}

// accounts checks the balances of days, months and dreams, and the allowances.
func (h *Deployment) accounts(ctx context.Context, s *Sleeper, b books) error {
	caps, months := s.Agent.Caps, map[string]budget.Micros{}
	for day, spent := range b.day {
		months[day[:len("2006-01")]] += spent
		if err := h.account(ctx, "day:"+s.Agent.ID+"/"+day, spent, caps.Day); err != nil {
			return err
		}
		allowed, err := h.Ledger.Allowance(ctx, s.Agent.ID, day)
		if err != nil {
			return err
		}
		if allowed != spent {
			return fmt.Errorf("of %s on %s %s are taken as allowance and %s are spent", s.Agent.Handle, day, allowed,
				spent)
		}
	}
	for month, spent := range months {
		if err := h.account(ctx, "month:"+s.Agent.ID+"/"+month, spent, caps.Month); err != nil {
			return err
		}
	}
	for id, n := range b.nights {
		if n.Spent != b.night[id] {
			return fmt.Errorf("the record of %s says %s and its rows %s", id, n.Spent, b.night[id])
		}
		if err := h.account(ctx, "dream:"+id, b.night[id], caps.Dream); err != nil {
			return err
		}
	}
	return nil
}

func (h *Deployment) account(ctx context.Context, scope string, spent, limit budget.Micros) error {
	balance, err := h.Ledger.Balance(ctx, scope)
	switch {
	case err != nil:
		return err
	case balance != spend.Balance{Spent: spent}:
		return fmt.Errorf("account %s says %+v and its rows %s", scope, balance, spent)
	case spent > limit:
		return fmt.Errorf("account %s is %s and its cap %s", scope, spent, limit)
	}
	return nil
}

// ByAgent sorts the provider's calls by agent.
func (h *Deployment) ByAgent() map[string][]provider.Call {
	of := map[string][]provider.Call{}
	for _, c := range h.Provider.Billing.Calls() {
		parts := strings.SplitN(c.Key, "/", 3)
		if len(parts) == 3 {
			of[parts[1]] = append(of[parts[1]], c)
		} else {
			of[""] = append(of[""], c)
		}
	}
	return of
}
