package spend

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// Validate returns the first fault of a reservation that no state of a ledger could make right.
func (a Ask) Validate() error {
	if a.Step == "" {
		return errors.New("the step's key is empty")
	}
	if a.Amount < 0 {
		return fmt.Errorf("amount is %d micro-dollars; it must not be negative", a.Amount)
	}
	names := []string{a.Step, a.Agent, a.Dream, a.Day}
	for _, account := range a.Accounts {
		if account.Scope == "" {
			return errors.New("an account has no scope")
		}
		names = append(names, account.Scope)
	}
	for _, name := range names {
		if !utf8.ValidString(name) {
			return fmt.Errorf("%q is not valid UTF-8", name)
		}
	}
	return nil
}

// Check returns an *OverCap for the first account that the ask would overrun, given the balances by scope.
func (a Ask) Check(balances map[string]Balance) error {
	for _, account := range a.Accounts {
		b := balances[account.Scope]
		counted := Add(b.Reserved, b.Spent)
		if counted > account.Limit || a.Amount > account.Limit-counted {
			return &OverCap{Scope: account.Scope, Limit: account.Limit, Counted: counted, Asks: a.Amount}
		}
	}
	return nil
}

// Validate returns the first fault of a bill that no state of a ledger could make right.
func (b Bill) Validate() error {
	switch b.State {
	case Settled, Partial, Refused, Lost:
	case Open:
		return errors.New("state open does not end an attempt")
	default:
		return fmt.Errorf("state %q does not end an attempt; settled, partial, refused and unknown do", b.State)
	}
	if b.Amount < 0 {
		return fmt.Errorf("amount is %d micro-dollars; it must not be negative", b.Amount)
	}
	return nil
}

// Counts returns what an ended attempt counts for. An unknown cost never counts less than was reserved.
func (b Bill) Counts(reserved budget.Micros) budget.Micros {
	switch b.State {
	case Refused:
		return 0
	case Partial, Lost:
		return max(reserved, b.Amount)
	case Settled, Open:
		return b.Amount
	}
	return b.Amount
}

// Rebook returns the balance after an attempt that counted was in this state counts is.
func (b Balance) Rebook(state State, was, is budget.Micros) Balance {
	if state == Lost {
		return Balance{Reserved: b.Reserved, Spent: Add(b.Spent, is-was)}
	}
	return Balance{Reserved: Add(b.Reserved, -was), Spent: Add(b.Spent, is)}
}

// Add adds without overflow: it stops at the largest amount.
func Add(a, b budget.Micros) budget.Micros {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Matches reports whether a query selects a row, whatever its limit.
func (q Query) Matches(r Row) bool {
	for _, f := range [][2]string{
		{q.Agent, r.Agent}, {q.Dream, r.Dream}, {q.Phase, r.Phase}, {q.Model, r.Model}, {q.Day, r.Day},
	} {
		if f[0] != "" && f[0] != f[1] {
			return false
		}
	}
	return len(q.States) == 0 || slices.Contains(q.States, r.State)
}
