package spend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// Purchase is a call that was made and paid. Its bill holds no answer.
type Purchase struct {
	Ask  Ask
	Bill Bill
}

// Counts is what the purchase counts for.
func (p Purchase) Counts() budget.Micros { return p.Bill.Counts(p.Ask.Amount) }

const (
	// KeptPurchases is how many of its newest purchases a guard remembers: 3 MB.
	KeptPurchases = 4096
	// keptAnswers is how many bytes of its newest answers a guard remembers.
	keptAnswers = 4 << 20
)

// Journal is told what a process buys while it buys it, so that a later process knows it however this one ends.
type Journal interface {
	// Began is told of a reservation; key is that of its attempt.
	Began(key string, a Ask)
	// Ended is told how the attempt ended. The bill has no answer.
	Ended(key string, b Bill)
}

// purchases are the newest purchases of a process, oldest first.
type purchases struct {
	mu      sync.Mutex
	open    map[string]Ask // by the key of the attempt
	all     []Purchase
	journal Journal // nil: none

	answered []Purchase // the newest, with their answers, which the ledger may lack
	bytes    int        // of these answers
	late     []Purchase // whose end did not reach the ledger
}

// KeepIn tells a journal of what is bought from now on, and of what is being bought.
func (g *Guard) KeepIn(j Journal) {
	p := &g.purchases
	p.mu.Lock()
	defer p.mu.Unlock()
	p.journal = j
	for key, ask := range p.open {
		j.Began(key, ask)
	}
}

// begin remembers a reservation.
func (p *purchases) begin(h Hold, a Ask) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = map[string]Ask{}
	}
	p.open[h.Key()] = a
	if p.journal != nil {
		p.journal.Began(h.Key(), a)
	}
}

// end remembers how an attempt ended, and returns what was asked for it; false when that is not known.
func (p *purchases) end(h Hold, b Bill) (Purchase, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ask, found := p.open[h.Key()]
	delete(p.open, h.Key())
	if found && b.Answer != nil {
		p.keepAnswer(Purchase{Ask: ask, Bill: b})
	}
	b.Answer = nil
	if found && p.journal != nil {
		p.journal.Ended(h.Key(), b)
	}
	one := Purchase{Ask: ask, Bill: b}
	if found && b.State != Refused {
		p.keep(one)
	}
	return one, found
}

func (p *purchases) keep(more ...Purchase) {
	p.all = append(p.all, more...)
	if len(p.all) > 2*KeptPurchases { // moved rarely
		p.all = slices.Clone(p.all[len(p.all)-KeptPurchases:])
	}
}

func (p *purchases) keepAnswer(one Purchase) {
	p.answered = append(p.answered, one)
	p.bytes += len(one.Bill.Answer)
	dropped := 0
	for p.bytes > keptAnswers {
		p.bytes -= len(p.answered[dropped].Bill.Answer)
		p.answered[dropped] = Purchase{}
		dropped++
	}
	p.answered = p.answered[dropped:]
}

// answerOf returns the newest purchase of a step with its answer, as far as this process remembers it.
func (p *purchases) answerOf(step string) (Purchase, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range slices.Backward(p.answered) {
		if one.Ask.Step == step {
			return one, true
		}
	}
	return Purchase{}, false
}

// withAnswer returns the purchase with its answer, as far as this process remembers it.
func (p *purchases) withAnswer(one Purchase) Purchase {
	newest, found := p.answerOf(one.Ask.Step)
	if found && one.Bill.State == Settled && newest.Ask.At.Equal(one.Ask.At) {
		one.Bill.Answer = newest.Bill.Answer
	}
	return one
}

// isLate remembers a purchase whose end did not reach the ledger.
func (p *purchases) isLate(one Purchase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = append(p.late, one)
	p.late = p.late[max(0, len(p.late)-KeptPurchases):]
}

// Resettle settles the attempts whose end did not reach the ledger when they ended, with their answers. It returns
// those of which the ledger had lost the reservation as well, also with an error; it may be repeated.
func (g *Guard) Resettle(ctx context.Context) (entered []Purchase, err error) {
	p := &g.purchases
	p.mu.Lock()
	late := slices.Clone(p.late)
	p.mu.Unlock()
	if len(late) == 0 {
		return nil, nil
	}
	entered, err = g.enter(ctx, late)
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.late = slices.DeleteFunc(p.late, func(one Purchase) bool {
			return slices.ContainsFunc(late, func(done Purchase) bool {
				return done.Ask.Step == one.Ask.Step && done.Ask.At.Equal(one.Ask.At)
			})
		})
	}
	return entered, err
}

// regain gives the ledger the answer of a step that is asked for again, where this process has bought it and the ledger
// does not have it: its end did not reach the ledger, or a server without its newest writes has taken over.
func (g *Guard) regain(ctx context.Context, c Charge) error {
	one, found := g.purchases.answerOf(c.Step)
	if !found {
		return nil
	}
	_, stored, err := g.Ledger.Answer(ctx, c.Step)
	if err != nil || stored || c.StillNeeded != nil && c.StillNeeded(ctx) != nil {
		return err // what is no longer needed is refused once it has a reservation
	}
	rows, err := g.Ledger.Rows(ctx, Query{Agent: one.Ask.Agent, Dream: one.Ask.Dream, Day: one.Ask.Day})
	if err == nil {
		var missing bool
		missing, err = g.compare(ctx, rows, one)
		if missing && err == nil {
			err = Enter(ctx, g.Ledger, one)
		}
	}
	if err != nil {
		return fmt.Errorf("look for the answer of %s, which was bought before: %w", c.Step, err)
	}
	return nil
}

// Purchases returns the newest purchases of this process, oldest first.
func (g *Guard) Purchases() []Purchase {
	p := &g.purchases
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all[max(0, len(p.all)-KeptPurchases):])
}

// Remember adds purchases of an earlier process, which Reenter looks for as well.
func (g *Guard) Remember(earlier []Purchase) {
	p := &g.purchases
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(slices.Clone(earlier), p.all...)
}

// Reenter enters the newest purchases of this process into the ledger again, where it has lost them: a server without
// its newest writes has taken over, or an earlier state was put back. What was bought is entered whatever the caps say,
// because the provider bills it. It returns what was entered, also with an error; it may be repeated.
//
// Where the reservation stands, and its end alone is lost, the answer is stored again. Where both are lost it is not: a
// memory may have been forgotten meanwhile, which marks reservations so that their answers are not stored.
func (g *Guard) Reenter(ctx context.Context) (entered []Purchase, err error) {
	return g.enter(ctx, g.Purchases())
}

func (g *Guard) enter(ctx context.Context, all []Purchase) (entered []Purchase, err error) {
	type day struct{ agent, dream, day string }
	byDay := map[day][]Row{}
	for _, one := range all {
		if g.Keeps > 0 && one.Bill.At.Before(g.Now().Add(-g.Keeps)) {
			continue // the ledger has it in its sums
		}
		of := day{one.Ask.Agent, one.Ask.Dream, one.Ask.Day}
		rows, read := byDay[of]
		if !read {
			rows, err = g.Ledger.Rows(ctx, Query{Agent: of.agent, Dream: of.dream, Day: of.day})
			if err != nil {
				return entered, fmt.Errorf("compare the ledger with what was bought: %w", err)
			}
			byDay[of] = rows
		}
		missing, err := g.compare(ctx, rows, g.purchases.withAnswer(one))
		missing = missing && one.Bill.State != Refused
		if err == nil && missing {
			err = Enter(ctx, g.Ledger, one)
		}
		if err != nil {
			return entered, err
		}
		if missing {
			entered = append(entered, one)
		}
	}
	return entered, nil
}

// compare looks for a purchase among the rows of the ledger, and settles it where its end is missing. What a dream
// spent by its workflow has all of its purchases.
func (g *Guard) compare(ctx context.Context, rows []Row, one Purchase) (missing bool, err error) {
	for _, r := range rows {
		if r.Finish == Completed && r.Phase == one.Ask.Phase {
			return false, nil
		}
		if r.Step != one.Ask.Step || r.Reserved != one.Ask.Amount || !r.At.Equal(one.Ask.At) {
			continue
		}
		closed := r.State == Lost && r.Dream != "" // the record of its dream has this amount
		if r.State != Open && r.State != Lost || one.Bill.State == r.State || closed {
			return false, nil
		}
		return false, g.Ledger.Settle(ctx, Hold{Step: r.Step, Attempt: r.Attempt, Amount: r.Reserved}, one.Bill)
	}
	return true, nil
}

// Completed is the finish reason, in the ledger, of what a dream spent by its workflow beyond what the ledger has.
const Completed = "from the workflow"

// Enter books a purchase that was made, whatever the caps say.
func Enter(ctx context.Context, ledger Ledger, one Purchase) error {
	ask := one.Ask
	ask.Accounts = slices.Clone(ask.Accounts)
	for i := range ask.Accounts {
		ask.Accounts[i].Limit = budget.Unlimited
	}
	hold, err := ledger.Reserve(ctx, ask)
	if errors.Is(err, ErrAnswered) { // it was bought once more meanwhile
		ask.Step += "/" + one.Bill.At.UTC().Format(time.RFC3339Nano)
		hold, err = ledger.Reserve(ctx, ask)
	}
	if err == nil {
		err = ledger.Settle(ctx, hold, one.Bill)
	}
	if err != nil {
		return fmt.Errorf("enter %s into the ledger again: %w", ask.Step, err)
	}
	return nil
}
