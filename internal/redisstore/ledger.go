package redisstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// Ledger is the store's implementation of spend.Ledger. It is a type of its own because its Close ends a dream's
// reservations, while Store.Close closes the connections.
type Ledger struct{ *Store }

// Ledger returns the store's spend ledger.
func (s *Store) Ledger() Ledger { return Ledger{s} }

var (
	reserveScript = script("money", "book", "reserve")
	settleScript  = script("money", "book", "settle")
	closeScript   = script("money", "book", "close")
	dropScript    = script("money", "book", "drop")
)

// storedAsk is the constant part of a spend.Ask, as its row stores it. All attempts of a phase of a dream share one,
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

// storeAsk returns the stored form of a query, and its name if it is shared; empty for one that its row stores itself.
func storeAsk(a storedAsk) (kept []byte, name string, err error) {
	if a.Dream != "" {
		a.Step, a.Model, a.At = "", "", ""
	}
	kept, err = json.Marshal(a)
	if err != nil || a.Dream == "" {
		return kept, "", err
	}
	sum := sha256.Sum256(kept)
	return kept, hex.EncodeToString(sum[:10]), nil
}

// Reserve books the worst case under every account, or nothing. When the server's reply is lost it asks again with the
// same token, so that one call books at most once.
func (s *Store) Reserve(ctx context.Context, a spend.Ask) (spend.Hold, error) {
	hold, err := s.reserve(ctx, a)
	if err != nil {
		return spend.Hold{}, fmt.Errorf("reserve for %s: %w", a.Step, err)
	}
	return hold, nil
}

func (s *Store) reserve(ctx context.Context, a spend.Ask) (spend.Hold, error) {
	if err := checkAsk(a); err != nil {
		return spend.Hold{}, err
	}
	kept, name, err := storeAsk(storedAsk{a.Agent, a.Dream, a.Phase, a.Model, a.Day, a.Accounts, date(a.At), a.Step})
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
	err = s.exchange(ctx, again, func(ctx context.Context, lost bool) error {
		if lost {
			args[2] = "1"
		}
		var err error
		reply, err = reserveScript.Run(ctx, s.client, keys, args...).Result()
		return err
	})
	if err != nil {
		return spend.Hold{}, err
	}
	values, err := texts(reply)
	if err != nil {
		return spend.Hold{}, err
	}
	if values[0] == "answered" {
		return spend.Hold{}, spend.ErrAnswered
	}
	n, err := numbers(values[1:])
	if err != nil {
		return spend.Hold{}, err
	}
	if values[0] == "over" {
		over := a.Accounts[n[0]-1]
		return spend.Hold{},
			&spend.OverCap{Scope: over.Scope, Limit: over.Limit, Counted: budget.Micros(n[1]), Asks: a.Amount}
	}
	return spend.Hold{Step: a.Step, Attempt: int(n[0]), Amount: a.Amount}, nil
}

// ledgerKey returns the name of a ledger key.
func (s *Store) ledgerKey(parts ...string) string {
	key := s.set.prefix + "m:"
	for _, part := range parts {
		key += part
	}
	return key
}

func checkAsk(a spend.Ask) error {
	if a.Step == "" {
		return errors.New("the step's key is empty")
	}
	if a.Amount < 0 {
		return fmt.Errorf("amount is %d micro-dollars; it must not be negative", a.Amount)
	}
	names := []string{a.Step, a.Agent, a.Dream, a.Day}
	for _, account := range a.Accounts {
		if account.Scope == "" {
			return errors.New("an account has no scope")
		}
		names = append(names, account.Scope)
	}
	for _, name := range names {
		if !utf8.ValidString(name) {
			return fmt.Errorf("%q is not valid UTF-8", name)
		}
	}
	return nil
}

// Settle ends an attempt that is open or lost.
func (s *Store) Settle(ctx context.Context, h spend.Hold, b spend.Bill) error {
	if err := s.end(ctx, h, b); err != nil {
		return fmt.Errorf("settle %s: %w", h.Key(), err)
	}
	return nil
}

func (s *Store) end(ctx context.Context, h spend.Hold, b spend.Bill) error {
	tokens, err := checkBill(b)
	if err != nil {
		return err
	}
	answered := 0
	if b.Answer != nil {
		answered = 1
	}
	reply, err := s.run(ctx, again, settleScript, nil, h.Step, h.Attempt, string(b.State), int64(b.Amount), tokens,
		b.Finish, date(b.At), answered, b.Answer)
	if err == nil && reply == "missing" {
		err = spend.ErrUnknownHold
	}
	return err
}

func checkBill(b spend.Bill) ([]byte, error) {
	if !slices.Contains([]spend.State{spend.Settled, spend.Partial, spend.Refused, spend.Lost}, b.State) {
		return nil, fmt.Errorf("state %q does not end an attempt; settled, partial, refused and unknown do", b.State)
	}
	if b.Amount < 0 {
		return nil, fmt.Errorf("amount is %d micro-dollars; it must not be negative", b.Amount)
	}
	return json.Marshal(b.Tokens)
}

// Close turns a dream's open attempts into lost ones. It does not close the store.
func (s Ledger) Close(ctx context.Context, dream string, at time.Time) (int, budget.Micros, error) {
	reply, err := s.run(ctx, again, closeScript, nil, dream, date(at), rand.Text())
	var values []string
	if err == nil {
		values, err = texts(reply)
	}
	var n []int64
	if err == nil {
		n, err = numbers(values)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("close the reservations of dream %s: %w", dream, err)
	}
	return int(n[0]), budget.Micros(n[1]), nil
}

// Forget deletes a dream's stored answers. They leave the server's file with its next rewrite, which an erasure of
// memories starts immediately. Store.Forget, by contrast, erases memories.
func (s Ledger) Forget(ctx context.Context, dream string) error {
	err := errors.New("the dream's id is empty")
	if dream != "" {
		_, err = s.run(ctx, again, dropScript, nil, dream)
	}
	return wrap(err, "forget the answers of dream ", dream)
}

// Answer returns the stored answer of a step. Store.Answer, by contrast, stores the response to a server request.
func (s Ledger) Answer(ctx context.Context, step string) ([]byte, bool, error) {
	var answer []byte
	found := false
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		kept, err := s.client.Get(ctx, s.ledgerKey("answer:", step)).Bytes()
		found, answer = err == nil, kept
		return ignoreMissing(err)
	})
	if err != nil || !found {
		return nil, false, wrap(err, "answer of ", step)
	}
	return answer, true, nil
}

// numbers parses decimal integers.
func numbers(texts []string) ([]int64, error) {
	out := make([]int64, len(texts))
	for i, text := range texts {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the server replied with %q; expected a number", text)
		}
		out[i] = n
	}
	return out, nil
}
