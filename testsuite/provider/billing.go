package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// Call is one request as the billing saw it.
type Call struct {
	// from 1, in the order of arrival; the answer's id is "till-<number>"
	Number int    `json:"number"`
	Path   string `json:"path"`
	Key    string `json:"key,omitempty"` // the idempotency key
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
	Prompt int64  `json:"prompt"` // bytes of all messages or texts / 4, rounded up
	// tokens written and flushed before the caller hung up, reasoning included
	Completion int64         `json:"completion"`
	Cost       budget.Micros `json:"cost"`
	Status     int           `json:"status"` // 0 while no answer has begun
	Charged    bool          `json:"charged"`
	// served to its end; false for one that was cut or refused
	Completed   bool                       `json:"completed"`
	Open        bool                       `json:"open"` // still being served
	Fault       Fault                      `json:"fault,omitempty"`
	Temperature *float64                   `json:"temperature,omitempty"`
	Sampling    map[string]json.RawMessage `json:"sampling,omitempty"` // the sampler fields and limits that were sent
	Format      string                     `json:"format,omitempty"`   // the response_format's type
	Tools       bool                       `json:"tools"`
	Header      http.Header                `json:"-"` // of a provider with its own reading
	Arrived     time.Time                  `json:"arrived"`
	Ended       time.Time                  `json:"ended"`

	extra budget.Micros // charged beside tokens
}

// Book is the billing's state at one moment.
type Book struct {
	Total  budget.Micros `json:"total"`
	Failed []string      `json:"failed,omitempty"` // why the run counts as failed, whatever the callers made of it
	Calls  []Call        `json:"calls"`
}

// Billing counts what is served. It charges the prompt when an answer begins, and every token that was written.
type Billing struct {
	mu      sync.Mutex
	calls   []*Call
	prices  map[int]*budget.Price
	failed  []string
	changed chan struct{} // closed and replaced when a call ends
}

func newBilling() *Billing {
	return &Billing{prices: map[int]*budget.Price{}, changed: make(chan struct{})}
}

// Total is the sum of all costs.
func (t *Billing) Total() budget.Micros { return t.Book().Total }

// Streamed is how many tokens have been served, all calls together.
func (t *Billing) Streamed() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var sum int64
	for _, c := range t.calls {
		sum += c.Completion
	}
	return sum
}

// Calls are all calls so far, in order of arrival.
func (t *Billing) Calls() []Call { return t.Book().Calls }

// Failed says why the run has failed; empty when it has not.
func (t *Billing) Failed() []string { return t.Book().Failed }

// Book copies the state.
func (t *Billing) Book() Book {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := Book{Failed: slices.Clone(t.failed), Calls: make([]Call, 0, len(t.calls))}
	for _, c := range t.calls {
		b.Calls = append(b.Calls, *c)
		b.Total += c.Cost
	}
	return b
}

// Repeated lists idempotency keys that came more than once.
func (t *Billing) Repeated() []string {
	seen, out := map[string]int{}, []string(nil)
	for _, c := range t.Calls() {
		seen[c.Key]++
		if c.Key != "" && seen[c.Key] == 2 {
			out = append(out, c.Key)
		}
	}
	return out
}

// Quiet waits until no call is being served.
func (t *Billing) Quiet(ctx context.Context) error {
	for {
		t.mu.Lock()
		open, changed := 0, t.changed
		for _, c := range t.calls {
			if c.Open {
				open++
			}
		}
		t.mu.Unlock()
		if open == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d calls are still being served: %w", open, context.Cause(ctx))
		}
	}
}

func (t *Billing) fail(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = append(t.failed, why)
}

// arrive numbers a call.
func (t *Billing) arrive(c Call, price *budget.Price) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Number, c.Open, c.Arrived = len(t.calls)+1, true, time.Now()
	t.calls = append(t.calls, &c)
	t.prices[c.Number] = price
	return c.Number
}

// begin charges the prompt.
func (t *Billing) begin(number int) {
	t.change(number, func(c *Call) { c.Charged = true })
}

// serve charges tokens that were written.
func (t *Billing) serve(number int, tokens int64) {
	t.change(number, func(c *Call) { c.Completion += tokens })
}

func (t *Billing) status(number, status int) {
	t.change(number, func(c *Call) { c.Status = status })
}

// end closes a call's row.
func (t *Billing) end(number int, completed bool) {
	t.change(number, func(c *Call) { c.Open, c.Completed, c.Ended = false, completed, time.Now() })
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *Billing) change(number int, f func(*Call)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.calls[number-1]
	f(c)
	if p := t.prices[number]; c.Charged && p != nil {
		c.Cost = p.Cost(budget.Tokens{In: c.Prompt, Out: c.Completion}) + c.extra
	}
}
