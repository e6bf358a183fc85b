package spend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

const (
	// settling is the timeout for settling a call in the ledger, which also runs after the caller's context has ended.
	settling = 15 * time.Second
	// settleAgain is the wait before a store that was away is tried again within that time.
	settleAgain = 100 * time.Millisecond
)

// Charge says who pays for a step, and under which caps.
type Charge struct {
	Step        string
	Agent       string
	Dream       string
	Phase       string
	Day         string
	Accounts    []budget.Account
	RequestedAt time.Time // when the step was requested; its rows are never older, where a server skips idle time

	// StillNeeded, when set, is called after the reservation and before the call. When it fails, the call is not made,
	// the reservation is settled at no cost, and the step fails with this error.
	//
	// It exists for reasons not to store an answer, such as a memory that was forgotten. One that arises before the
	// reservation is found by this check. One that arises after it finds the reserved attempt in the ledger and marks
	// it, so that the ledger stores no answer.
	StillNeeded func(ctx context.Context) error

	// OnPartial, when set, receives the partial answer of a call whose context ended. It is called before settling,
	// because somebody waits for that answer to be stored, and a reservation that is not settled counts in full.
	OnPartial func(PaidAnswer)
}

// PaidAnswer is an answer and what it cost.
type PaidAnswer struct {
	inference.Answer
	Attempt int           `json:"attempt"`
	Cost    budget.Micros `json:"cost"`
	Reused  bool          `json:"-"` // it had been bought before
	Ended   time.Time     `json:"-"` // when the model stopped
}

// Guard makes paid calls.
type Guard struct {
	Ledger  Ledger
	Model   inference.Model
	Catalog inference.Catalog
	Now     func() time.Time
	// Away says of an error of the ledger that its store did not answer, so that settling is tried again. Nil: never.
	Away func(error) bool
	// Keeps is how long the ledger keeps an attempt of its own after its end, before it is folded; 0: for ever.
	Keeps time.Duration

	calibrations calibrations
	purchases    purchases
}

// Generate buys the answer of a step, or returns the one that was bought before. Errors: *OverCap when a cap refuses,
// *inference.Failure when the call fails, and an error wrapping context.Cause(ctx) together with the partial answer
// when ctx ended.
func (g *Guard) Generate(ctx context.Context, c Charge, r inference.Request,
	token func(string) bool,
) (PaidAnswer, error) {
	err := g.regain(ctx, c)
	if err != nil {
		return PaidAnswer{}, err
	}
	spec, hold, err := g.reserve(ctx, c, r, mostWritten(r))
	if err != nil { // ErrAnswered, or a refusal that does not matter to a step that was bought before
		return g.answerBoughtBefore(ctx, c.Step, err)
	}
	if err := g.checkStillNeeded(ctx, c, hold); err != nil {
		return PaidAnswer{}, err
	}
	r.Key = hold.Key()
	answer, callErr := g.Model.Generate(ctx, r, token)
	paid := PaidAnswer{Answer: answer, Attempt: hold.Attempt, Ended: time.Now()}
	bill := BillFor(spec, r, hold.Amount, answer, callErr)
	paid.Cost = bill.Amount
	if callErr == nil {
		bill.Answer, err = json.Marshal(paid)
		if err != nil {
			return paid, fmt.Errorf("keep answer of %s: %w", c.Step, err)
		}
	}
	if callErr != nil && ctx.Err() != nil && c.OnPartial != nil {
		c.OnPartial(paid)
	}
	if err := errors.Join(callErr, g.settle(ctx, c, hold, bill)); err != nil {
		return paid, err
	}
	return g.preferEarlierAnswer(context.WithoutCancel(ctx), c.Step, paid, bill.Answer), nil
}

// preferEarlierAnswer returns the stored answer of a step when another attempt was settled before this one: the ledger
// keeps the first answer. Otherwise, and when the ledger cannot be read, it returns paid.
func (g *Guard) preferEarlierAnswer(ctx context.Context, step string, paid PaidAnswer, body []byte) PaidAnswer {
	stored, ok, err := g.Ledger.Answer(ctx, step)
	if err != nil || !ok || bytes.Equal(stored, body) {
		return paid
	}
	var earlier PaidAnswer
	if json.Unmarshal(stored, &earlier) != nil || earlier.Attempt == paid.Attempt {
		return paid
	}
	earlier.Reused = true
	return earlier
}

// Embed buys the vectors of a step, or returns the ones that were bought before. Errors as for Generate.
func (g *Guard) Embed(ctx context.Context, c Charge, model string, texts []string) (inference.Vectors, error) {
	return g.embed(ctx, c, model, texts, true)
}

// embed buys vectors. stored: they are stored under their step, and may have been bought before.
func (g *Guard) embed(
	ctx context.Context, c Charge, model string, texts []string, stored bool,
) (inference.Vectors, error) {
	if err := g.regain(ctx, c); err != nil {
		return inference.Vectors{}, err
	}
	details, _ := g.Catalog.Lookup(model)
	texts = clip(details, texts)
	r := EmbeddingRequest(model, texts)
	spec, hold, err := g.reserve(ctx, c, r, 0)
	switch {
	case err != nil && stored:
		return storedAnswer[inference.Vectors](ctx, g, c.Step, err)
	case err != nil:
		return inference.Vectors{}, err
	}
	if err := g.checkStillNeeded(ctx, c, hold); err != nil {
		return inference.Vectors{}, err
	}
	vectors, callErr := g.Model.Embed(ctx, model, texts, hold.Key())
	answer := inference.Answer{Finish: inference.Stopped, Tokens: vectors.Tokens, UsageFrom: vectors.UsageFrom}
	bill := BillFor(spec, r, hold.Amount, answer, callErr)
	if callErr == nil && stored {
		bill.Answer, err = json.Marshal(vectors)
		if err != nil {
			return vectors, fmt.Errorf("keep vectors of %s: %w", c.Step, err)
		}
	}
	return vectors, errors.Join(callErr, g.settle(ctx, c, hold, bill))
}

// clip cuts texts at the embedder's window: of a longer one only the beginning is embedded.
func clip(spec inference.Spec, texts []string) []string {
	clipped := make([]string, len(texts))
	for i, text := range texts {
		clipped[i] = spec.Clip(text)
	}
	return clipped
}

// outdated is the finish reason, in the ledger, of an attempt that was not made because Charge.StillNeeded failed.
const outdated = "outdated"

// checkStillNeeded calls Charge.StillNeeded. When that fails, it settles the attempt at no cost and returns the error.
func (g *Guard) checkStillNeeded(ctx context.Context, c Charge, hold Hold) error {
	if c.StillNeeded == nil {
		return nil
	}
	err := c.StillNeeded(ctx)
	if err == nil {
		return nil
	}
	return errors.Join(err, g.settle(ctx, c, hold, Bill{State: Refused, Finish: outdated}))
}

// answerBoughtBefore returns the answer stored for a step that could not be reserved, or the reason of the refusal.
func (g *Guard) answerBoughtBefore(ctx context.Context, step string, refused error) (PaidAnswer, error) {
	paid, err := storedAnswer[PaidAnswer](ctx, g, step, refused)
	paid.Reused = err == nil
	return paid, err
}

// storedAnswer reads the stored answer of a step that is refused now. A missing price or a cap does not prevent that.
func storedAnswer[A any](ctx context.Context, g *Guard, step string, refused error) (A, error) {
	var answer A
	body, ok, err := g.Ledger.Answer(ctx, step)
	if err != nil { // it is unknown whether the cap matters, so this is not a refusal
		return answer,
			fmt.Errorf("check whether %s was bought before, after it was refused (%s): %w", step, refused.Error(), err)
	}
	if !ok {
		return answer, refused
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, fmt.Errorf("read the answer kept for %s: %w", step, err)
	}
	return answer, nil
}

// reserve books the worst case of r, with out answer tokens on top of the reasoning tokens.
func (g *Guard) reserve(ctx context.Context, c Charge, r inference.Request, out int64) (inference.Spec, Hold, error) {
	spec, err := Priced(g.Catalog, r.Model)
	if err != nil {
		return spec, Hold{}, err
	}
	hold, err := g.book(ctx, c, r.Model, worstCost(spec, r, out))
	return spec, hold, err
}

// book reserves an amount under every account.
func (g *Guard) book(ctx context.Context, c Charge, model string, amount budget.Micros) (Hold, error) {
	ask := Ask{
		Step:     c.Step,
		Agent:    c.Agent,
		Dream:    c.Dream,
		Phase:    c.Phase,
		Model:    model,
		Day:      c.Day,
		Amount:   amount,
		Accounts: c.Accounts,
		At:       g.at(c),
	}
	hold, err := g.Ledger.Reserve(ctx, ask)
	if err == nil {
		g.purchases.begin(hold, ask)
	}
	return hold, err
}

// at is the later of the clock and the time that the step was requested.
func (g *Guard) at(c Charge) time.Time {
	if now := g.Now(); now.After(c.RequestedAt) {
		return now
	}
	return c.RequestedAt
}

func (g *Guard) settle(ctx context.Context, c Charge, hold Hold, b Bill) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settling)
	defer cancel()
	b.At = g.at(c)
	one, begun := g.purchases.end(hold, b)
	err := g.Ledger.Settle(ctx, hold, b)
	for g.Away != nil && g.Away(err) && waited(ctx, settleAgain) {
		err = g.Ledger.Settle(ctx, hold, b)
	}
	if errors.Is(err, ErrUnknownHold) && begun { // the ledger has lost the reservation while the call ran
		err = Enter(ctx, g.Ledger, one)
	}
	if err == nil {
		return nil
	}
	if begun {
		g.purchases.isLate(one)
	}
	return fmt.Errorf("settle %s: %w", hold.Key(), err)
}

// waited returns false when ctx ended before.
func waited(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
