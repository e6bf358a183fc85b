package redisstore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// exportLedger exports the ledger.
func (r *reader) exportLedger(c inventory) error {
	if err := r.watch(r.Store.ledgerKey("rows"), r.Store.ledgerKey("open")); err != nil {
		return err
	}
	steps, err := r.attempts()
	if err != nil {
		return err
	}
	if err := r.accounts(c.accounts); err != nil {
		return err
	}
	if err := r.answers(steps); err != nil {
		return err
	}
	return r.allowances(c.allowances)
}

// attempts exports every row and returns their steps, each once and in order.
func (r *reader) attempts() (steps []string, err error) {
	last, err := r.tx.Get(r.ctx, r.Store.ledgerKey("rows")).Int64()
	if ignoreMissing(err) != nil {
		return nil, err
	}
	for from := int64(1); from <= last; from += keysAtOnce {
		keys := []string{}
		for seq := from; seq < min(from+keysAtOnce, last+1); seq++ {
			keys = append(keys, r.Store.ledgerKey("row:", strconv.FormatInt(seq, 10)))
		}
		rows, err := r.rows(keys)
		if err != nil {
			return nil, err
		}
		if err := r.asks(rows); err != nil {
			return nil, err
		}
		for i, row := range rows {
			k, err := keptAttempt(row)
			if err != nil {
				return nil, fmt.Errorf("row %d: %w", from+int64(i), err)
			}
			steps = append(steps, k.Step)
			if err := r.hold(memory.Record{Attempt: &k}, 500); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(steps)
	return slices.Compact(steps), nil
}

// asks adds to each row the ask that it shares. An ask never changes.
func (r *reader) asks(rows []map[string]string) error {
	var names []string
	for _, row := range rows {
		if name := row["asked"]; name != "" {
			names = append(names, name)
		}
	}
	names = distinct(names)
	if len(names) == 0 {
		return nil
	}
	kept, err := r.tx.HMGet(r.ctx, r.Store.ledgerKey("asks"), names...).Result()
	if err != nil {
		return err
	}
	shared := map[string]string{}
	for i, ask := range kept {
		shared[names[i]], _ = ask.(string)
	}
	for _, row := range rows {
		if name := row["asked"]; name != "" {
			row["ask"] = shared[name]
		}
	}
	return nil
}

// rows watches and reads hashes.
func (r *reader) rows(keys []string) ([]map[string]string, error) {
	if err := r.watch(keys...); err != nil {
		return nil, err
	}
	replies := make([]*redis.MapStringStringCmd, len(keys))
	_, err := r.tx.Pipelined(r.ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			replies[i] = p.HGetAll(r.ctx, key)
		}
		return nil
	})
	rows := make([]map[string]string, len(keys))
	for i, reply := range replies {
		rows[i] = reply.Val()
	}
	return rows, err
}

func keptAttempt(row map[string]string) (memory.KeptAttempt, error) {
	r, err := readRow([]string{
		row["ask"], row["attempt"], row["reserved"], row["counted"], row["state"], row["tokens"], row["finish"],
		row["ended"], row["latest"],
		row["step"], row["model"], row["at"],
	})
	if err != nil {
		return memory.KeptAttempt{}, err
	}
	k := memory.KeptAttempt{
		Step:      r.Step,
		Attempt:   r.Attempt,
		Agent:     r.Agent,
		Dream:     r.Dream,
		Phase:     r.Phase,
		Model:     r.Model,
		Day:       r.Day,
		Reserved:  r.Reserved,
		Counted:   r.Counted,
		State:     string(r.State),
		Tokens:    r.Tokens,
		Finish:    r.Finish,
		At:        r.At,
		Ended:     r.Ended,
		Latest:    r.Latest,
		Forgotten: row["mute"] == "1",
	}
	if len(r.Accounts) > 0 {
		k.Accounts = r.Accounts
	}
	return k, nil
}

func (r *reader) accounts(scopes []string) error {
	for chunk := range slices.Chunk(scopes, keysAtOnce) {
		keys := make([]string, len(chunk))
		for i, scope := range chunk {
			keys[i] = r.Store.ledgerKey("account:", scope)
		}
		rows, err := r.rows(keys)
		if err != nil {
			return err
		}
		for i, row := range rows {
			n, err := numbers([]string{row["reserved"], row["spent"]})
			if err != nil {
				return fmt.Errorf("account %q: %w", chunk[i], err)
			}
			k := memory.KeptAccount{Scope: chunk[i], Reserved: budget.Micros(n[0]), Spent: budget.Micros(n[1])}
			if err := r.hold(memory.Record{Account: &k}, 100); err != nil {
				return err
			}
		}
	}
	return nil
}

// answersAtOnce is small, because an answer may hold the vectors of a hundred texts.
const answersAtOnce = 50

func (r *reader) answers(steps []string) error {
	for chunk := range slices.Chunk(steps, answersAtOnce) {
		keys := make([]string, len(chunk))
		for i, step := range chunk {
			keys[i] = r.Store.ledgerKey("answer:", step)
		}
		if err := r.watch(keys...); err != nil {
			return err
		}
		found, err := r.tx.MGet(r.ctx, keys...).Result()
		if err != nil {
			return err
		}
		for i, answer := range found {
			text, ok := answer.(string)
			if !ok {
				continue
			}
			if err := r.hold(memory.Record{Answer: &memory.KeptAnswer{Step: chunk[i], Answer: []byte(text)}},
				len(text)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) allowances(dreams []string) error {
	allowed := r.Store.ledgerKey("allowed:")
	for _, dream := range dreams {
		key := r.Store.ledgerKey("allowance:", dream)
		if err := r.watch(key); err != nil {
			return err
		}
		where, err := r.tx.Get(r.ctx, key).Result()
		if err != nil {
			if ignoreMissing(err) == nil {
				continue // returned since its name was read
			}
			return err
		}
		day, agent, ok := strings.Cut(strings.TrimPrefix(where, allowed), ":")
		if !ok || !strings.HasPrefix(where, allowed) {
			return fmt.Errorf("the allowance of %q is in key %q, which names no day and agent", dream, where)
		}
		if err := r.watch(where); err != nil {
			return err
		}
		amount, err := r.tx.HGet(r.ctx, where, dream).Int64()
		if err != nil {
			return fmt.Errorf("the allowance of %q: %w", dream, err)
		}
		k := memory.KeptAllowance{Dream: dream, Agent: agent, Day: day, Amount: budget.Micros(amount)}
		if err := r.hold(memory.Record{Allowance: &k}, 100); err != nil {
			return err
		}
	}
	return nil
}

// ledger imports a record of the ledger.
func (f *importer) ledger(r memory.Record) error {
	switch {
	case r.Attempt != nil:
		return f.attempt(*r.Attempt)
	case r.Account != nil: // it was compared with the sum of its attempts
		a := r.Account
		return f.do("HSET", f.ledgerKey("account:", a.Scope), "reserved", int64(a.Reserved), "spent", int64(a.Spent))
	case r.Answer != nil:
		return f.do("SET", f.ledgerKey("answer:", r.Answer.Step), r.Answer.Answer)
	case r.Allowance != nil:
		a := r.Allowance
		all := f.ledgerKey("allowed:", a.Day, ":", a.Agent)
		if strings.Contains(a.Day, ":") {
			return fmt.Errorf("the allowance of %q is of the day %q; a day is a date", a.Dream, a.Day)
		}
		if err := f.do("HSET", all, a.Dream, int64(a.Amount)); err != nil {
			return err
		}
		return f.do("SET", f.ledgerKey("allowance:", a.Dream), all)
	}
	return nil
}

func (f *importer) attempt(a memory.KeptAttempt) error {
	f.attempted++
	seq := f.attempted
	ask, name, err := storeAsk(storedAsk{a.Agent, a.Dream, a.Phase, a.Model, a.Day, a.Accounts, date(a.At), a.Step})
	if err != nil {
		return err
	}
	tokens, err := json.Marshal(a.Tokens)
	if err != nil {
		return err
	}
	words := []any{
		"HSET", f.ledgerKey("row:", strconv.FormatInt(seq, 10)), "step", a.Step, "attempt", a.Attempt, "token", "",
		"reserved", int64(a.Reserved), "counted", int64(a.Counted), "state", a.State,
	}
	if name == "" {
		words = append(words, "ask", ask)
	} else {
		words = append(words, "asked", name, "model", a.Model, "at", date(a.At))
		if err := f.do("HSET", f.ledgerKey("asks"), name, ask); err != nil {
			return err
		}
	}
	if a.State != memory.OpenAttempt {
		words = append(words, "tokens", tokens, "finish", a.Finish, "ended", date(a.Ended), "latest", a.Latest)
	}
	if a.Forgotten {
		words = append(words, "mute", 1)
	}
	list := f.ledgerKey("dream:", a.Dream)
	if a.Dream == "" {
		list = f.ledgerKey("awake:", a.Agent)
	}
	for _, command := range [][]any{
		words,
		{"SET", f.ledgerKey("rows"), seq},
		{"RPUSH", f.ledgerKey("step:", a.Step), seq},
		{"RPUSH", f.ledgerKey("day:", a.Day, ":", a.Agent), seq},
		{"RPUSH", list, seq},
	} {
		if err := f.do(command...); err != nil {
			return err
		}
	}
	if a.State != memory.OpenAttempt {
		return nil
	}
	if err := f.do("SADD", f.ledgerKey("opens:", a.Dream), seq); err != nil {
		return err
	}
	return f.do("SADD", f.ledgerKey("open"), a.Dream)
}
