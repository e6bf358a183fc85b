package redisstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// ledger is the part of the spend ledger whose methods have names of their own in Store.
type ledger struct{ *server }

// Ledger is the store's implementation of spend.Ledger. It is a type of its own because its Close ends a dream's
// reservations, while Store.Close closes the connections, and because Store.Answer and Store.Forget are of other ports.
type Ledger struct{ ledger }

// Ledger returns the store's spend ledger.
func (s *Store) Ledger() Ledger { return Ledger{s.ledger} }

var (
	reserveScript  = script("money", "book", "reserve")
	settleScript   = script("money", "book", "settle")
	closeScript    = script("money", "book", "close")
	dropScript     = script("money", "book", "drop")
	rowsScript     = script("money", "book", "rows")
	allowScript    = script("money", "book", "allow")
	giveBackScript = script("money", "book", "giveback")
)

// storedAsk is the constant part of an attempt, as its row stores it. All attempts of a phase of a dream share one,
// which then has no step, model or time (book.lua).
type storedAsk struct {
	Agent    string           `json:"agent,omitempty"`
	Dream    string           `json:"dream,omitempty"`
	Phase    string           `json:"phase,omitempty"`
	Model    string           `json:"model,omitempty"`
	Day      string           `json:"day,omitempty"`
	Accounts []budget.Account `json:"accounts,omitempty"`
	At       string           `json:"at,omitempty"`
	Step     string           `json:"step,omitempty"`
}

// storeAsk returns the stored form of an attempt's constant part, and its name if it is shared; empty for one that its
// row stores itself.
func storeAsk(a store.Attempt) (kept []byte, name string, err error) {
	ask := storedAsk{a.Agent, a.Dream, a.Phase, a.Model, a.Day, a.Accounts, date(a.At), a.Step}
	if a.Dream != "" {
		ask.Step, ask.Model, ask.At = "", "", ""
	}
	kept, err = json.Marshal(ask)
	if err != nil || a.Dream == "" {
		return kept, "", err
	}
	sum := sha256.Sum256(kept)
	return kept, hex.EncodeToString(sum[:10]), nil
}

// endFields are the fields of an ended attempt that a script does not compute, with their values; tokens come first.
func endFields(a store.Attempt) ([]any, error) {
	tokens, err := json.Marshal(a.Tokens)
	return []any{"tokens", tokens, "finish", a.Finish}, err
}

// readAttempt reads an attempt from the fields of its row and ask, the JSON of its constant part.
func readAttempt(row map[string]string) (store.Attempt, error) {
	var ask storedAsk
	if err := json.Unmarshal([]byte(row["ask"]), &ask); err != nil {
		return store.Attempt{}, err
	}
	if ask.Step == "" {
		ask.Step, ask.Model, ask.At = row["step"], row["model"], row["at"]
	}
	var p parser
	a := store.Attempt{
		Step:      ask.Step,
		Attempt:   int(p.number(row["attempt"])),
		Agent:     ask.Agent,
		Dream:     ask.Dream,
		Phase:     ask.Phase,
		Model:     ask.Model,
		Day:       ask.Day,
		Accounts:  ask.Accounts,
		Reserved:  budget.Micros(p.number(row["reserved"])),
		Counted:   budget.Micros(p.number(row["counted"])),
		State:     row["state"],
		Finish:    row["finish"],
		At:        p.time(ask.At),
		Ended:     p.time(row["ended"]),
		Latest:    int(p.number(row["latest"])),
		Forgotten: row["mute"] == "1",
	}
	p.json(row["tokens"], &a.Tokens)
	return a, p.err
}

// Reserve books the worst case under every account, or nothing. When the server's reply is lost it asks again with the
// same token, so that one call books at most once.
func (s ledger) Reserve(ctx context.Context, a spend.Ask) (spend.Hold, error) {
	err := a.Validate()
	var hold spend.Hold
	if err == nil {
		err = requireRights(ctx, s.server)
	}
	if err == nil {
		hold, err = s.reserve(ctx, a)
	}
	return store.Result(hold, err, "reserve for ", a.Step)
}

func (s ledger) reserve(ctx context.Context, a spend.Ask) (spend.Hold, error) {
	kept, name, err := storeAsk(store.Reserved(a, 0))
	if err != nil {
		return spend.Hold{}, err
	}
	keys := make([]string, len(a.Accounts))
	args := []any{
		s.set.prefix, rand.Text(), "0", a.Step, a.Agent, a.Dream, a.Day, int64(a.Amount), kept, name,
		a.Model, date(a.At),
	}
	for i, account := range a.Accounts {
		keys[i] = s.ledgerKey("account:", account.Scope)
		args = append(args, int64(account.Limit))
	}
	var reply any
	err = s.exchange(ctx, func(ctx context.Context) error {
		var err error
		reply, err = reserveScript.Run(ctx, s.client, keys, args...).Result()
		args[2] = "1" // if there is another try, this one may have booked
		return err
	})
	if err != nil {
		return spend.Hold{}, err
	}
	values, err := texts(reply)
	if err != nil {
		return spend.Hold{}, err
	}
	var p parser
	switch values[0] {
	case "answered":
		return spend.Hold{}, spend.ErrAnswered
	case "over":
		over := a.Accounts[p.number(values[1])-1]
		p.fail(&spend.OverCap{
			Scope: over.Scope, Limit: over.Limit, Counted: budget.Micros(p.number(values[2])), Asks: a.Amount,
		})
	}
	return spend.Hold{Step: a.Step, Attempt: int(p.number(values[1])), Amount: a.Amount}, p.err
}

// Settle ends an attempt that is open or lost.
func (s ledger) Settle(ctx context.Context, h spend.Hold, b spend.Bill) error {
	fields, err := endFields(store.Ended(store.Attempt{}, b))
	err = errors.Join(b.Validate(), err)
	if err == nil {
		answered := 0
		if b.Answer != nil {
			answered = 1
		}
		var reply any
		reply, err = s.run(ctx, settleScript, nil, append([]any{
			h.Step, h.Attempt, string(b.State), int64(b.Amount), date(b.At), answered, b.Answer,
		}, fields[1:]...)...)
		if err == nil && reply == "missing" {
			err = spend.ErrUnknownHold
		}
	}
	return store.Wrap(err, "settle ", h.Key())
}

// Close turns a dream's open attempts into lost ones. It does not close the store.
func (s Ledger) Close(ctx context.Context, dream string, at time.Time) (int, budget.Micros, error) {
	values, err := s.runTexts(ctx, closeScript, nil, dream, date(at), rand.Text())
	if err != nil {
		return 0, 0, store.Wrap(err, "close the reservations of dream ", dream)
	}
	var p parser
	return int(p.number(values[0])), budget.Micros(p.number(values[1])), p.err
}

// Forget deletes a dream's stored answers. They leave the server's file with its next rewrite, which an erasure of
// memories starts immediately. Store.Forget, by contrast, erases memories.
func (s Ledger) Forget(ctx context.Context, dream string) error {
	err := store.CheckNames("the dream's id", dream)
	if err == nil {
		_, err = s.run(ctx, dropScript, nil, dream)
	}
	return store.Wrap(err, "forget the answers of dream ", dream)
}

// Answer returns the stored answer of a step. Store.Answer, by contrast, stores the response to a server request.
func (s Ledger) Answer(ctx context.Context, step string) ([]byte, bool, error) {
	answer, err := ask(ctx, s.server, func(ctx context.Context) (string, error) {
		return s.client.Get(ctx, s.ledgerKey("answer:", step)).Result()
	})
	if err != nil {
		return nil, false, store.Wrap(ignoreMissing(err), "answer of ", step)
	}
	return []byte(answer), true, nil
}

// rowsAtOnce is how many rows one step reads: some ten milliseconds of the server. A dream or an agent's day has fewer;
// longer lists are read in several steps.
const rowsAtOnce = 2000

// OpenDreams lists the dreams that have open attempts, by id.
func (s ledger) OpenDreams(ctx context.Context) ([]string, error) {
	dreams, err := ask(ctx, s.server, func(ctx context.Context) ([]string, error) {
		return s.client.SMembers(ctx, s.ledgerKey("open")).Result()
	})
	slices.Sort(dreams)
	return dreams, store.Wrap(err, "dreams with open reservations")
}

// Balance returns the running sum of an account.
func (s ledger) Balance(ctx context.Context, scope string) (spend.Balance, error) {
	sums, err := s.hash(ctx, s.ledgerKey("account:", scope))
	p := parser{err: err}
	b := spend.Balance{Reserved: budget.Micros(p.number(sums["reserved"])), Spent: budget.Micros(p.number(sums["spent"]))}
	return b, store.Wrap(p.err, "balance of ", scope)
}

// Rows lists attempts in the order they were reserved, after the sums of those that were folded.
func (s ledger) Rows(ctx context.Context, q spend.Query) ([]spend.Row, error) {
	list := ""
	switch {
	case q.Dream != "":
		list = "dream:" + q.Dream
	case q.Day != "" && q.Agent != "":
		list = "day:" + q.Day + ":" + q.Agent
	}
	var out []spend.Row
	put := func(r spend.Row) {
		if q.Matches(r) && (q.Limit == 0 || len(out) < q.Limit) {
			out = append(out, r)
		}
	}
	var err error
	if list == "" {
		var sums []store.Sum
		sums, err = s.allSums(ctx)
		for _, sum := range sums {
			put(store.SumRow(sum))
		}
	}
	for from := int64(0); err == nil && (q.Limit == 0 || len(out) < q.Limit); {
		from, err = s.page(ctx, list, from, rowsAtOnce, put)
		if from == 0 {
			break
		}
	}
	return store.Result(out, err, "rows of the ledger")
}

// fieldsOf reads a list of fields and values.
func fieldsOf(reply any) map[string]string {
	list, _ := reply.([]any)
	fields := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		fields[text(list, i)] = text(list, i+1)
	}
	return fields
}

// Allow takes a dream's allowance from the agent's day. A returned allowance may be taken again.
func (s ledger) Allow(ctx context.Context, agent, day, dream string, amount, limit budget.Micros) error {
	err := store.CheckAllowance(dream, amount)
	var values []string
	if err == nil {
		err = requireRights(ctx, s.server)
	}
	if err == nil {
		values, err = s.runTexts(ctx, allowScript, nil, agent, day, dream, int64(amount), int64(limit))
	}
	p := parser{err: err}
	if err == nil && values[0] == "over" {
		p.fail(store.OverDay(agent, day, amount, limit, budget.Micros(p.number(values[1]))))
	}
	return store.Wrap(p.err, "allowance of dream ", dream)
}

// GiveBack returns a dream's allowance.
func (s ledger) GiveBack(ctx context.Context, dream string) error {
	_, err := s.run(ctx, giveBackScript, nil, dream)
	return store.Wrap(err, "give back the allowance of dream ", dream)
}

// Allowance is the sum that dreams have taken of the agent's day.
func (s ledger) Allowance(ctx context.Context, agent, day string) (budget.Micros, error) {
	amounts, err := s.values(ctx, s.ledgerKey("allowed:", day, ":", agent))
	p := parser{err: err}
	sum := budget.Micros(0)
	for _, amount := range amounts {
		sum = spend.Add(sum, budget.Micros(p.number(amount)))
	}
	return store.Result(sum, p.err, "allowance of ", agent, " on ", day)
}
