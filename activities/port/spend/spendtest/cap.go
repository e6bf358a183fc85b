package spendtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// Spenders is how many goroutines CapHolds runs on one account.
const Spenders = 32

// The cap of CapHolds: seven first reservations fit under it, and no sum of them reaches it exactly by chance.
const (
	tightCap = 1_000_003
	firstAsk = tightCap / 7
	rounds   = 12
)

// CapHolds lets 32 goroutines spend from one tight account through the given handles of one deployment. It returns an
// error when at any moment the attempts of the account count for more than the cap, by the callers' sum or by the
// ledger's; when the balance is not the sum of the rows; or when the cap was not nearly used up, as with a ledger that
// refuses everything.
func CapHolds(ctx context.Context, handles ...spend.Ledger) error {
	if len(handles) == 0 {
		return errors.New("no ledger to test")
	}
	var counted atomic.Int64
	faults := make([]error, Spenders)
	var wg sync.WaitGroup
	for i := range faults {
		wg.Go(func() { faults[i] = spendOne(ctx, handles[i%len(handles)], i, &counted) })
	}
	wg.Wait()
	return errors.Join(append(faults, agree(ctx, handles, &counted))...)
}

func spendOne(ctx context.Context, l spend.Ledger, spender int, counted *atomic.Int64) error {
	amount := budget.Micros(firstAsk)
	for round := range rounds {
		h, err := l.Reserve(ctx, spend.Ask{
			Step:     fmt.Sprintf("spender %d round %d", spender, round),
			Agent:    "echo",
			Dream:    fmt.Sprint("d", spender),
			Day:      "2026-03-01",
			Amount:   amount,
			At:       noon,
			Accounts: []budget.Account{{Scope: "wide", Limit: budget.Unlimited}, {Scope: "tight", Limit: tightCap}},
		})
		if _, over := spend.AsOverCap(err); over {
			amount = amount/2 + 1 // ask for less, down to single micro-dollars
			continue
		}
		if err != nil {
			return err
		}
		if sum := counted.Add(int64(amount)); sum > tightCap {
			return fmt.Errorf("spender %d was granted %d and the callers now hold %d of a cap of %d", spender, amount,
				sum, tightCap)
		}
		bill := spend.Bill{State: spend.Settled, Amount: amount - amount/8, At: noon}
		switch round % 4 {
		case 1:
			continue // left open, as by a process that died
		case 2:
			bill.State, bill.Amount = spend.Lost, amount
		case 3:
			bill.State, bill.Amount = spend.Refused, 0
		}
		// The callers' own sum rises after the ledger's and falls before it, so it is never above a correct ledger's.
		counted.Add(-int64(amount - bill.Amount))
		if err := l.Settle(ctx, h, bill); err != nil {
			return err
		}
	}
	return nil
}

// agree compares the ledger's rows, its balances, the callers' sum and the cap.
func agree(ctx context.Context, handles []spend.Ledger, counted *atomic.Int64) error {
	var faults []error
	for _, l := range handles {
		all, err := l.Rows(ctx, spend.Query{})
		if err != nil {
			return err
		}
		var open, ended budget.Micros
		for _, r := range all {
			if r.State == spend.Open {
				open += r.Counted
			} else {
				ended += r.Counted
			}
		}
		for _, scope := range []string{"wide", "tight"} {
			b, err := l.Balance(ctx, scope)
			if err != nil {
				return err
			}
			if want := (spend.Balance{Reserved: open, Spent: ended}); b != want {
				faults = append(faults, fmt.Errorf("account %s has balance %+v and its rows make %+v", scope, b, want))
			}
		}
		if sum := open + ended; sum > tightCap || int64(sum) != counted.Load() || sum < tightCap*9/10 {
			faults = append(faults,
				fmt.Errorf("the rows count for %d, the callers' sum is %d, the cap is %d", sum, counted.Load(),
					tightCap))
		}
	}
	return errors.Join(faults...)
}

// Careless is a ledger that checks the balance first and books later. It is the negative control of CapHolds: the first
// reservations of all spenders check before any of them books.
func Careless(l spend.Ledger) spend.Ledger {
	c := &careless{Ledger: l}
	c.looked.Add(Spenders)
	return c
}

type careless struct {
	spend.Ledger
	calls  atomic.Int64
	looked sync.WaitGroup
}

func (c *careless) Reserve(ctx context.Context, a spend.Ask) (spend.Hold, error) {
	over := c.look(ctx, a)
	if c.calls.Add(1) <= Spenders {
		c.looked.Done()
		c.looked.Wait()
	}
	if over != nil {
		return spend.Hold{}, over
	}
	unbound := a
	unbound.Accounts = nil
	for _, account := range a.Accounts {
		unbound.Accounts = append(unbound.Accounts, budget.Account{Scope: account.Scope, Limit: budget.Unlimited})
	}
	return c.Ledger.Reserve(ctx, unbound)
}

func (c *careless) look(ctx context.Context, a spend.Ask) error {
	for _, account := range a.Accounts {
		b, err := c.Balance(ctx, account.Scope)
		if err != nil {
			return err
		}
		if counted := b.Reserved + b.Spent; a.Amount > account.Limit-counted {
			return &spend.OverCap{Scope: account.Scope, Limit: account.Limit, Counted: counted, Asks: a.Amount}
		}
	}
	return nil
}
