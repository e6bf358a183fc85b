package redisstore

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var momentScript = script("money", "book", "moment")

// How an export reads the ledger as of one moment, while others write: before the moment it reads every account, and
// then again those that have changed meanwhile, until so few have that one script reads them and the moment with them.
// Everything else is read after the moment, because it can be told what it was then: rows that were open are part of
// the moment, later ones have higher numbers, and what rare writes replace is kept for an hour (book.lua).

// moment is the ledger at one moment, as far as that cannot be read later.
type moment struct {
	rows, changes, folded int64
	open                  map[int64]map[string]string // fields of rows
	unanswered            map[string]bool             // steps of open rows that have no answer
	touched               []any                       // scopes that open rows count in
}

// firstRows is how many rows may have come since the last look at accounts; twice as many with each look, so that one
// is the last.
const firstRows = 200

// capture reads the accounts, and the ledger as of the moment that these are of.
func (l *ledgerReader) capture() {
	var before moment
	l.at, _ = l.momentAfter(before, 0)
	l.changes = changeLog{reader: l.reader, upto: l.at.changes}
	l.names()
	l.readAccounts(slices.Collect(maps.Keys(l.accounts)))
	for most := int64(firstRows); l.err == nil; most *= 2 {
		var found bool
		before = l.at
		l.at, found = l.momentAfter(before, most)
		if found || l.err != nil {
			break
		}
		l.readAccounts(l.touchedSince(before))
	}
	l.changes.refresh()
	for name := range l.changes.of {
		if dream, ok := strings.CutPrefix(name, allowanceField); ok {
			l.dreams = append(l.dreams, dream)
		}
	}
	slices.Sort(l.dreams)
	l.dreams = slices.Compact(l.dreams)
	l.changes = changeLog{reader: l.reader, upto: l.at.changes}
}

// names reads the names of accounts and of dreams with an allowance.
func (l *ledgerReader) names() {
	account, allowance := l.ledgerKey("account:"), l.ledgerKey("allowance:")
	pattern := literal.Replace(l.ledgerKey("a")) + "*"
	for cursor := uint64(0); l.err == nil; {
		keys, next, err := l.tx.Scan(l.ctx, cursor, pattern, keysAtOnce).Result()
		l.fail(err)
		for _, key := range keys {
			if scope, ok := strings.CutPrefix(key, account); ok {
				l.accounts[scope] = spend.Balance{}
			} else if dream, ok := strings.CutPrefix(key, allowance); ok {
				l.dreams = append(l.dreams, dream)
			}
		}
		cursor = next
		if cursor == 0 {
			return
		}
	}
}

func (l *ledgerReader) readAccounts(scopes []string) {
	for chunk := range slices.Chunk(scopes, keysAtOnce) {
		if l.err != nil {
			return
		}
		replies := make([]*redis.SliceCmd, len(chunk))
		_, err := l.tx.Pipelined(l.ctx, func(p redis.Pipeliner) error {
			for i, scope := range chunk {
				replies[i] = p.HMGet(l.ctx, l.ledgerKey("account:", scope), "reserved", "spent")
			}
			return nil
		})
		l.fail(err)
		for i, scope := range chunk {
			l.account(scope, text(replies[i].Val(), 0), text(replies[i].Val(), 1))
		}
	}
}

func (l *ledgerReader) account(scope, reserved, spent string) {
	l.accounts[scope] = spend.Balance{
		Reserved: budget.Micros(l.number(reserved)),
		Spent:    budget.Micros(l.number(spent)),
	}
}

// touchedSince returns the accounts that may have changed between a moment and the current one.
func (l *ledgerReader) touchedSince(before moment) []string {
	scopes := map[string]bool{}
	for _, scope := range before.touched {
		scopes[scope.(string)] = true
	}
	for from := before.rows; from < l.at.rows && l.err == nil; from += keysAtOnce {
		for _, row := range l.readRows(consecutive(from, min(from+keysAtOnce, l.at.rows))) {
			l.scopesOf(row, scopes)
		}
	}
	l.changes.refresh()
	for chunk := range slices.Chunk(l.changes.takeLate(), keysAtOnce) {
		for _, row := range l.readRows(chunk) {
			l.scopesOf(row, scopes)
		}
	}
	return slices.Collect(maps.Keys(scopes))
}

// scopesOf adds the accounts that a row counts in.
func (l *ledgerReader) scopesOf(row map[string]string, into map[string]bool) {
	var ask storedAsk
	l.json(row["ask"], &ask)
	for _, account := range ask.Accounts {
		into[account.Scope] = true
	}
}

// momentAfter reads a moment, and the accounts that have changed since an earlier one. It reports false, and has read no
// accounts, if more rows than most have come since, or as many changes.
func (l *ledgerReader) momentAfter(before moment, most int64) (at moment, found bool) {
	if l.err != nil {
		return at, false
	}
	args := append([]any{l.set.prefix, before.rows, before.changes, most}, before.touched...)
	reply, err := momentScript.Run(l.ctx, l.tx, nil, args...).Slice()
	if err == nil && len(reply) != 6 {
		err = fmt.Errorf("the server replied with %d values; expected 6", len(reply))
	}
	l.fail(err)
	if err != nil {
		return at, false
	}
	at = moment{
		rows:       integer(reply, 1),
		changes:    integer(reply, 2),
		folded:     integer(reply, 3),
		open:       map[int64]map[string]string{},
		unanswered: map[string]bool{},
	}
	touched := map[string]bool{}
	open, _ := reply[4].([]any)
	for _, one := range open {
		values, _ := one.([]any)
		if len(values) < 3 {
			l.fail(fmt.Errorf("the server described an open row by %d values; expected 3", len(values)))
			continue
		}
		row := fieldsOf(values[2])
		at.open[l.number(text(values, 0))] = row
		if integer(values, 1) == 0 {
			at.unanswered[row["step"]] = true
		}
		l.scopesOf(row, touched)
	}
	for scope := range touched {
		at.touched = append(at.touched, scope)
	}
	sums, err := texts(reply[5])
	l.fail(err)
	for i := 0; i+2 < len(sums); i += 3 {
		l.account(sums[i], sums[i+1], sums[i+2])
	}
	return at, integer(reply, 0) == 1
}

// Fields of a change (book.lua).
const (
	rowField       = "row:"
	sumField       = "sum:"
	allowanceField = "allowance:"
)

// changeLog tells what changes have replaced since a moment.
type changeLog struct {
	*reader
	upto     int64            // the newest change that is known
	of       map[string]int64 // the first change that has replaced something, by its field
	rows     map[int64]int64  // the same of rows, by their number
	late     []string         // rows whose amounts have changed
	answered map[string]bool  // steps that have an answer since
}

// changesAtOnce is how many changes one exchange reads.
const changesAtOnce = 100

// refresh reads the changes that have come.
func (c *changeLog) refresh() {
	if c.err != nil {
		return
	}
	if c.of == nil {
		c.of, c.rows, c.answered = map[string]int64{}, map[int64]int64{}, map[string]bool{}
	}
	newest, err := c.tx.Get(c.ctx, c.ledgerKey(changesKey)).Int64()
	c.fail(ignoreMissing(err))
	for c.err == nil && c.upto < newest {
		c.read(min(c.upto+changesAtOnce, newest))
	}
}

// read reads the changes up to one. A program that counts its changes and does not keep what they replace, or an export
// that takes more than an hour, makes it torn.
func (c *changeLog) read(last int64) {
	names := make([]*redis.StringSliceCmd, last-c.upto)
	values := make([]*redis.SliceCmd, len(names))
	_, err := c.tx.Pipelined(c.ctx, func(p redis.Pipeliner) error {
		for i := range names {
			key := c.changeKey(c.upto + 1 + int64(i))
			names[i], values[i] = p.HKeys(c.ctx, key), p.HMGet(c.ctx, key, "late", "answer")
		}
		return nil
	})
	c.fail(err)
	for i := range names {
		n := c.upto + 1 + int64(i)
		if len(names[i].Val()) == 0 {
			c.fail(redis.TxFailedErr)
		}
		for _, name := range names[i].Val() {
			if seq, ok := strings.CutPrefix(name, rowField); ok {
				first(c.rows, c.number(seq), n)
			} else {
				first(c.of, name, n)
			}
		}
		if late := text(values[i].Val(), 0); late != "" {
			c.late = append(c.late, late)
		}
		if step := text(values[i].Val(), 1); step != "" {
			c.answered[step] = true
		}
	}
	c.upto = last
}

func first[K comparable](of map[K]int64, key K, n int64) {
	if _, found := of[key]; !found {
		of[key] = n
	}
}

// takeLate returns the rows whose amounts have changed since it was called last.
func (c *changeLog) takeLate() []string {
	late := c.late
	c.late = nil
	return late
}

func (c *changeLog) changeKey(n int64) string {
	return c.ledgerKey("change:", strconv.FormatInt(n, 10))
}

// before returns what a change replaced.
func (c *changeLog) before(n int64, field string) string {
	if c.err != nil {
		return ""
	}
	was, err := c.tx.HGet(c.ctx, c.changeKey(n), field).Result()
	if err := ignoreMissing(err); err != nil {
		c.fail(err)
	} else if was == "" && strings.HasPrefix(field, rowField) {
		c.fail(redis.TxFailedErr) // it is gone, an hour later
	}
	return was
}

// consecutive returns the numbers after one, up to another.
func consecutive(after, last int64) []string {
	numbers := make([]string, 0, last-after)
	for n := after + 1; n <= last; n++ {
		numbers = append(numbers, strconv.FormatInt(n, 10))
	}
	return numbers
}

// readRows reads rows as they were when the changes begin that are known; nil for one that there was not, as far as
// their numbers tell.
func (l *ledgerReader) readRows(numbers []string) []map[string]string {
	keys := make([]string, len(numbers))
	for i, number := range numbers {
		keys[i] = l.ledgerKey("row:", number)
	}
	rows := l.asks(l.hashes(keys))
	l.changes.refresh()
	for i := range rows {
		n, changed := l.changes.rows[l.number(numbers[i])]
		if changed {
			was := map[string]string{}
			l.json(l.changes.before(n, rowField+numbers[i]), &was)
			rows[i] = was
		}
	}
	return rows
}

// hashes reads hashes.
func (l *ledgerReader) hashes(keys []string) []map[string]string {
	if l.err != nil {
		return nil
	}
	replies := make([]*redis.MapStringStringCmd, len(keys))
	_, err := l.tx.Pipelined(l.ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			replies[i] = p.HGetAll(l.ctx, key)
		}
		return nil
	})
	l.fail(err)
	rows := make([]map[string]string, len(keys))
	for i, reply := range replies {
		rows[i] = reply.Val()
	}
	return rows
}

// asks adds to each row the ask that it shares. An ask never changes.
func (l *ledgerReader) asks(rows []map[string]string) []map[string]string {
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
	kept, err := l.tx.HMGet(l.ctx, l.ledgerKey("asks"), names...).Result()
	l.fail(err)
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
