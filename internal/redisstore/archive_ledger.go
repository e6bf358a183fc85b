package redisstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// changesKey is the ledger's count of changes to what it has (book.lua).
const changesKey = "changes"

// ledger exports the ledger. Every write to it changes one of the keys that are watched here. While processes of a
// program may run that does not count its changes, everything that is read is watched as well: for that the server
// searches all keys that are watched already, so that it takes the square of their number.
func (r *reader) ledger(c inventory) {
	r.watch(r.ledgerKey("rows"), r.ledgerKey("folded"), r.ledgerKey(unfoldedKey), r.ledgerKey("open"),
		r.ledgerKey(changesKey), r.root(raisedKey))
	if r.err != nil {
		return
	}
	raised, err := r.tx.Exists(r.ctx, r.root(raisedKey)).Result()
	r.fail(err)
	r.counted = raised == 0
	steps := r.attempts()
	r.sums()
	r.accounts(c.accounts)
	r.answers(steps)
	for _, dream := range c.allowances {
		r.allowance(dream)
	}
}

// attempts exports every row and returns their steps, each once and in order.
func (r *reader) attempts() (steps []string) {
	last, err := r.tx.Get(r.ctx, r.ledgerKey("rows")).Int64()
	r.fail(ignoreMissing(err))
	folded, err := r.tx.Get(r.ctx, r.ledgerKey("folded")).Int64()
	r.fail(ignoreMissing(err))
	stayed, err := r.tx.ZRange(r.ctx, r.ledgerKey(unfoldedKey), 0, -1).Result()
	r.fail(err)
	for some := range slices.Chunk(stayed, keysAtOnce) {
		steps = r.exportRows(steps, some)
	}
	for from := folded + 1; r.err == nil && from <= last; from += keysAtOnce {
		numbers := make([]string, 0, keysAtOnce)
		for n := from; n < min(from+keysAtOnce, last+1); n++ {
			numbers = append(numbers, strconv.FormatInt(n, 10))
		}
		steps = r.exportRows(steps, numbers)
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

// exportRows exports the rows of these numbers, and appends their steps.
func (r *reader) exportRows(steps, numbers []string) []string {
	keys := make([]string, len(numbers))
	for i, number := range numbers {
		keys[i] = r.ledgerKey("row:", number)
	}
	for i, row := range r.asks(r.rows(keys)) {
		if len(row) == 0 {
			continue // it was folded
		}
		a, err := readAttempt(row)
		if err != nil {
			r.fail(fmt.Errorf("row %s: %w", numbers[i], err))
		}
		steps = append(steps, a.Step)
		r.hold(memory.Record{Attempt: &a}, 500)
	}
	return steps
}

// asks adds to each row the ask that it shares. An ask never changes.
func (r *reader) asks(rows []map[string]string) []map[string]string {
	var names []string
	for _, row := range rows {
		if name := row["asked"]; name != "" {
			names = append(names, name)
		}
	}
	names = store.Distinct(names)
	if len(names) == 0 {
		return rows
	}
	kept, err := r.tx.HMGet(r.ctx, r.ledgerKey("asks"), names...).Result()
	r.fail(err)
	shared := map[string]string{}
	for i, ask := range kept {
		shared[names[i]], _ = ask.(string)
	}
	for _, row := range rows {
		if name := row["asked"]; name != "" {
			row["ask"] = shared[name]
		}
	}
	return rows
}

// watchUncounted watches keys of which no count tells that they have changed.
func (r *reader) watchUncounted(keys ...string) {
	if !r.counted {
		r.watch(keys...)
	}
}

// rows reads hashes.
func (r *reader) rows(keys []string) []map[string]string {
	r.watchUncounted(keys...)
	if r.err != nil {
		return nil
	}
	replies := make([]*redis.MapStringStringCmd, len(keys))
	_, err := r.tx.Pipelined(r.ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			replies[i] = p.HGetAll(r.ctx, key)
		}
		return nil
	})
	r.fail(err)
	rows := make([]map[string]string, len(keys))
	for i, reply := range replies {
		rows[i] = reply.Val()
	}
	return rows
}

func (r *reader) accounts(scopes []string) {
	for chunk := range slices.Chunk(scopes, keysAtOnce) {
		keys := make([]string, len(chunk))
		for i, scope := range chunk {
			keys[i] = r.ledgerKey("account:", scope)
		}
		for i, row := range r.rows(keys) {
			r.hold(memory.Record{Account: &memory.KeptAccount{
				Scope:    chunk[i],
				Reserved: budget.Micros(r.number(row["reserved"])),
				Spent:    budget.Micros(r.number(row["spent"])),
			}}, 100)
		}
	}
}

// answersAtOnce is small, because an answer may hold the vectors of a hundred texts.
const answersAtOnce = 50

func (r *reader) answers(steps []string) {
	for chunk := range slices.Chunk(steps, answersAtOnce) {
		keys := make([]string, len(chunk))
		for i, step := range chunk {
			keys[i] = r.ledgerKey("answer:", step)
		}
		r.watchUncounted(keys...)
		if r.err != nil {
			return
		}
		found, err := r.tx.MGet(r.ctx, keys...).Result()
		r.fail(err)
		for i, answer := range found {
			if text, ok := answer.(string); ok {
				r.hold(memory.Record{Answer: &memory.KeptAnswer{Step: chunk[i], Answer: []byte(text)}}, len(text))
			}
		}
	}
}

func (r *reader) allowance(dream string) {
	key, allowed := r.ledgerKey("allowance:", dream), r.ledgerKey("allowed:")
	r.watch(key)
	if r.err != nil {
		return
	}
	where, err := r.tx.Get(r.ctx, key).Result()
	r.fail(ignoreMissing(err))
	if err != nil {
		return // returned since its name was read
	}
	day, agent, ok := strings.Cut(strings.TrimPrefix(where, allowed), ":")
	if !ok || !strings.HasPrefix(where, allowed) {
		r.fail(fmt.Errorf("the allowance of %q is in key %q, which names no day and agent", dream, where))
	}
	r.watch(where)
	amount, err := r.tx.HGet(r.ctx, where, dream).Int64()
	r.fail(store.Wrap(err, "the allowance of ", dream))
	k := memory.KeptAllowance{Dream: dream, Agent: agent, Day: day, Amount: budget.Micros(amount)}
	r.hold(memory.Record{Allowance: &k}, 100)
}

// ledger imports a record of the ledger.
func (f *importer) ledger(r memory.Record) {
	switch {
	case r.Attempt != nil:
		f.attempt(*r.Attempt)
	case r.Sum != nil:
		f.sum(*r.Sum)
	case r.Account != nil: // it was compared with the sum of its attempts
		f.flushSums()
		a := r.Account
		f.do("HSET", f.ledgerKey("account:", a.Scope), "reserved", int64(a.Reserved), "spent", int64(a.Spent))
	case r.Answer != nil:
		f.do("SET", f.ledgerKey("answer:", r.Answer.Step), r.Answer.Answer)
	case r.Allowance != nil:
		a := r.Allowance
		if strings.Contains(a.Day, ":") {
			f.fail(fmt.Errorf("the allowance of %q is of the day %q; a day is a date", a.Dream, a.Day))
		}
		all := f.ledgerKey("allowed:", a.Day, ":", a.Agent)
		f.do("HSET", all, a.Dream, int64(a.Amount))
		f.do("SET", f.ledgerKey("allowance:", a.Dream), all)
	}
}

func (f *importer) attempt(a store.Attempt) {
	f.attempted++
	seq := f.attempted
	ask, name, err := storeAsk(a)
	f.fail(err)
	ended, err := endFields(a)
	f.fail(err)
	words := []any{
		"HSET", f.ledgerKey("row:", strconv.FormatInt(seq, 10)), "step", a.Step, "attempt", a.Attempt, "token", "",
		"reserved", int64(a.Reserved), "counted", int64(a.Counted), "state", a.State,
	}
	if name == "" {
		words = append(words, "ask", ask)
	} else {
		words = append(words, "asked", name, "model", a.Model, "at", date(a.At))
		f.do("HSET", f.ledgerKey("asks"), name, ask)
	}
	if a.Forgotten {
		words = append(words, "mute", 1)
	}
	list := f.ledgerKey("dream:", a.Dream)
	if a.Dream == "" {
		list = f.ledgerKey("awake:", a.Agent)
	}
	f.do("SET", f.ledgerKey("rows"), seq)
	f.do("RPUSH", f.ledgerKey("step:", a.Step), seq)
	f.do("RPUSH", f.ledgerKey("day:", a.Day, ":", a.Agent), seq)
	f.do("RPUSH", list, seq)
	if a.State == memory.OpenAttempt {
		f.do("SADD", f.ledgerKey("opens:", a.Dream), seq)
		f.do("SADD", f.ledgerKey("open"), a.Dream)
	} else {
		words = append(append(words, "ended", date(a.Ended), "latest", a.Latest), ended...)
	}
	f.do(words...)
}
