package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// Ledger is a spend.Ledger in the memory of this process.
type Ledger struct {
	mu         sync.Mutex
	rows       []*row // in the order they were reserved
	sums       map[string]spend.Balance
	answers    map[string][]byte // by step
	allowances map[string]allowance
}

// row is an attempt. Nothing of it is stored as an answer once it is forgotten.
type row struct {
	spend.Row
	forgotten bool
}

type allowance struct {
	agent, day string
	amount     budget.Micros
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{
		sums: map[string]spend.Balance{}, answers: map[string][]byte{}, allowances: map[string]allowance{},
	}
}

// Reserve books the worst case under every account.
func (l *Ledger) Reserve(_ context.Context, a spend.Ask) (spend.Hold, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := a.Validate(); err != nil {
		return spend.Hold{}, err
	}
	if _, answered := l.answers[a.Step]; answered {
		return spend.Hold{}, spend.ErrAnswered
	}
	if err := a.Check(l.sums); err != nil {
		return spend.Hold{}, err
	}
	a.Accounts = slices.Clone(a.Accounts)
	r := &row{Row: spend.Row{
		Ask:      a,
		Attempt:  l.attempts(a.Step) + 1,
		Reserved: a.Amount,
		Counted:  a.Amount,
		State:    spend.Open,
	}}
	for scope := range r.scopes() {
		b := l.sums[scope]
		b.Reserved = spend.Add(b.Reserved, a.Amount)
		l.sums[scope] = b
	}
	l.rows = append(l.rows, r)
	return spend.Hold{Step: a.Step, Attempt: r.Attempt, Amount: a.Amount}, nil
}

// scopes is the set of the row's accounts.
func (r *row) scopes() map[string]bool {
	set := map[string]bool{}
	for _, account := range r.Accounts {
		set[account.Scope] = true
	}
	return set
}

func (l *Ledger) attempts(step string) int {
	n := 0
	for _, r := range l.rows {
		if r.Step == step {
			n++
		}
	}
	return n
}

// end books what an attempt counts for finally.
func (l *Ledger) end(r *row, b spend.Bill) {
	counts := b.Counts(r.Reserved)
	for scope := range r.scopes() {
		l.sums[scope] = l.sums[scope].Rebook(r.State, r.Counted, counts)
	}
	r.State, r.Counted = b.State, counts
	r.Ended, r.Latest = b.At, l.attempts(r.Step)
	r.Tokens, r.Finish = b.Tokens, b.Finish
}

// Settle ends an attempt.
func (l *Ledger) Settle(_ context.Context, h spend.Hold, b spend.Bill) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := b.Validate(); err != nil {
		return err
	}
	i := slices.IndexFunc(l.rows, func(r *row) bool { return r.Step == h.Step && r.Attempt == h.Attempt })
	if i < 0 {
		return fmt.Errorf("settle %s: %w", h.Key(), spend.ErrUnknownHold)
	}
	r := l.rows[i]
	if r.State != spend.Open && r.State != spend.Lost {
		return nil
	}
	l.end(r, b)
	if _, answered := l.answers[h.Step]; !answered && !r.forgotten && b.Answer != nil {
		l.answers[h.Step] = append([]byte{}, b.Answer...)
	}
	return nil
}

// Answer returns the stored answer of a step.
func (l *Ledger) Answer(_ context.Context, step string) ([]byte, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer, ok := l.answers[step]
	return slices.Clone(answer), ok, nil
}

// Close turns a dream's open attempts into lost ones.
func (l *Ledger) Close(_ context.Context, dream string, at time.Time) (n int, sum budget.Micros, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.rows {
		if r.Dream == dream && r.State == spend.Open {
			n, sum = n+1, spend.Add(sum, r.Counted)
			l.end(r, spend.Bill{State: spend.Lost, Amount: r.Counted, At: at})
		}
	}
	return n, sum, nil
}

// Forget deletes the answers of a dream.
func (l *Ledger) Forget(_ context.Context, dream string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if dream == "" {
		return errors.New("the dream's id is empty")
	}
	for _, r := range l.rows {
		if r.Dream == dream {
			delete(l.answers, r.Step)
			r.forgotten = r.State == spend.Open || r.State == spend.Lost
		}
	}
	return nil
}

// OpenDreams lists the dreams with open attempts.
func (l *Ledger) OpenDreams(ctx context.Context) ([]string, error) {
	rows, err := l.Rows(ctx, spend.Query{States: []spend.State{spend.Open}})
	open := map[string]bool{}
	for _, r := range rows {
		open[r.Dream] = true
	}
	return slices.Sorted(maps.Keys(open)), err
}

// Balance returns the sum of an account.
func (l *Ledger) Balance(_ context.Context, scope string) (spend.Balance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sums[scope], nil
}

// Rows lists attempts.
func (l *Ledger) Rows(_ context.Context, q spend.Query) ([]spend.Row, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []spend.Row
	for _, r := range l.rows {
		if q.Matches(r.Row) && (q.Limit <= 0 || len(found) < q.Limit) {
			kept := r.Row
			kept.Accounts = slices.Clone(r.Accounts)
			found = append(found, kept)
		}
	}
	return found, nil
}

// Allow takes a dream's allowance from the agent's day.
func (l *Ledger) Allow(ctx context.Context, agent, day, dream string, amount, limit budget.Micros) error {
	if dream == "" || amount < 0 {
		return fmt.Errorf("dream %q, amount %d: a dream has an id and an amount is not negative", dream, amount)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, had := l.allowances[dream]; had {
		return nil
	}
	taken := l.allowed(agent, day)
	if taken > limit || amount > limit-taken {
		return &spend.OverCap{Scope: "allowance:" + agent + "/" + day, Limit: limit, Counted: taken, Asks: amount}
	}
	l.allowances[dream] = allowance{agent, day, amount}
	return nil
}

func (l *Ledger) allowed(agent, day string) (sum budget.Micros) {
	for _, a := range l.allowances {
		if a.agent == agent && a.day == day {
			sum = spend.Add(sum, a.amount)
		}
	}
	return sum
}

// GiveBack returns a dream's allowance.
func (l *Ledger) GiveBack(_ context.Context, dream string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.allowances, dream)
	return nil
}

// Allowance is the sum that dreams have taken of the agent's day.
func (l *Ledger) Allowance(_ context.Context, agent, day string) (budget.Micros, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.allowed(agent, day), nil
}
