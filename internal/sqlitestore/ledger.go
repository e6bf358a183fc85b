package sqlitestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// Ledger is the store's implementation of spend.Ledger. It is a type of its own because its Close ends a dream's
// reservations, while Store.Close closes the file.
type Ledger struct{ *Store }

// Ledger returns the store's spend ledger.
func (s *Store) Ledger() Ledger { return Ledger{s} }

// Reserve books the worst case under every account, or nothing.
func (s *Store) Reserve(ctx context.Context, a spend.Ask) (spend.Hold, error) {
	hold := spend.Hold{Step: a.Step, Amount: a.Amount}
	accounts, err := checkAsk(a)
	if err == nil {
		kept := storeText(string(accounts), a.Dream, a.Step)
		err = s.writeLedger(ctx, func(d tx) error {
			var err error
			hold.Attempt, err = d.reserve(a, kept)
			return err
		})
	}
	if err != nil {
		return spend.Hold{}, fmt.Errorf("reserve for %s: %w", a.Step, err)
	}
	return hold, nil
}

func checkAsk(a spend.Ask) ([]byte, error) {
	if a.Step == "" {
		return nil, errors.New("the step's key is empty")
	}
	if a.Amount < 0 {
		return nil, fmt.Errorf("amount is %d micro-dollars; it must not be negative", a.Amount)
	}
	for _, account := range a.Accounts {
		if account.Scope == "" {
			return nil, errors.New("an account has no scope")
		}
	}
	return json.Marshal(a.Accounts)
}

func (d tx) reserve(a spend.Ask, accounts storedText) (int, error) {
	var attempt int
	var answered bool
	if _, err := d.one(
		"SELECT coalesce(max(attempt), 0) + 1, EXISTS (SELECT 1 FROM answers WHERE step = ?) FROM attempts WHERE step = ?",
		[]any{a.Step, a.Step}, &attempt, &answered); err != nil {
		return 0, err
	}
	if answered {
		return 0, spend.ErrAnswered
	}
	sums, err := d.balances(scopes(a.Accounts))
	if err != nil {
		return 0, err
	}
	for _, account := range a.Accounts {
		b := sums[account.Scope]
		counted := plus(b.Reserved, b.Spent)
		if counted > account.Limit || a.Amount > account.Limit-counted {
			return 0, &spend.OverCap{Scope: account.Scope, Limit: account.Limit, Counted: counted, Asks: a.Amount}
		}
	}
	for scope, b := range sums {
		b.Reserved = plus(b.Reserved, a.Amount)
		sums[scope] = b
	}
	if err := d.setBalances(sums); err != nil {
		return 0, err
	}
	_, err = d.exec(
		`INSERT INTO attempts (step, attempt, agent, dream, phase, model, day, accounts, reserved, counted, state, at, packed)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, a.Step, attempt, a.Agent, a.Dream, a.Phase, a.Model, a.Day,
		accounts.text,
		int64(a.Amount), int64(a.Amount), string(spend.Open), date(a.At), accounts.packed)
	return attempt, err
}

// Settle ends an attempt that is open or lost.
func (s *Store) Settle(ctx context.Context, h spend.Hold, b spend.Bill) error {
	tokens, err := checkBill(b)
	if err == nil {
		write := s.writeLedger
		if b.State == spend.Partial { // an interrupted call: a connecting client waits for the stretch to end
			write = s.writeUrgent
		}
		err = write(ctx, func(d tx) error { return d.settle(h, b, string(tokens)) })
	}
	if err != nil {
		return fmt.Errorf("settle %s: %w", h.Key(), err)
	}
	return nil
}

func checkBill(b spend.Bill) ([]byte, error) {
	switch b.State {
	case spend.Settled, spend.Partial, spend.Refused, spend.Lost:
	case spend.Open:
		return nil, errors.New("state open does not end an attempt")
	default:
		return nil, fmt.Errorf("state %q does not end an attempt; settled, partial, refused and unknown do", b.State)
	}
	if b.Amount < 0 {
		return nil, fmt.Errorf("amount is %d micro-dollars; it must not be negative", b.Amount)
	}
	return json.Marshal(b.Tokens)
}

func (d tx) settle(h spend.Hold, b spend.Bill, tokens string) error {
	t, found, err := d.attempt(h)
	if err != nil {
		return err
	}
	if !found {
		return spend.ErrUnknownHold
	}
	if t.state != spend.Open && t.state != spend.Lost {
		return nil
	}
	counted := finalAmount(t.reserved, b)
	if err := d.rebook(t, counted); err != nil {
		return err
	}
	if _, err := d.exec(
		"UPDATE attempts SET counted = ?, state = ?, ended = ?, tokens = ?, finish = ?, latest = "+latest+
			" WHERE key = ?",
		int64(counted), string(b.State), date(b.At), tokens, b.Finish, t.key); err != nil {
		return err
	}
	if b.Answer == nil || t.forgotten {
		return nil
	}
	return d.keepAnswer(h.Step, b.Answer)
}

// latest selects the newest attempt of a row's step.
const latest = "(SELECT max(attempt) FROM attempts AS a WHERE a.step = attempts.step)"

// finalAmount is what an ended attempt counts for. An unknown cost never counts less than was reserved.
func finalAmount(reserved budget.Micros, b spend.Bill) budget.Micros {
	switch b.State {
	case spend.Refused:
		return 0
	case spend.Partial, spend.Lost:
		return max(reserved, b.Amount)
	case spend.Settled, spend.Open:
		return b.Amount
	}
	return b.Amount
}

// Close turns a dream's open attempts into lost ones. It does not close the store.
func (s Ledger) Close(ctx context.Context, dream string, at time.Time) (int, budget.Micros, error) {
	n, sum := 0, budget.Micros(0)
	err := s.write(ctx, func(d tx) error {
		n, sum = 0, 0
		open, err := d.attempts(" WHERE dream = ? AND state = 'open'", dream)
		if err != nil {
			return err
		}
		for _, t := range open {
			if err := d.rebook(t, t.counted); err != nil {
				return err
			}
			if _, err := d.exec("UPDATE attempts SET state = ?, ended = ?, latest = "+latest+" WHERE key = ?",
				string(spend.Lost), date(at), t.key); err != nil {
				return err
			}
			n, sum = n+1, plus(sum, t.counted)
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("close the reservations of dream %s: %w", dream, err)
	}
	return n, sum, nil
}

// attempt is the part of a row that settling needs.
type attempt struct {
	key       int64
	state     spend.State
	reserved  budget.Micros
	counted   budget.Micros
	forgotten bool
	accounts  []budget.Account
}

func (d tx) attempt(h spend.Hold) (attempt, bool, error) {
	found, err := d.attempts(" WHERE step = ? AND attempt = ?", h.Step, h.Attempt)
	if err != nil || len(found) == 0 {
		return attempt{}, false, err
	}
	return found[0], true, nil
}

func (d tx) attempts(where string, args ...any) ([]attempt, error) {
	var out []attempt
	err := d.each("SELECT key, state, reserved, counted, forgotten, step, accounts, packed FROM attempts"+where, args,
		func(scan func(...any) error) error {
			var t attempt
			var step string
			var accounts, short []byte
			if err := scan(&t.key, &t.state, &t.reserved, &t.counted, &t.forgotten, &step, &accounts,
				&short); err != nil {
				return err
			}
			accounts, err := unpacked(accounts, short, step)
			if err != nil {
				return fmt.Errorf("accounts of %s: %w", step, err)
			}
			out = append(out, t)
			return json.Unmarshal(accounts, &out[len(out)-1].accounts)
		})
	return out, err
}

// rebook replaces what an attempt counted in every account by a new amount. The accounts exist since it was reserved.
func (d tx) rebook(t attempt, counted budget.Micros) error {
	sums, err := d.balances(scopes(t.accounts))
	if err != nil {
		return err
	}
	for scope, b := range sums {
		if t.state == spend.Lost {
			b.Spent = plus(b.Spent, counted-t.counted)
		} else {
			b.Reserved, b.Spent = plus(b.Reserved, -t.counted), plus(b.Spent, counted)
		}
		sums[scope] = b
	}
	return d.setBalances(sums)
}

// balances returns the sums of accounts by scope; zero for an account without bookings.
func (d tx) balances(scopes []string) (map[string]spend.Balance, error) {
	sums := make(map[string]spend.Balance, len(scopes))
	for _, scope := range scopes {
		sums[scope] = spend.Balance{}
	}
	list, err := json.Marshal(scopes)
	if err != nil {
		return nil, err
	}
	err = d.each("SELECT scope, reserved, spent FROM accounts WHERE scope IN (SELECT value FROM json_each(?))",
		[]any{string(list)},
		func(scan func(...any) error) error {
			var scope string
			var b spend.Balance
			err := scan(&scope, &b.Reserved, &b.Spent)
			sums[scope] = b
			return err
		})
	return sums, err
}

// setBalances writes the sums of accounts in one statement.
func (d tx) setBalances(sums map[string]spend.Balance) error {
	rows := make([][3]any, 0, len(sums))
	for scope, b := range sums {
		rows = append(rows, [3]any{scope, int64(b.Reserved), int64(b.Spent)})
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	_, err = d.exec(
		`INSERT INTO accounts (scope, reserved, spent) SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?) WHERE true
		ON CONFLICT (scope) DO UPDATE SET reserved = excluded.reserved, spent = excluded.spent`, string(list))
	return err
}

func (d tx) balance(scope string) (spend.Balance, error) {
	var b spend.Balance
	_, err := d.one("SELECT reserved, spent FROM accounts WHERE scope = ?", []any{scope}, &b.Reserved, &b.Spent)
	return b, err
}

// scopes lists each account once.
func scopes(accounts []budget.Account) []string {
	names := make([]string, len(accounts))
	for i, a := range accounts {
		names[i] = a.Scope
	}
	return unique(names)
}

// plus adds without overflow: it stops at the largest value.
func plus(a, b budget.Micros) budget.Micros {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
