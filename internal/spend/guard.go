package spend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/inference"
)

// Overrun is how many tokens beyond its maximum a stream may produce before closing the connection stops it. Every
// streamed call reserves for them. At 5 ms a token it covers 320 ms between closing the connection and the provider's
// stop.
const Overrun = 64

// settling is the timeout for settling a call in the ledger, which also runs after the caller's context has ended.
const settling = 15 * time.Second

// Charge says who pays for a step, and under which caps.
type Charge struct {
	Step        string
	Agent       string
	Dream       string
	Phase       string
	Day         string
	Accounts    []budget.Account
	RequestedAt time.Time // when the step was requested; its rows are never older, where a server skips idle time

	// StillNeeded, when set, is called between the reservation and the call. When it fails, no call is made and nothing
	// is spent. It lets callers refuse an answer that must not be stored: a reason that arises before the reservation
	// fails here, and one that arises later finds the attempt in the ledger.
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

	calibrations calibrations
}

// Generate buys the answer of a step, or returns the one that was bought before. Errors: *OverCap when a cap refuses,
// *inference.Failure when the call fails, and an error wrapping context.Cause(ctx) together with the partial answer
// when ctx ended.
func (p *Guard) Generate(ctx context.Context, c Charge, r inference.Request,
	token func(string) bool,
) (PaidAnswer, error) {
	spec, hold, err := p.reserve(ctx, c, r, int64(r.MaxTokens)+Overrun)
	if err != nil {
		return p.bought(ctx, c.Step, err)
	}
	if err := p.still(ctx, c, hold); err != nil {
		return PaidAnswer{}, err
	}
	r.Key = hold.Key()
	answer, callErr := p.Model.Generate(ctx, r, token)
	paid := PaidAnswer{Answer: answer, Attempt: hold.Attempt, Ended: time.Now()}
	bill := bill(spec, r, hold, answer, callErr)
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
	if err := errors.Join(callErr, p.settle(ctx, c, hold, bill)); err != nil {
		return paid, err
	}
	return p.first(context.WithoutCancel(ctx), c.Step, paid, bill.Answer), nil
}

// first returns the answer stored for a step. Another attempt may have finished before this one; then its answer
// counts.
func (p *Guard) first(ctx context.Context, step string, paid PaidAnswer, body []byte) PaidAnswer {
	stored, ok, err := p.Ledger.Answer(ctx, step)
	if err != nil || !ok || bytes.Equal(stored, body) {
		return paid
	}
	var kept PaidAnswer
	if json.Unmarshal(stored, &kept) != nil || kept.Attempt == paid.Attempt {
		return paid
	}
	kept.Reused = true
	return kept
}

// Embed buys the vectors of a step, or returns the ones that were bought before. Errors as for Generate.
func (p *Guard) Embed(ctx context.Context, c Charge, model string, texts []string) (inference.Vectors, error) {
	r := inference.Request{Model: model}
	clipped := make([]string, len(texts)) // of a text longer than the embedder's window, only the beginning is embedded
	details, _ := p.Catalog.Lookup(model)
	for i, text := range texts {
		text = details.Clip(text)
		clipped[i] = text
		r.Messages = append(r.Messages, inference.Message{Content: text})
	}
	spec, hold, err := p.reserve(ctx, c, r, 0)
	if err != nil {
		return kept[inference.Vectors](ctx, p, c.Step, err)
	}
	if err := p.still(ctx, c, hold); err != nil {
		return inference.Vectors{}, err
	}
	vectors, callErr := p.Model.Embed(ctx, model, clipped, hold.Key())
	answer := inference.Answer{Finish: inference.Stopped, Tokens: vectors.Tokens, UsageFrom: vectors.UsageFrom}
	bill := bill(spec, r, hold, answer, callErr)
	if callErr == nil {
		bill.Answer, err = json.Marshal(vectors)
		if err != nil {
			return vectors, fmt.Errorf("keep vectors of %s: %w", c.Step, err)
		}
	}
	return vectors, errors.Join(callErr, p.settle(ctx, c, hold, bill))
}

// outdated is the finish reason, in the ledger, of an attempt that was not made because Charge.StillNeeded failed.
const outdated = "outdated"

// still settles an attempt that need not be made any more.
func (p *Guard) still(ctx context.Context, c Charge, hold Hold) error {
	if c.StillNeeded == nil {
		return nil
	}
	err := c.StillNeeded(ctx)
	if err == nil {
		return nil
	}
	return errors.Join(err, p.settle(ctx, c, hold, Bill{State: Refused, Finish: outdated}))
}

// bought returns the answer stored for a step that could not be reserved, or the reason of the refusal.
func (p *Guard) bought(ctx context.Context, step string, refused error) (PaidAnswer, error) {
	paid, err := kept[PaidAnswer](ctx, p, step, refused)
	paid.Reused = err == nil
	return paid, err
}

// kept reads the stored answer of a step that is refused now. A missing price or a cap does not prevent that.
func kept[A any](ctx context.Context, p *Guard, step string, refused error) (A, error) {
	var answer A
	body, ok, err := p.Ledger.Answer(ctx, step)
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

func (p *Guard) priced(model string) (inference.Spec, error) {
	spec, err := p.Catalog.Lookup(model)
	if err != nil {
		return spec, err
	}
	if spec.Price == nil {
		return spec, &inference.Failure{Kind: inference.Unpriced, Message: fmt.Sprintf(
			"model %q has no price; state one under providers.%s.models (in and out, dollars per million tokens; "+
				"0 for a local model)", model, spec.Provider)}
	}
	return spec, nil
}

// reserve books the worst case of r, with out answer tokens on top of the reasoning tokens.
func (p *Guard) reserve(ctx context.Context, c Charge, r inference.Request, out int64) (inference.Spec, Hold, error) {
	spec, err := p.priced(r.Model)
	if err != nil {
		return spec, Hold{}, err
	}
	if spec.Reasoning {
		out += int64(r.Reasoning)
	}
	hold, err := p.Ledger.Reserve(ctx, Ask{
		Step:     c.Step,
		Agent:    c.Agent,
		Dream:    c.Dream,
		Phase:    c.Phase,
		Model:    r.Model,
		Day:      c.Day,
		Amount:   spec.Price.Worst(inference.CountPrompt(spec, r), out),
		Accounts: c.Accounts,
		At:       p.at(c),
	})
	return spec, hold, err
}

// at is the later of the clock and the time that the step was requested.
func (p *Guard) at(c Charge) time.Time {
	if now := p.Now(); now.After(c.RequestedAt) {
		return now
	}
	return c.RequestedAt
}

func (p *Guard) settle(ctx context.Context, c Charge, hold Hold, b Bill) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settling)
	defer cancel()
	b.At = p.at(c)
	if err := p.Ledger.Settle(ctx, hold, b); err != nil {
		return fmt.Errorf("settle %s: %w", hold.Key(), err)
	}
	return nil
}

// bill decides what an ended attempt counts for (decision 1): the provider's final usage when it is plausible, the full
// reservation when it is missing or implausible, and nothing only when the provider certainly charged nothing.
func bill(spec inference.Spec, r inference.Request, hold Hold, a inference.Answer, err error) Bill {
	b := Bill{State: Settled, Amount: hold.Amount, Tokens: a.Tokens, Finish: string(a.Finish)}
	reported := spec.Price.Cost(a.Tokens)
	failure, failed := inference.AsFailure(err)
	switch {
	case failed && !failure.Billed:
		b.State, b.Amount, b.Finish = Refused, 0, string(failure.Kind)
	case failed:
		b.State, b.Amount, b.Finish = Lost, max(hold.Amount, reported), string(failure.Kind)
	case err != nil:
		b.State, b.Amount = Partial, max(hold.Amount, reported)
	case a.UsageFrom != inference.ByProvider || !plausible(spec, r, a):
		b.State, b.Amount = Partial, max(hold.Amount, reported)
	default:
		b.Amount = reported
	}
	return b
}

// plausible rejects a usage that is certainly too low: fewer tokens than pieces received, or more than six bytes of
// prompt per token, which no tokenizer reaches on the text of a prompt.
func plausible(spec inference.Spec, r inference.Request, a inference.Answer) bool {
	bytes := 0
	for _, m := range r.MessagesFor(spec.JSON) {
		bytes += len(m.Content)
	}
	return a.Tokens.Out >= int64(a.Visible) && a.Tokens.In*6 >= int64(bytes)
}
