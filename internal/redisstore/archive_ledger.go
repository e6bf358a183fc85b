package redisstore

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// changesKey is the ledger's count of changes of which it keeps what they replaced (book.lua).
const changesKey = "changes"

// ledgerReader exports the ledger as of one moment.
type ledgerReader struct {
	*reader
	at       moment
	changes  changeLog                // since the moment
	accounts map[string]spend.Balance // of the moment, by scope
	dreams   []string                 // that may have an allowance
}

// ledger exports the ledger. An import into these keys moves the mark of the schema, and a program of an older schema
// that may still run does not count its changes; of these only foldings are of weight, which are seen by the sums.
func (r *reader) ledger() {
	r.watch(r.root(schemaKey), r.root(raisedKey))
	if r.err != nil {
		return
	}
	raised, err := r.tx.Exists(r.ctx, r.root(raisedKey)).Result()
	r.fail(err)
	if raised > 0 {
		r.watch(r.ledgerKey(sumsKey))
	}
	l := &ledgerReader{reader: r, accounts: map[string]spend.Balance{}}
	l.capture()
	if r.err != nil {
		return
	}
	r.most = 0 // what follows is certain
	steps := l.attempts()
	l.sums()
	l.balances()
	l.answers(steps)
	for _, dream := range l.dreams {
		l.allowance(dream)
	}
}

// attempts exports every row and returns their steps, each once and in order.
func (l *ledgerReader) attempts() (steps []string) {
	for from := int64(0); l.err == nil && from < l.at.rows; {
		numbers, last := l.numbersAfter(from)
		rows := l.readRows(numbers)
		found := map[int64]map[string]string{}
		for i, row := range rows {
			found[l.number(numbers[i])] = row
		}
		for n, change := range l.changes.rows { // folded since the numbers were read
			if _, read := found[n]; !read && from < n && n <= last {
				was := map[string]string{}
				l.json(l.changes.before(change, rowField+strconv.FormatInt(n, 10)), &was)
				found[n] = was
			}
		}
		for _, n := range slices.Sorted(maps.Keys(found)) {
			row := found[n]
			if open, ok := l.at.open[n]; ok {
				row = open
			}
			if len(row) > 0 { // else it was folded before
				steps = append(steps, l.attempt(n, row))
			}
		}
		from = last
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

// attempt exports a row and returns its step.
func (l *ledgerReader) attempt(n int64, row map[string]string) string {
	a, err := readAttempt(row)
	if err != nil {
		l.fail(fmt.Errorf("row %d: %w", n, err))
	}
	l.hold(memory.Record{Attempt: &a}, 500)
	return a.Step
}

// numbersAfter returns the numbers of the next rows that may have been there, and the last number that they reach to.
func (l *ledgerReader) numbersAfter(from int64) (numbers []string, last int64) {
	if from >= l.at.folded {
		last = min(from+keysAtOnce, l.at.rows)
		return consecutive(from, last), last
	}
	stayed, err := l.tx.ZRangeArgs(l.ctx, redis.ZRangeArgs{
		Key:     l.ledgerKey(unfoldedKey),
		Start:   "(" + strconv.FormatInt(from, 10),
		Stop:    l.at.folded,
		ByScore: true,
		Count:   keysAtOnce,
	}).Result()
	l.fail(err)
	if len(stayed) < keysAtOnce {
		return stayed, l.at.folded
	}
	return stayed, l.number(stayed[len(stayed)-1])
}

func (l *ledgerReader) balances() {
	for _, scope := range slices.Sorted(maps.Keys(l.accounts)) {
		b := l.accounts[scope]
		l.hold(memory.Record{Account: &memory.KeptAccount{
			Scope:    scope,
			Reserved: b.Reserved,
			Spent:    b.Spent,
		}}, 100)
	}
}

// answersAtOnce is small, because an answer may hold the vectors of a hundred texts.
const answersAtOnce = 50

// answers exports the answers of steps.
func (l *ledgerReader) answers(steps []string) {
	for chunk := range slices.Chunk(steps, keysAtOnce) {
		if l.err != nil {
			return
		}
		found := make([]*redis.IntCmd, len(chunk))
		_, err := l.tx.Pipelined(l.ctx, func(p redis.Pipeliner) error {
			for i, step := range chunk {
				found[i] = p.Exists(l.ctx, l.ledgerKey("answer:", step))
			}
			return nil
		})
		l.fail(err)
		var answered []string
		for i, step := range chunk {
			if found[i].Val() == 1 && !l.at.unanswered[step] {
				answered = append(answered, step)
			}
		}
		for some := range slices.Chunk(answered, answersAtOnce) {
			l.someAnswers(some)
		}
	}
}

// someAnswers exports answers. A step that is answered is not attempted again, so an answer was there at the moment
// unless an attempt has ended since. One that was deleted since is left out.
func (l *ledgerReader) someAnswers(steps []string) {
	if l.err != nil {
		return
	}
	keys := make([]string, len(steps))
	newest := make([]*redis.StringCmd, len(steps))
	var found *redis.SliceCmd
	_, err := l.tx.Pipelined(l.ctx, func(p redis.Pipeliner) error {
		for i, step := range steps {
			keys[i] = l.ledgerKey("answer:", step)
		}
		found = p.MGet(l.ctx, keys...)
		for i, step := range steps {
			newest[i] = p.LIndex(l.ctx, l.ledgerKey("step:", step), -1)
		}
		return nil
	})
	l.fail(ignoreMissing(err))
	l.changes.refresh()
	for i, step := range steps {
		answer, kept := text(found.Val(), i), l.number(newest[i].Val())
		if found.Val()[i] == nil || l.changes.answered[step] || kept == 0 || kept > l.at.rows {
			continue
		}
		l.hold(memory.Record{Answer: &memory.KeptAnswer{Step: step, Answer: []byte(answer)}}, len(answer))
	}
}

// allowance exports what a dream had taken of a day.
func (l *ledgerReader) allowance(dream string) {
	if l.err != nil {
		return
	}
	where, err := l.tx.Get(l.ctx, l.ledgerKey("allowance:", dream)).Result()
	l.fail(ignoreMissing(err))
	amount := ""
	if where != "" {
		amount, err = l.tx.HGet(l.ctx, where, dream).Result()
		l.fail(ignoreMissing(err))
	}
	l.changes.refresh()
	if n, changed := l.changes.of[allowanceField+dream]; changed {
		was := l.changes.before(n, allowanceField+dream)
		at := max(0, strings.LastIndex(was, " "))
		where, amount = was[:at], strings.TrimPrefix(was[at:], " ")
	}
	if where == "" {
		return
	}
	allowed := l.ledgerKey("allowed:")
	day, agent, ok := strings.Cut(strings.TrimPrefix(where, allowed), ":")
	if !ok || !strings.HasPrefix(where, allowed) {
		l.fail(fmt.Errorf("the allowance of %q is in key %q, which names no day and agent", dream, where))
	}
	if amount == "" {
		l.fail(fmt.Errorf("the allowance of %q is not in key %q", dream, where))
	}
	l.hold(memory.Record{Allowance: &memory.KeptAllowance{
		Dream:  dream,
		Agent:  agent,
		Day:    day,
		Amount: budget.Micros(l.number(amount)),
	}}, 100)
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
