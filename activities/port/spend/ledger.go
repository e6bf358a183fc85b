// Package spend makes every paid call: it reserves the worst case under every cap, makes the call, and settles.
//
// A program fits a Ledger and an inference.Model to a Guard. Amounts are whole micro-dollars (budget.Micros), never
// negative, and sums stop at the largest amount instead of overflowing. A ledger must survive what its deployment must
// not pay twice for: one in memory loses every cap with its process. Ask.Validate, Ask.Check, Bill.Validate,
// Bill.Counts and Balance.Rebook are the rules of booking. Errors: *OverCap, ErrAnswered and ErrUnknownHold, found by
// errors.As and errors.Is.
package spend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// State of one attempt in the ledger.
type State string

// The states. Open and Unknown count in full; Settled counts what was settled; Refused counts nothing.
const (
	Open    State = "open"    // reserved; the call is running or its process died
	Settled State = "settled" // finished; the answer is stored under its step
	Partial State = "partial" // stopped without the provider's usage; counted at its full reservation
	Refused State = "refused" // the provider certainly charged nothing
	Lost    State = "unknown" // ended, and the amount billed is unknown; counted in full
)

// Ask is a request for a reservation.
type Ask struct {
	Step     string // the step's key, unique in the deployment: "<dream id>/onset/2/partial-1"
	Agent    string
	Dream    string
	Phase    string
	Model    string
	Day      string           // the day whose limit pays, YYYY-MM-DD in the agent's zone
	Amount   budget.Micros    // the worst case
	Accounts []budget.Account // every cap that applies, checked in one atomic step
	At       time.Time
}

// Hold is a granted reservation: attempt 1, 2, 3, … of its step.
type Hold struct {
	Step    string
	Attempt int
	Amount  budget.Micros
}

// Key identifies the attempt to the provider and in the ledger.
func (h Hold) Key() string { return fmt.Sprintf("%s#%d", h.Step, h.Attempt) }

// Bill ends an attempt.
type Bill struct {
	State  State
	Amount budget.Micros // the final amount; a partial or unknown end never counts less than its reservation
	Tokens budget.Tokens
	Finish string
	Answer []byte // stored in the same transaction as the step's answer unless it has one; nil for none
	At     time.Time
}

// Row is one attempt in the ledger, or the sum of several that a Folder has folded.
type Row struct {
	Ask
	Attempt  int
	Reserved budget.Micros
	Counted  budget.Micros // what it counts for at present
	State    State
	Tokens   budget.Tokens
	Finish   string
	Ended    time.Time
	// The step's newest attempt when this one was settled; 0 while it is open, and in rows written before schema 4.
	Latest int
	// How many attempts of one state the row sums up; 0 for a single attempt. A sum has no step, times and finish, its
	// accounts have no limits, and its amounts and tokens are those of its attempts together.
	Folded int
}

// Calls is how many attempts the row stands for.
func (r Row) Calls() int { return max(1, r.Folded) }

// Balance is the sum of an account's attempts.
type Balance struct {
	Reserved budget.Micros // open attempts
	Spent    budget.Micros // ended attempts: settled, partial and unknown
}

// Query selects rows of the ledger; zero fields do not filter.
type Query struct {
	Agent, Dream, Phase, Model, Day string
	States                          []State
	Limit                           int
}

// OverCap is the refusal of a reservation. It names the first account that would be overrun, in the order of the ask.
type OverCap struct {
	Scope                string
	Limit, Counted, Asks budget.Micros
}

// Error names the cap, what counts against it, and what was asked.
func (e *OverCap) Error() string {
	return fmt.Sprintf("cap %s is %s, %s is spent or reserved, and this call may cost %s", e.Scope, e.Limit,
		e.Counted, e.Asks)
}

// AsOverCap finds an OverCap in an error.
func AsOverCap(err error) (*OverCap, bool) {
	var o *OverCap
	ok := errors.As(err, &o)
	return o, ok
}

// ErrAnswered is returned by Reserve for a step whose answer is stored: it is not bought again.
var ErrAnswered = errors.New("the step's answer is kept already")

// ErrUnknownHold is returned by Settle for an attempt that the ledger never granted.
var ErrUnknownHold = errors.New("no such reservation")

// Ledger is the durable spend ledger. Each method is one atomic, durable step, safe across processes.
type Ledger interface {
	// Reserve books the worst case under every account. It books nothing and returns ErrAnswered when an answer of the
	// step is stored at that moment, or *OverCap when an account would be overrun.
	Reserve(ctx context.Context, a Ask) (Hold, error)
	// Settle ends an attempt. Settling an ended attempt again changes nothing, except that Open and Lost may still be
	// settled by the process that made the call.
	Settle(ctx context.Context, h Hold, b Bill) error
	// Answer returns the stored answer of a step, if there is one.
	Answer(ctx context.Context, step string) ([]byte, bool, error)
	// Close turns the open attempts of a dream into Lost ones, and returns their number and total amount.
	Close(ctx context.Context, dream string, at time.Time) (int, budget.Micros, error)
	// Forget deletes the stored answers of a dream that has ended, and ensures that attempts which end later store
	// none. Amounts stay. After an error, call it again.
	Forget(ctx context.Context, dream string) error
	// OpenDreams lists the dreams that have open attempts.
	OpenDreams(ctx context.Context) ([]string, error)
	Balance(ctx context.Context, scope string) (Balance, error)
	// Rows lists attempts in the order they were reserved, after the sums of those that were folded.
	Rows(ctx context.Context, q Query) ([]Row, error)

	// Allow takes a dream's allowance from the agent's daily limit, once per dream; *OverCap when limit would be
	// passed. An allowance is a plan, not spending: GiveBack returns it and does not change what was spent.
	Allow(ctx context.Context, agent, day, dream string, amount, limit budget.Micros) error
	// GiveBack returns a dream's allowance. It may be taken again; a second GiveBack changes nothing.
	GiveBack(ctx context.Context, dream string) error
	// Allowance is the sum that dreams have taken of the agent's day.
	Allowance(ctx context.Context, agent, day string) (budget.Micros, error)
}

// Folder is a ledger that sums up attempts of the past, so that what it keeps of them does not grow with their number.
type Folder interface {
	// Attempts lists single attempts in the order they were reserved. Of at most limit positions after one, it returns
	// the attempts that are still kept, and the position to go on from; 0 begins, and is returned at the end.
	Attempts(ctx context.Context, after int64, limit int) (rows []Row, next int64, err error)
	// Fold replaces attempts by sums, one for all attempts of the same agent, dream, phase, model, day, accounts and
	// state, and deletes the answers of their steps. Balances stay. An attempt that is open, has changed since it was
	// read or does not exist is left out, and so is every attempt of a step of which rows do not have all attempts. It
	// is one step, and returns how many attempts it has folded.
	Fold(ctx context.Context, rows []Row) (int, error)
}

// DayTotal is what the attempts of an agent's day count for together, those that were folded included.
type DayTotal struct {
	Agent, Day string
	Calls      int64
	Reserved   budget.Micros // open attempts
	Settled    budget.Micros // known ends, and partial ones at their full reservation
	Unknown    budget.Micros // lost attempts
	In         int64         // tokens
	Cached     int64
	Out        int64
}

// Add adds a row of the same agent and day.
func (t *DayTotal) Add(r Row) {
	t.Calls += int64(r.Calls())
	switch r.State {
	case Open:
		t.Reserved = Add(t.Reserved, r.Counted)
	case Lost:
		t.Unknown = Add(t.Unknown, r.Counted)
	case Settled, Partial, Refused:
		t.Settled = Add(t.Settled, r.Counted)
	}
	t.In, t.Cached, t.Out = t.In+r.Tokens.In, t.Cached+r.Tokens.Cached, t.Out+r.Tokens.Out
}

// TotalByDay adds up rows by agent and day, in that order.
func TotalByDay(rows []Row) []DayTotal {
	type key struct{ agent, day string }
	places := map[key]int{}
	var all []DayTotal
	for _, r := range rows {
		k := key{r.Agent, r.Day}
		i, found := places[k]
		if !found {
			i = len(all)
			places[k] = i
			all = append(all, DayTotal{Agent: r.Agent, Day: r.Day})
		}
		all[i].Add(r)
	}
	slices.SortFunc(all, DayTotal.Compare)
	return all
}

// Compare orders totals by agent and day.
func (t DayTotal) Compare(other DayTotal) int {
	return cmp.Or(strings.Compare(t.Agent, other.Agent), strings.Compare(t.Day, other.Day))
}

// DayTotals is a ledger that keeps the totals of every agent's days beside its attempts.
type DayTotals interface {
	// DayTotals returns what TotalByDay makes of the rows of an agent and a day; of all agents, or all days, where these
	// are empty. It reads one total a day, and none of its attempts.
	DayTotals(ctx context.Context, agent, day string) ([]DayTotal, error)
}

// Balances is a ledger that returns the balances of many accounts at once.
type Balances interface {
	// Balances returns the balances of accounts by their scopes, in this order.
	Balances(ctx context.Context, scopes []string) ([]Balance, error)
}
