package sqlitestore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// ledger is the part of the spend ledger whose methods have names of their own in Store.
type ledger struct{ *file }

// Ledger is the store's implementation of spend.Ledger. It is a type of its own because its Close ends a dream's
// reservations, while Store.Close closes the file, and because Store.Answer and Store.Forget are of other ports.
type Ledger struct{ ledger }

// Ledger returns the store's spend ledger.
func (s *Store) Ledger() Ledger { return Ledger{s.ledger} }

// attemptColumns are the columns of an attempt, in the order of attemptFields.
const attemptColumns = "step, attempt, agent, dream, phase, model, day, reserved, counted, state, tokens, finish, " +
	"at, ended, latest, forgotten, accounts, packed"

// attemptFields are the fields of an attempt, to be scanned and to be written. accounts are those of the attempt as its
// row stores them.
func attemptFields(a *store.Attempt, accounts *storedText) []any {
	return []any{
		&a.Step, &a.Attempt, &a.Agent, &a.Dream, &a.Phase, &a.Model, &a.Day, &a.Reserved, &a.Counted, &a.State,
		jsonText{&a.Tokens},
		&a.Finish, (*textTime)(&a.At), (*textTime)(&a.Ended), &a.Latest, &a.Forgotten,
		&accounts.text, &accounts.packed,
	}
}

// book is the spend ledger in a transaction.
type book struct{ *tx }

// putAttempt adds a row.
func (d book) putAttempt(a store.Attempt, accounts storedText) {
	d.exec(insertAttempt, attemptFields(&a, &accounts)...)
}

var insertAttempt = insertInto("attempts", attemptColumns)

// attempts returns the rows that match a condition, in the order they were reserved.
func (d book) attempts(where string, args ...any) []store.Attempt {
	return rows(d.tx, "SELECT "+attemptColumns+" FROM attempts WHERE "+where, args, d.readAttempt)
}

func (d book) readAttempt(scan scanner) (a store.Attempt) {
	var kept storedText
	scan(attemptFields(&a, &kept)...)
	d.fail(json.Unmarshal(d.unpacked("accounts of "+a.Step, []byte(kept.text), kept.packed, a.Step), &a.Accounts))
	if len(a.Accounts) == 0 {
		a.Accounts = nil
	}
	return a
}

// storeAccounts packs the accounts of an attempt.
func storeAccounts(a store.Attempt) (storedText, error) {
	accounts, err := json.Marshal(a.Accounts)
	return storeText(string(accounts), a.Dream, a.Step), err
}

// Reserve books the worst case under every account, or nothing.
func (s ledger) Reserve(ctx context.Context, a spend.Ask) (spend.Hold, error) {
	row := store.Reserved(a, 0)
	kept, err := storeAccounts(row)
	err = errors.Join(a.Validate(), err)
	if err != nil {
		return spend.Hold{}, store.Wrap(err, "reserve for ", a.Step)
	}
	return in(ctx, s.writeLedger, "reserve for "+a.Step, func(d *tx) spend.Hold {
		return book{d}.reserve(a, row, kept)
	})
}

func (d book) reserve(a spend.Ask, row store.Attempt, accounts storedText) spend.Hold {
	var answered bool
	d.one(
		"SELECT coalesce(max(attempt), 0) + 1, EXISTS (SELECT 1 FROM answers WHERE step = ?) FROM attempts WHERE step = ?",
		[]any{a.Step, a.Step}, &row.Attempt, &answered)
	if answered {
		d.fail(spend.ErrAnswered)
	}
	sums := d.balances(a.Accounts)
	d.fail(a.Check(sums))
	for scope, b := range sums {
		b.Reserved = spend.Add(b.Reserved, a.Amount)
		sums[scope] = b
	}
	d.setBalances(sums)
	d.putAttempt(row, accounts)
	return spend.Hold{Step: a.Step, Attempt: row.Attempt, Amount: a.Amount}
}

// Settle ends an attempt that is open or lost.
func (s ledger) Settle(ctx context.Context, h spend.Hold, b spend.Bill) error {
	err := b.Validate()
	if err == nil {
		write := s.writeLedger
		if b.State == spend.Partial { // an interrupted call: a connecting client waits for the stretch to end
			write = s.writeUrgent
		}
		err = write(ctx, func(d *tx) { book{d}.settle(h, b) })
	}
	return store.Wrap(err, "settle ", h.Key())
}

func (d book) settle(h spend.Hold, b spend.Bill) {
	a, found := d.toSettle(h)
	if !found {
		d.fail(spend.ErrUnknownHold)
		return
	}
	if state := spend.State(a.State); state != spend.Open && state != spend.Lost {
		return
	}
	d.end(a, store.Ended(a, b))
	if b.Answer != nil && !a.Forgotten {
		d.exec("INSERT INTO answers (step, answer) VALUES (?, ?) ON CONFLICT DO NOTHING", h.Step,
			append([]byte{}, b.Answer...))
	}
}

// toSettle returns what an end needs of an attempt. Every paid call reads it, so it is less than the whole row.
func (d book) toSettle(h spend.Hold) (a store.Attempt, found bool) {
	a.Step, a.Attempt = h.Step, h.Attempt
	var accounts, short []byte
	found = d.one(
		"SELECT reserved, counted, state, forgotten, accounts, packed FROM attempts WHERE step = ? AND attempt = ?",
		[]any{h.Step, h.Attempt}, &a.Reserved, &a.Counted, &a.State, &a.Forgotten, &accounts, &short)
	if found {
		d.fail(json.Unmarshal(d.unpacked("accounts of "+a.Step, accounts, short, a.Step), &a.Accounts))
	}
	return a, found
}

// end replaces an attempt by its ended form, in its row and in every account. The accounts exist since it was reserved.
func (d book) end(before, after store.Attempt) {
	sums := d.balances(before.Accounts)
	for scope, b := range sums {
		sums[scope] = b.Rebook(spend.State(before.State), before.Counted, after.Counted)
	}
	d.setBalances(sums)
	d.exec(`UPDATE attempts SET counted = ?, state = ?, tokens = ?, finish = ?, ended = ?,
		latest = (SELECT max(attempt) FROM attempts AS a WHERE a.step = attempts.step) WHERE step = ? AND attempt = ?`,
		&after.Counted, after.State, jsonText{after.Tokens}, after.Finish, date(after.Ended), after.Step, after.Attempt)
}

// Close turns a dream's open attempts into lost ones. It does not close the store.
func (s Ledger) Close(ctx context.Context, dream string, at time.Time) (int, budget.Micros, error) {
	sum := budget.Micros(0)
	n, err := in(ctx, s.write, "close the reservations of dream "+dream, func(d *tx) int {
		open := book{d}.attempts("dream = ? AND state = 'open' ORDER BY key", dream)
		for _, a := range open {
			book{d}.end(a, store.Lost(a, at))
			sum = spend.Add(sum, a.Counted)
		}
		return len(open)
	})
	if err != nil {
		sum = 0
	}
	return n, sum, err
}

// balances returns the sums of accounts by scope; zero for an account without bookings.
func (d book) balances(accounts []budget.Account) map[string]spend.Balance {
	sums := make(map[string]spend.Balance, len(accounts))
	scopes := make([]string, len(accounts))
	for i, a := range accounts {
		scopes[i], sums[a.Scope] = a.Scope, spend.Balance{}
	}
	d.each("SELECT scope, reserved, spent FROM accounts WHERE scope IN (SELECT value FROM json_each(?))",
		[]any{jsonText{scopes}}, func(scan scanner) {
			var scope string
			var b spend.Balance
			scan(&scope, &b.Reserved, &b.Spent)
			sums[scope] = b
		})
	return sums
}

// setBalances writes the sums of accounts in one statement.
func (d book) setBalances(sums map[string]spend.Balance) {
	booked := make([][3]any, 0, len(sums))
	for scope, b := range sums {
		booked = append(booked, [3]any{scope, int64(b.Reserved), int64(b.Spent)})
	}
	d.exec(
		`INSERT INTO accounts (scope, reserved, spent) SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?) WHERE true
		ON CONFLICT (scope) DO UPDATE SET reserved = excluded.reserved, spent = excluded.spent`, jsonText{booked})
}

// OpenDreams lists the dreams that have open attempts, by id.
func (s ledger) OpenDreams(ctx context.Context) ([]string, error) {
	return in(ctx, s.readOnce, "dreams with open reservations", func(d *tx) []string {
		return column[string](d, "SELECT DISTINCT dream FROM attempts WHERE state = 'open' ORDER BY dream")
	})
}

// Balance returns the running sum of an account.
func (s ledger) Balance(ctx context.Context, scope string) (spend.Balance, error) {
	return in(ctx, s.readOnce, "balance of "+scope, func(d *tx) (b spend.Balance) {
		d.one("SELECT reserved, spent FROM accounts WHERE scope = ?", []any{scope}, &b.Reserved, &b.Spent)
		return b
	})
}

// Rows lists attempts in the order they were reserved, after the sums of those that were folded.
func (s ledger) Rows(ctx context.Context, q spend.Query) ([]spend.Row, error) {
	w := where{terms: []string{"1"}}
	for _, f := range []struct{ column, value string }{
		{"agent", q.Agent}, {"dream", q.Dream}, {"phase", q.Phase}, {"model", q.Model}, {"day", q.Day},
	} {
		if f.value != "" {
			w.add(f.column+" = ?", f.value)
		}
	}
	if len(q.States) > 0 {
		addIn(&w, "state", store.Distinct(q.States))
	}
	return in(ctx, s.read, "rows of the ledger", func(d *tx) []spend.Row {
		found := book{d}.sumRows(q)
		limit := -1
		if q.Limit > 0 {
			found = found[:min(len(found), q.Limit)]
			limit = q.Limit - len(found)
		}
		return append(found, rows(d, "SELECT "+attemptColumns+" FROM attempts"+w.String()+" ORDER BY key LIMIT ?",
			append(w.args, limit), func(scan scanner) spend.Row { return store.Row(book{d}.readAttempt(scan)) })...)
	})
}

// Allow takes a dream's allowance from the agent's day. A returned allowance may be taken again.
func (s ledger) Allow(ctx context.Context, agent, day, dream string, amount, limit budget.Micros) error {
	return store.Wrap(s.write(ctx, func(d *tx) {
		d.fail(store.CheckAllowance(dream, amount))
		if cell[bool](d, "SELECT EXISTS (SELECT 1 FROM allowances WHERE dream = ?)", dream) {
			return
		}
		taken := book{d}.allowance(agent, day)
		if taken > limit || amount > limit-taken {
			d.fail(store.OverDay(agent, day, amount, limit, taken))
		}
		d.exec("INSERT INTO allowances (dream, agent, day, amount) VALUES (?, ?, ?, ?)", dream, agent, day,
			int64(amount))
	}), "allowance of dream ", dream)
}

// GiveBack returns a dream's allowance.
func (s ledger) GiveBack(ctx context.Context, dream string) error {
	return store.Wrap(s.write(ctx, func(d *tx) { d.exec("DELETE FROM allowances WHERE dream = ?", dream) }),
		"give back the allowance of dream ", dream)
}

// Allowance is the sum that dreams have taken of the agent's day.
func (s ledger) Allowance(ctx context.Context, agent, day string) (budget.Micros, error) {
	return in(ctx, s.readOnce, "allowance of "+agent+" on "+day,
		func(d *tx) budget.Micros { return book{d}.allowance(agent, day) })
}

func (d book) allowance(agent, day string) (sum budget.Micros) {
	for _, amount := range column[budget.Micros](d.tx,
		"SELECT amount FROM allowances WHERE agent = ? AND day = ?", agent, day) {
		sum = spend.Add(sum, amount)
	}
	return sum
}

// Answer returns the stored answer of a step. Store.Answer, by contrast, stores the response to a server request.
func (s Ledger) Answer(ctx context.Context, step string) ([]byte, bool, error) {
	found := false
	answer, err := in(ctx, s.readOnce, "answer of "+step, func(d *tx) []byte {
		answer := []byte{}
		found = d.one("SELECT answer FROM answers WHERE step = ?", []any{step}, &answer)
		return answer
	})
	if !found {
		answer = nil
	}
	return answer, found, err
}

// Forget deletes a dream's stored answers and empties the write-ahead log, so that they are nowhere in the file.
// Store.Forget, by contrast, erases memories.
func (s Ledger) Forget(ctx context.Context, dream string) error {
	err := s.write(ctx, func(d *tx) {
		d.fail(store.CheckNames("the dream's id", dream))
		book{d}.dropAnswers("dream = ?", dream)
	})
	if err == nil {
		err = s.emptyLog(context.WithoutCancel(ctx), false)
	}
	return store.Wrap(err, "forget the answers of dream ", dream)
}

// dropAnswers deletes the answers of the steps whose attempts match, and marks those of these attempts that may still
// bring an answer.
func (d book) dropAnswers(fit string, args ...any) {
	d.exec("DELETE FROM answers WHERE step IN (SELECT step FROM attempts WHERE "+fit+")", args...)
	d.exec("UPDATE attempts SET forgotten = 1 WHERE state IN ('open', 'unknown') AND "+fit, args...)
}

// dropEmbeddings deletes the embedders' answers that were bought for an agent while awake. They are large, and not
// needed any more once the vectors are stored with the items. The answers of calls in rooms stay: whoever takes up such a
// call must not buy it again.
func (d book) dropEmbeddings(agent string) {
	d.dropAnswers("agent = ? AND dream = '' AND substr(step, 1, 5) <> 'call/'", agent)
}

// forgetAnswers deletes what the ledger keeps about an item that is to be erased: the answers of every dream that made
// it, changed it or showed it in its prompts, the partial output of interrupted calls of these dreams, and everything
// that was bought for the agent while awake, such as the item's vector.
func (d book) forgetAnswers(agent, id string) {
	name, err := json.Marshal(id)
	d.fail(err)
	const showed = "SELECT dream FROM notes WHERE agent = ? AND instr(value, CAST(? AS BLOB)) > 0"
	showing := column[string](d.tx, showed, agent, string(name))
	d.exec("DELETE FROM notes WHERE agent = ? AND substr(name, 1, ?) = ? AND dream IN ("+showed+")",
		agent, len(memory.LateNote), memory.LateNote, agent, string(name))
	dreams := append(showing, column[string](d.tx,
		`SELECT dream FROM items WHERE agent = ? AND id = ? UNION SELECT cause FROM items WHERE agent = ? AND id = ?
		UNION SELECT cause FROM revisions WHERE agent = ? AND id = ?`, agent, id, agent, id, agent, id)...)
	for _, dream := range store.Distinct(dreams) {
		if dream != "" {
			d.dropAnswers("dream = ?", dream)
		}
	}
	if len(dreams) > 0 {
		d.dropAnswers("agent = ? AND dream = ''", agent)
	}
}
