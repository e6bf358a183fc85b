package chaos

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// Exceeded says that the provider billed more than an account's cap.
type Exceeded struct {
	Scope         string
	Limit, Billed budget.Micros
}

// Error names the account or key and both amounts.
func (f *Exceeded) Error() string {
	return fmt.Sprintf("cap %s is %s and the provider billed %s", f.Scope, f.Limit, f.Billed)
}

// Short says that the ledger counts less for a call than the provider billed.
type Short struct {
	Key             string
	Counted, Billed budget.Micros
}

// Error names the account or key and both amounts.
func (f *Short) Error() string {
	return fmt.Sprintf("the ledger counts %s for %s and the provider billed %s", f.Counted, f.Key, f.Billed)
}

// Unequal says that the ledger counts more than the provider billed for a call that was served whole and billed
// correctly.
type Unequal struct {
	Key             string
	Counted, Billed budget.Micros
}

// Error names the account or key and both amounts.
func (f *Unequal) Error() string {
	return fmt.Sprintf("%s was billed correctly: the provider billed %s and the ledger counts %s", f.Key, f.Billed,
		f.Counted)
}

// truthful are the faults that still bill a call correctly when it was served to its end.
var truthful = []provider.Fault{provider.None, provider.BadJSON, provider.Plain}

// Audit checks every promise about money. The error joins all violations.
func (e *Evidence) Audit() error {
	var faults []error
	faults = append(faults, Covered(e.Book, e.Rows)...)
	faults = append(faults, e.caps()...)
	faults = append(faults, e.equal()...)
	faults = append(faults, e.reserved()...)
	faults = append(faults, e.balances()...)
	faults = append(faults, e.outcomes()...)
	faults = append(faults, e.allowances()...)
	faults = append(faults, e.eventOrder()...)
	faults = append(faults, e.held()...)
	faults = append(faults, e.verdicts()...)
	for _, why := range e.Book.Failed {
		faults = append(faults, errors.New("the provider failed the run: "+why))
	}
	for _, id := range e.Open {
		if id == "" { // of a judge, see balances
			continue
		}
		faults = append(faults, fmt.Errorf("dream %s still has open reservations", id))
	}
	for agent, slot := range e.Slots {
		faults = append(faults, fmt.Errorf("the slot of %s is still held by %s", agent, slot.Dream))
	}
	return errors.Join(faults...)
}

func keyed(rows []spend.Row) map[string]spend.Row {
	byKey := make(map[string]spend.Row, len(rows))
	for _, row := range rows {
		byKey[spend.Hold{Step: row.Step, Attempt: row.Attempt}.Key()] = row
	}
	return byKey
}

// Covered checks that the ledger counts at least what the provider billed, call by call, and so in every sum. It
// holds at any time if the provider is read before the ledger: the cost of a call only grows, and what the ledger
// counts for it only falls until the call ends.
func Covered(book provider.Book, rows []spend.Row) []error {
	var faults []error
	byKey, seen := keyed(rows), map[string]bool{}
	for _, call := range book.Calls {
		row, found := byKey[call.Key]
		switch {
		case !found:
			faults = append(faults,
				fmt.Errorf("call %d was made under the key %q, which was never reserved", call.Number, call.Key))
		case seen[call.Key]:
			faults = append(faults, fmt.Errorf("the key %s was used for two calls", call.Key))
		case row.Counted < call.Cost:
			faults = append(faults, &Short{Key: call.Key, Counted: row.Counted, Billed: call.Cost})
		}
		seen[call.Key] = true
	}
	return faults
}

// caps adds up what the provider billed under every account of every dream's spec.
func (e *Evidence) caps() []error {
	var faults []error
	dreams := map[string]Dream{}
	for _, d := range e.Dreams {
		dreams[d.Record.ID] = d
	}
	took, limits := map[string]budget.Micros{}, map[string]budget.Micros{}
	byKey := keyed(e.Rows)
	for _, call := range e.Book.Calls {
		accounts := e.judgeAccounts(byKey[call.Key])
		if !isJudgeCall(call.Key) {
			c, ok := ReadKey(call.Key)
			d, found := dreams[c.Dream]
			if !ok || !found || !d.Begun {
				faults = append(faults,
					fmt.Errorf("call %d has the key %q, which belongs to no dream that was started", call.Number, call.Key))
				continue
			}
			accounts = e.accounts(d, c.Phase)
		}
		for _, account := range accounts {
			took[account.Scope] += call.Cost
			if limit, named := limits[account.Scope]; named && limit != account.Limit {
				faults = append(faults, fmt.Errorf("cap %s is both %s and %s", account.Scope, limit, account.Limit))
			}
			limits[account.Scope] = account.Limit
		}
	}
	for scope, sum := range took {
		if sum > limits[scope] {
			faults = append(faults, &Exceeded{Scope: scope, Limit: limits[scope], Billed: sum})
		}
	}
	return faults
}

// equal checks that a call that was served whole and billed correctly counts for exactly what it cost. An attempt
// that the ledger does not call settled is one whose bill never arrived.
func (e *Evidence) equal() []error {
	var faults []error
	for _, pair := range e.Truthful() {
		if pair.Row.Counted != pair.Call.Cost {
			faults = append(faults, &Unequal{Key: pair.Call.Key, Counted: pair.Row.Counted, Billed: pair.Call.Cost})
		}
	}
	return faults
}

func whole(c provider.Call) bool { return c.Completed && slices.Contains(truthful, c.Fault) }

// Pair is a call and its row in the ledger.
type Pair struct {
	Call provider.Call
	Row  spend.Row
}

// Truthful are the calls that were served whole, billed correctly and settled.
func (e *Evidence) Truthful() []Pair {
	var pairs []Pair
	byKey := keyed(e.Rows)
	for _, call := range e.Book.Calls {
		row, found := byKey[call.Key]
		if found && whole(call) && row.State == spend.Settled {
			pairs = append(pairs, Pair{Call: call, Row: row})
		}
	}
	return pairs
}

// reserved checks that every attempt was reserved under every account that its dream's spec names.
func (e *Evidence) reserved() []error {
	var faults []error
	dreams := map[string]Dream{}
	for _, d := range e.Dreams {
		dreams[d.Record.ID] = d
	}
	for key, row := range keyed(e.Rows) {
		if isJudgeCall(key) {
			if want := e.judgeAccounts(row); !slices.Equal(want, row.Accounts) {
				faults = append(faults, fmt.Errorf("%s was reserved under %v and not under %v", key, row.Accounts, want))
			}
			continue
		}
		c, ok := ReadKey(key)
		d, found := dreams[row.Dream]
		if !ok || !found || c.Dream != row.Dream || string(c.Phase) != row.Phase {
			faults = append(faults,
				fmt.Errorf("the ledger's %s belongs to dream %q, phase %q", key, row.Dream, row.Phase))
			continue
		}
		if want := e.accounts(d, c.Phase); !slices.Equal(want, row.Accounts) {
			faults = append(faults, fmt.Errorf("%s was reserved under %v and not under %v", key, row.Accounts, want))
		}
	}
	return faults
}

// balances checks that the running sums of the accounts are the sums of their rows, with nothing still reserved but by
// calls of a judge whose process was killed.
func (e *Evidence) balances() []error {
	var faults []error
	sums, open := map[string]budget.Micros{}, map[string]budget.Micros{}
	for key, row := range keyed(e.Rows) {
		into := sums
		if row.State == spend.Open && isJudgeCall(key) {
			into = open
		}
		for _, a := range row.Accounts {
			into[a.Scope] += row.Counted
		}
	}
	for scope, b := range e.Balances {
		if b.Reserved != open[scope] || b.Spent != sums[scope] {
			faults = append(faults,
				fmt.Errorf("account %s has %s spent and %s reserved; its rows add up to %s and %s", scope, b.Spent,
					b.Reserved, sums[scope], open[scope]))
		}
	}
	return faults
}
