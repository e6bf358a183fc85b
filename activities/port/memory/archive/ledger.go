package archive

import (
	"errors"
	"fmt"
	"math"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// sum adds up the attempts of an account.
type sum struct {
	reserved, spent budget.Micros
	listed          bool // the account has its own record
}

// ledgerRules checks the ledger: it adds up the attempts and compares the sums with the accounts.
type ledgerRules struct {
	steps  map[string]int // attempts so far
	sums   map[string]sum
	folded *memory.KeptSum // the sum before; nil for the first
}

func (b *ledgerRules) check(r memory.Record) error {
	switch {
	case r.Attempt != nil:
		return b.attempt(*r.Attempt)
	case r.Sum != nil:
		return b.sum(*r.Sum)
	case r.Account != nil:
		return b.account(*r.Account)
	case r.Answer != nil:
		a := r.Answer
		if b.steps[a.Step] == 0 || a.Answer == nil {
			return fmt.Errorf("an answer of step %q, which was never attempted, or no answer", a.Step)
		}
		return named("answer", a.Step)
	case r.Allowance != nil:
		a := r.Allowance
		if a.Amount < 0 {
			return fmt.Errorf("the allowance of %q is %d micro-dollars; it is not negative", a.Dream, a.Amount)
		}
		return named("allowance", a.Dream, a.Agent, a.Day)
	}
	return nil
}

func (b *ledgerRules) attempt(a memory.KeptAttempt) error {
	b.steps[a.Step]++
	if a.Attempt != b.steps[a.Step] {
		return fmt.Errorf("attempt %d of step %q comes in place %d", a.Attempt, a.Step, b.steps[a.Step])
	}
	if a.Reserved < 0 || a.Counted < 0 {
		return fmt.Errorf("step %q reserves %d and counts %d micro-dollars; neither is negative", a.Step, a.Reserved,
			a.Counted)
	}
	names := []string{a.Agent, a.Dream, a.Phase, a.Model, a.Day, a.State, a.Finish}
	counted := map[string]bool{}
	for _, account := range a.Accounts {
		names = append(names, account.Scope)
		if account.Scope == "" {
			return fmt.Errorf("step %q counts in an account without a name", a.Step)
		}
		if counted[account.Scope] {
			continue
		}
		counted[account.Scope] = true
		s := b.sums[account.Scope]
		if a.State == memory.OpenAttempt {
			s.reserved = plus(s.reserved, a.Counted)
		} else {
			s.spent = plus(s.spent, a.Counted)
		}
		b.sums[account.Scope] = s
	}
	return errors.Join(named("attempt", a.Step, names...), utc(a.At, a.Ended))
}

func (b *ledgerRules) sum(s memory.KeptSum) error {
	if b.folded != nil && b.folded.Compare(s) >= 0 {
		return fmt.Errorf("the sum of %d attempts of %q on %s comes after one that it should come before",
			s.Folded, s.Agent, s.Day)
	}
	b.folded = &s
	if s.Folded < 1 || s.Reserved < 0 || s.Counted < 0 || s.State == memory.OpenAttempt {
		return fmt.Errorf("a sum of %d attempts of state %q reserves %d and counts %d micro-dollars; "+
			"it is of ended attempts, and no amount is negative", s.Folded, s.State, s.Reserved, s.Counted)
	}
	counted := map[string]bool{}
	for _, scope := range s.Scopes {
		if scope == "" || counted[scope] {
			return fmt.Errorf("a sum of %q counts in an account without a name, or twice in %q", s.Agent, scope)
		}
		counted[scope] = true
		total := b.sums[scope]
		total.spent = plus(total.spent, s.Counted)
		b.sums[scope] = total
	}
	return named("sum", s.State, append([]string{s.Agent, s.Dream, s.Phase, s.Model, s.Day}, s.Scopes...)...)
}

// plus adds and stops at the largest value, as ledgers do.
func plus(a, b budget.Micros) budget.Micros {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (b *ledgerRules) account(a memory.KeptAccount) error {
	s, found := b.sums[a.Scope]
	if !found || a.Reserved != s.reserved || a.Spent != s.spent {
		return fmt.Errorf(
			"account %q says that %d micro-dollars are reserved and %d spent; its attempts and sums come to %d and %d",
			a.Scope, a.Reserved, a.Spent, s.reserved, s.spent)
	}
	s.listed = true
	b.sums[a.Scope] = s
	return named("account", a.Scope)
}

func (b *ledgerRules) end() error {
	for scope, s := range b.sums {
		if !s.listed {
			return fmt.Errorf("attempts count in account %q, which has no record", scope)
		}
	}
	return nil
}
