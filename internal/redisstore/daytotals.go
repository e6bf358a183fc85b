package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var (
	spentOfScript  = script("money", "book", "spentof")
	setSpentScript = script("money", "book", "setspent")
)

var _ spend.DayTotals = Ledger{}

// How many days of agents one step adds up, and how many agents' totals one step reads.
const (
	daysAtOnce   = 100
	totalsAtOnce = 1000
)

// DayTotals reads the totals that scripts keep. Where they are not whole, it adds up the rows.
func (s ledger) DayTotals(ctx context.Context, agent, day string) ([]spend.DayTotal, error) {
	if !s.sumDays(ctx) {
		rows, err := s.Rows(ctx, spend.Query{Agent: agent, Day: day})
		return spend.TotalByDay(rows), err
	}
	all, err := s.keptTotals(ctx, agent)
	if day != "" {
		all = slices.DeleteFunc(all, func(t spend.DayTotal) bool { return t.Day != day })
	}
	return store.Result(all, err, "totals by day")
}

// keptTotals reads the totals of an agent, or of all.
func (s ledger) keptTotals(ctx context.Context, agent string) ([]spend.DayTotal, error) {
	agents := []string{agent}
	if agent == "" {
		var err error
		agents, err = ask(ctx, s.server, func(ctx context.Context) ([]string, error) {
			return s.client.SMembers(ctx, s.ledgerKey("spenders")).Result()
		})
		if err != nil {
			return nil, err
		}
		slices.Sort(agents)
	}
	parts := make([][]spend.DayTotal, (len(agents)+totalsAtOnce-1)/totalsAtOnce)
	err := inParts(agents, totalsAtOnce, func(first int, part []string) error {
		days := make([]*redis.MapStringStringCmd, len(part))
		err := s.exchange(ctx, func(ctx context.Context) error {
			_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
				for i, agent := range part {
					days[i] = p.HGetAll(ctx, s.ledgerKey("spent:", agent))
				}
				return nil
			})
			return err
		})
		if err != nil {
			return err
		}
		var read []spend.DayTotal
		for i, agent := range part {
			before := len(read)
			for day, kept := range days[i].Val() {
				t, err := readTotal(agent, day, kept)
				if err != nil {
					return err
				}
				read = append(read, t)
			}
			slices.SortFunc(read[before:], spend.DayTotal.Compare)
		}
		parts[first/totalsAtOnce] = read
		return nil
	})
	return slices.Concat(parts...), err
}

// readTotal reads the total of a day, which book.lua says the form of. An amount beyond the largest is cut there.
func readTotal(agent, day, kept string) (spend.DayTotal, error) {
	t := spend.DayTotal{Agent: agent, Day: day}
	into := []*int64{
		&t.Calls, (*int64)(&t.Reserved), (*int64)(&t.Unknown), (*int64)(&t.Settled), &t.In, &t.Cached, &t.Out,
	}
	n := 0
	for number := range strings.SplitSeq(kept, " ") {
		if n == len(into) {
			return t, badTotal(agent, day, kept)
		}
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return t, badTotal(agent, day, kept)
		}
		*into[n] = v
		n++
	}
	if n < len(into) {
		return t, badTotal(agent, day, kept)
	}
	return t, nil
}

func badTotal(agent, day, kept string) error {
	return fmt.Errorf("the total of %s on %s is %q; expected seven numbers", agent, day, kept)
}

// writeTotal is the form that readTotal reads.
func writeTotal(t spend.DayTotal) string {
	return fmt.Sprint(t.Calls, " ", int64(t.Reserved), " ", int64(t.Unknown), " ", int64(t.Settled), " ", t.In, " ",
		t.Cached, " ", t.Out)
}

// sumDays makes the totals of schema 7 whole, once, which an older program has not kept, and reports whether they are.
func (s ledger) sumDays(ctx context.Context) bool {
	return s.whole(ctx, summedKey, func() error {
		var all store.DayCounter
		err := s.eachRow(ctx, all.Add)
		if err != nil {
			return err
		}
		return s.sumAll(ctx, all.Differing(nil))
	})
}

// sumAll writes the totals of days as their rows have them at that moment.
func (s ledger) sumAll(ctx context.Context, days []spend.DayTotal) error {
	for len(days) > 0 {
		var torn []spend.DayTotal
		for part := range slices.Chunk(days, daysAtOnce) {
			before, counted, err := s.recount(ctx, part)
			if err != nil {
				return err
			}
			args := make([]any, 0, 4*len(part))
			for i, t := range counted {
				args = append(args, t.Agent, t.Day, before[i], writeTotal(t))
			}
			written, err := s.runTexts(ctx, setSpentScript, nil, args...)
			if err != nil {
				return err
			}
			for i, t := range counted {
				if i >= len(written) || written[i] != "1" {
					torn = append(torn, t)
				}
			}
		}
		days = torn
	}
	return nil
}

// recount adds up the rows of days, and returns the kept totals of the same moment.
func (s ledger) recount(ctx context.Context, days []spend.DayTotal) (kept []string, counted []spend.DayTotal, err error) {
	args := make([]any, 0, 2*len(days))
	for _, t := range days {
		args = append(args, t.Agent, t.Day)
	}
	reply, err := s.run(ctx, spentOfScript, nil, args...)
	if err != nil {
		return nil, nil, err
	}
	lists, _ := reply.([]any)
	if len(lists) != len(days) {
		return nil, nil, fmt.Errorf("the server read %d of %d days", len(lists), len(days))
	}
	for i, t := range days {
		of, _ := lists[i].([]any)
		now := spend.DayTotal{Agent: t.Agent, Day: t.Day}
		for n := 1; n+2 < len(of); n += 3 {
			if err := addStored(&now, text(of, n), text(of, n+1), text(of, n+2)); err != nil {
				return nil, nil, err
			}
		}
		kept, counted = append(kept, text(of, 0)), append(counted, now)
	}
	return kept, counted, nil
}

// addStored adds a row as spentof.lua returns it, or the sums of the day's agent.
func addStored(t *spend.DayTotal, state, counted, tokens string) error {
	if state == "sums" {
		sums, err := store.UnpackSums([]byte(counted))
		for _, sum := range sums {
			t.Add(store.SumRow(sum))
		}
		return err
	}
	var p parser
	r := spend.Row{State: spend.State(state), Counted: budget.Micros(p.number(counted))}
	p.json(tokens, &r.Tokens)
	t.Add(r)
	return p.err
}

// eachRow calls put with every row of the ledger, and with every sum.
func (s ledger) eachRow(ctx context.Context, put func(spend.Row)) error {
	sums, err := s.allSums(ctx)
	for _, sum := range sums {
		put(store.SumRow(sum))
	}
	for from := int64(0); err == nil; {
		from, err = s.page(ctx, "", from, rowsAtOnce, put)
		if from == 0 {
			break
		}
	}
	return err
}

// verifySpent compares the kept totals with what the rows add up to; checked is false where none are kept yet. Calls go
// on meanwhile, so a day that differs is read again, with its rows at one moment.
func (s ledger) verifySpent(ctx context.Context) (checked bool, faults []string, err error) {
	n, err := ask(ctx, s.server, func(ctx context.Context) (int64, error) {
		return s.client.Exists(ctx, s.root(summedKey)).Result()
	})
	if err != nil || n == 0 {
		return false, nil, err
	}
	var all store.DayCounter
	err = s.eachRow(ctx, all.Add)
	if err != nil {
		return false, nil, err
	}
	totals, err := s.keptTotals(ctx, "")
	if err != nil {
		return false, nil, err
	}
	var wrong []spend.DayTotal
	for part := range slices.Chunk(all.Differing(totals), daysAtOnce) {
		kept, counted, err := s.recount(ctx, part)
		if err != nil {
			return false, nil, err
		}
		for i, t := range counted {
			now, err := readTotal(t.Agent, t.Day, kept[i])
			if err != nil || now != t {
				wrong = append(wrong, t)
			}
		}
	}
	return true, store.DayFaults(wrong), nil
}
