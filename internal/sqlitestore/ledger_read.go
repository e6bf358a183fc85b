package sqlitestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// OpenDreams lists the dreams that have open attempts, by id.
func (s *Store) OpenDreams(ctx context.Context) ([]string, error) {
	var dreams []string
	err := s.read(ctx, func(d tx) error {
		return d.each("SELECT DISTINCT dream FROM attempts WHERE state = 'open' ORDER BY dream", nil,
			func(scan func(...any) error) error {
				var id string
				err := scan(&id)
				dreams = append(dreams, id)
				return err
			})
	})
	return dreams, wrap(err, "dreams with open reservations")
}

// Balance returns the running sum of an account.
func (s *Store) Balance(ctx context.Context, scope string) (spend.Balance, error) {
	var b spend.Balance
	err := s.readOnce(ctx, func(d tx) error {
		var err error
		b, err = d.balance(scope)
		return err
	})
	return b, wrap(err, "balance of "+scope)
}

// Rows lists attempts in the order they were reserved.
func (s *Store) Rows(ctx context.Context, q spend.Query) ([]spend.Row, error) {
	w := where{terms: []string{"1"}}
	for _, f := range []struct{ column, value string }{
		{"agent", q.Agent}, {"dream", q.Dream}, {"phase", q.Phase}, {"model", q.Model}, {"day", q.Day},
	} {
		if f.value != "" {
			w.and(f.column+" = ?", f.value)
		}
	}
	if len(q.States) > 0 {
		in(&w, "state", unique(q.States))
	}
	limit := -1
	if q.Limit > 0 {
		limit = q.Limit
	}
	var out []spend.Row
	err := s.readOnce(ctx, func(d tx) error {
		return d.each(
			`SELECT step, attempt, agent, dream, phase, model, day, accounts, reserved, counted, state, tokens, finish, at, ended, latest, packed
			FROM attempts`+w.String()+" ORDER BY key LIMIT ?", append(w.args, limit),
			func(scan func(...any) error) error {
				r, err := scanRow(scan)
				out = append(out, r)
				return err
			})
	})
	return out, wrap(err, "rows of the ledger")
}

func scanRow(scan func(...any) error) (spend.Row, error) {
	var r spend.Row
	var accounts, tokens, short []byte
	var at, ended string
	if err := scan(&r.Step, &r.Attempt, &r.Agent, &r.Dream, &r.Phase, &r.Model, &r.Day, &accounts, &r.Reserved,
		&r.Counted,
		&r.State, &tokens, &r.Finish, &at, &ended, &r.Latest, &short); err != nil {
		return r, err
	}
	r.Amount = r.Reserved
	accounts, err := unpacked(accounts, short, r.Step)
	if err != nil {
		return r, fmt.Errorf("accounts of %s: %w", r.Step, err)
	}
	r.At, err = parseDate(at)
	if err != nil {
		return r, err
	}
	r.Ended, err = parseDate(ended)
	if err != nil {
		return r, err
	}
	return r, errors.Join(json.Unmarshal(accounts, &r.Accounts), json.Unmarshal(tokens, &r.Tokens))
}

// Allow takes a dream's allowance from the agent's day. A returned allowance may be taken again.
func (s *Store) Allow(ctx context.Context, agent, day, dream string, amount, limit budget.Micros) error {
	err := s.write(ctx, func(d tx) error {
		if dream == "" || amount < 0 {
			return fmt.Errorf("dream %q, amount %d micro-dollars: a dream has an id and an amount is not negative",
				dream, amount)
		}
		var had bool
		if _, err := d.one("SELECT EXISTS (SELECT 1 FROM allowances WHERE dream = ?)", []any{dream},
			&had); err != nil || had {
			return err
		}
		taken, err := d.allowance(agent, day)
		if err != nil {
			return err
		}
		if taken > limit || amount > limit-taken {
			return &spend.OverCap{Scope: "allowance:" + agent + "/" + day, Limit: limit, Counted: taken, Asks: amount}
		}
		_, err = d.exec("INSERT INTO allowances (dream, agent, day, amount) VALUES (?, ?, ?, ?)", dream, agent, day,
			int64(amount))
		return err
	})
	return wrap(err, "allowance of dream "+dream)
}

// GiveBack returns a dream's allowance.
func (s *Store) GiveBack(ctx context.Context, dream string) error {
	err := s.write(ctx, func(d tx) error {
		_, err := d.exec("DELETE FROM allowances WHERE dream = ?", dream)
		return err
	})
	return wrap(err, "give back the allowance of dream "+dream)
}

// Allowance is the sum that dreams have taken of the agent's day.
func (s *Store) Allowance(ctx context.Context, agent, day string) (budget.Micros, error) {
	var taken budget.Micros
	err := s.readOnce(ctx, func(d tx) error {
		var err error
		taken, err = d.allowance(agent, day)
		return err
	})
	return taken, wrap(err, strings.Join([]string{"allowance of", agent, "on", day}, " "))
}

func (d tx) allowance(agent, day string) (budget.Micros, error) {
	var sum budget.Micros
	err := d.each("SELECT amount FROM allowances WHERE agent = ? AND day = ?", []any{agent, day},
		func(scan func(...any) error) error {
			var amount budget.Micros
			err := scan(&amount)
			sum = plus(sum, amount)
			return err
		})
	return sum, err
}

func wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
