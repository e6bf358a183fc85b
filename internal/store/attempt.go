package store

import (
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// Attempt is a row of the spend ledger. Both stores read and write it as an archive holds it, so that a column is named
// here, in the archive and once in each store.
type Attempt = memory.KeptAttempt

// Reserved returns the attempt that a granted ask begins.
func Reserved(a spend.Ask, attempt int) Attempt {
	return Attempt{
		Step:     a.Step,
		Attempt:  attempt,
		Agent:    a.Agent,
		Dream:    a.Dream,
		Phase:    a.Phase,
		Model:    a.Model,
		Day:      a.Day,
		Accounts: a.Accounts,
		Reserved: a.Amount,
		Counted:  a.Amount,
		State:    string(spend.Open),
		At:       a.At,
	}
}

// Ended returns an attempt as a bill ends it.
func Ended(a Attempt, b spend.Bill) Attempt {
	a.State, a.Counted = string(b.State), b.Counts(a.Reserved)
	a.Tokens, a.Finish, a.Ended = b.Tokens, b.Finish, b.At
	return a
}

// Lost returns an open attempt of a dream that was closed: what it costs is unknown.
func Lost(a Attempt, at time.Time) Attempt {
	a.State, a.Ended = string(spend.Lost), at
	return a
}

// Row returns an attempt as the port lists it.
func Row(a Attempt) spend.Row {
	return spend.Row{
		Ask: spend.Ask{
			Step:     a.Step,
			Agent:    a.Agent,
			Dream:    a.Dream,
			Phase:    a.Phase,
			Model:    a.Model,
			Day:      a.Day,
			Amount:   a.Reserved,
			Accounts: a.Accounts,
			At:       a.At,
		},
		Attempt:  a.Attempt,
		Reserved: a.Reserved,
		Counted:  a.Counted,
		State:    spend.State(a.State),
		Tokens:   a.Tokens,
		Finish:   a.Finish,
		Ended:    a.Ended,
		Latest:   a.Latest,
	}
}

// CheckAllowance refuses an allowance of no dream or below zero.
func CheckAllowance(dream string, amount budget.Micros) error {
	if dream == "" || amount < 0 {
		return fmt.Errorf("dream %q, amount %d micro-dollars: a dream has an id and an amount is not negative", dream,
			amount)
	}
	return nil
}

// OverDay is the refusal of an allowance that would pass the agent's daily limit.
func OverDay(agent, day string, amount, limit, counted budget.Micros) error {
	return &spend.OverCap{Scope: "allowance:" + agent + "/" + day, Limit: limit, Counted: counted, Asks: amount}
}
