package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

var (
	rowsScript     = script("money", "book", "rows")
	allowScript    = script("money", "book", "allow")
	giveBackScript = script("money", "book", "giveback")
)

// rowsAtOnce is how many rows one step reads: some ten milliseconds of the server. A dream or an agent's day has fewer;
// longer lists are read in several steps.
const rowsAtOnce = 2000

// rowFields is how many fields of a row the script returns.
const rowFields = 12

// OpenDreams lists the dreams that have open attempts, by id.
func (s *Store) OpenDreams(ctx context.Context) ([]string, error) {
	var dreams []string
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		var err error
		dreams, err = s.client.SMembers(ctx, s.ledgerKey("open")).Result()
		return err
	})
	slices.Sort(dreams)
	return dreams, wrap(err, "dreams with open reservations")
}

// Balance returns the running sum of an account.
func (s *Store) Balance(ctx context.Context, scope string) (spend.Balance, error) {
	var b spend.Balance
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		sums, err := s.client.HGetAll(ctx, s.ledgerKey("account:", scope)).Result()
		if err != nil || len(sums) == 0 {
			return err
		}
		n, err := numbers([]string{sums["reserved"], sums["spent"]})
		if err == nil {
			b = spend.Balance{Reserved: budget.Micros(n[0]), Spent: budget.Micros(n[1])}
		}
		return err
	})
	return b, wrap(err, "balance of ", scope)
}

// Rows lists attempts in the order they were reserved.
func (s *Store) Rows(ctx context.Context, q spend.Query) ([]spend.Row, error) {
	list := ""
	switch {
	case q.Dream != "":
		list = "dream:" + q.Dream
	case q.Day != "" && q.Agent != "":
		list = "day:" + q.Day + ":" + q.Agent
	}
	var out []spend.Row
	for from := int64(0); ; {
		reply, err := s.run(ctx, again, rowsScript, nil, list, from, rowsAtOnce)
		var page []string
		if err == nil {
			page, err = texts(reply)
		}
		if err != nil {
			return nil, wrap(err, "rows of the ledger")
		}
		for fields := range slices.Chunk(page[1:], rowFields) {
			r, err := readRow(fields)
			if err != nil {
				return nil, wrap(err, "rows of the ledger")
			}
			if fitsQuery(r, q) {
				out = append(out, r)
			}
			if q.Limit > 0 && len(out) == q.Limit {
				return out, nil
			}
		}
		from, err = strconv.ParseInt(page[0], 10, 64)
		if err != nil || from == 0 {
			return out, wrap(err, "rows of the ledger")
		}
	}
}

func fitsQuery(r spend.Row, q spend.Query) bool {
	for _, f := range []struct{ want, has string }{
		{q.Agent, r.Agent}, {q.Dream, r.Dream}, {q.Phase, r.Phase}, {q.Model, r.Model}, {q.Day, r.Day},
	} {
		if f.want != "" && f.want != f.has {
			return false
		}
	}
	return len(q.States) == 0 || slices.Contains(q.States, r.State)
}

// readRow reads ask, attempt, reserved, counted, state, tokens, finish, ended and latest; then step, model and at of a
// row that shares its ask.
func readRow(fields []string) (spend.Row, error) {
	var r spend.Row
	var a storedAsk
	if len(fields) != rowFields {
		return r, fmt.Errorf("a row of %d fields; it has %d", len(fields), rowFields)
	}
	if err := json.Unmarshal([]byte(fields[0]), &a); err != nil {
		return r, err
	}
	if a.Step == "" {
		a.Step, a.Model, a.At = fields[9], fields[10], fields[11]
	}
	n, err := numbers(fields[1:4])
	if err != nil {
		return r, err
	}
	at, err := parseDate(a.At)
	if err != nil {
		return r, err
	}
	r.Ask = spend.Ask{
		Step:     a.Step,
		Agent:    a.Agent,
		Dream:    a.Dream,
		Phase:    a.Phase,
		Model:    a.Model,
		Day:      a.Day,
		Accounts: a.Accounts,
		At:       at,
	}
	r.Attempt, r.Reserved, r.Counted = int(n[0]), budget.Micros(n[1]), budget.Micros(n[2])
	r.State, r.Finish = spend.State(fields[4]), fields[6]
	r.Amount = r.Reserved
	if fields[5] != "" {
		if err := json.Unmarshal([]byte(fields[5]), &r.Tokens); err != nil {
			return r, err
		}
	}
	r.Ended, err = parseDate(fields[7])
	if err != nil || fields[8] == "" {
		return r, err
	}
	r.Latest, err = strconv.Atoi(fields[8])
	return r, err
}

// Allow takes a dream's allowance from the agent's day. A returned allowance may be taken again.
func (s *Store) Allow(ctx context.Context, agent, day, dream string, amount, limit budget.Micros) error {
	return wrap(s.allow(ctx, agent, day, dream, amount, limit), "allowance of dream ", dream)
}

func (s *Store) allow(ctx context.Context, agent, day, dream string, amount, limit budget.Micros) error {
	if dream == "" || amount < 0 {
		return fmt.Errorf("dream %q, amount %d micro-dollars: a dream has an id and an amount is not negative", dream,
			amount)
	}
	reply, err := s.run(ctx, again, allowScript, nil, agent, day, dream, int64(amount), int64(limit))
	if err != nil {
		return err
	}
	values, err := texts(reply)
	if err != nil || values[0] != "over" {
		return err
	}
	n, err := numbers(values[1:])
	if err != nil {
		return err
	}
	return &spend.OverCap{
		Scope: "allowance:" + agent + "/" + day, Limit: limit, Counted: budget.Micros(n[0]),
		Asks: amount,
	}
}

// GiveBack returns a dream's allowance.
func (s *Store) GiveBack(ctx context.Context, dream string) error {
	_, err := s.run(ctx, again, giveBackScript, nil, dream)
	return wrap(err, "give back the allowance of dream ", dream)
}

// Allowance is the sum that dreams have taken of the agent's day.
func (s *Store) Allowance(ctx context.Context, agent, day string) (budget.Micros, error) {
	sum := budget.Micros(0)
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		amounts, err := s.client.HVals(ctx, s.ledgerKey("allowed:", day, ":", agent)).Result()
		if err != nil {
			return err
		}
		n, err := numbers(amounts)
		sum = 0
		for _, amount := range n {
			if amount > math.MaxInt64-int64(sum) {
				amount = math.MaxInt64 - int64(sum) // the sum stops at the largest value
			}
			sum += budget.Micros(amount)
		}
		return err
	})
	return sum, wrap(err, "allowance of ", agent, " on ", day)
}

// ignoreMissing ignores the error of a missing key.
func ignoreMissing(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}
