package spend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Worst is the worst case of a relayed call. The code that edits the request body computes it.
type Worst struct {
	In, Out int64 // maximum tokens, of all choices, reasoning included
	Times   int64 // maximum price of a prompt token, in list prices; 0 means 1
	Text    int64 // bytes of the prompt that are certainly text: a usage below a sixth of it is not believed
}

// Relay sends a request body on under a reservation: the worst case is booked under every account before a byte is
// sent, and settled by the observed usage when the response has ended or was closed. Its Body must be closed. Models
// whose price is zero book nothing: a money cap does not apply to them, and a conversation need not wait for the
// ledger. Errors are those of Generate.
func (g *Guard) Relay(ctx context.Context, c Charge, via inference.Relay, r inference.RelayRequest,
	w Worst,
) (*inference.RelayResponse, error) {
	m, err := g.meter(ctx, c, r.Model, w)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return via.Relay(ctx, r)
	}
	r.Key = m.hold.Key()
	res, err := via.Relay(ctx, r)
	if err != nil {
		return nil, m.failed(r.Model, err)
	}
	m.ReadCloser, m.seen, m.status = res.Body, res.Seen, res.Status
	res.Body = m
	return res, nil
}

// meter books the worst case; it returns nil for a model that costs nothing.
func (g *Guard) meter(ctx context.Context, c Charge, model string, w Worst) (*metered, error) {
	spec, err := Priced(g.Catalog, model)
	if err != nil {
		return nil, err
	}
	if *spec.Price == (budget.Price{}) {
		return nil, nil
	}
	price := spec.Price.Dearer(w.Times)
	out := min(w.Out, math.MaxInt64-Overrun) + Overrun
	hold, err := g.book(ctx, c, model, price.Worst(w.In, out))
	if err != nil {
		return nil, err
	}
	return &metered{
		guard:     g,
		ctx:       ctx,
		charge:    c,
		price:     &price,
		list:      spec.Price,
		hold:      hold,
		worstCase: w,
	}, nil
}

// relayed decides what a relayed call counts for, as BillFor does for Generate. price is that of the reservation, and
// list the one for a provider that counts by itself what was written to a cache.
func relayed(price, list *budget.Price, hold Hold, status int, o inference.RelayObserved, w Worst) Bill {
	if o.CacheWrites {
		price = list
	}
	reported := price.Cost(o.Tokens)
	b := Bill{State: Partial, Amount: max(hold.Amount, reported), Tokens: o.Tokens, Finish: o.Finish}
	switch {
	case status >= 400 && status < 500:
		b.State, b.Finish = Refused, fmt.Sprintf("http_%d", status)
		b.Amount, b.Tokens = 0, budget.Tokens{}
	case status/100 != 2:
		b.State, b.Finish = Lost, fmt.Sprintf("http_%d", status)
	case o.Ended && o.UsageFrom == inference.ByProvider && o.Tokens.Out >= o.Pieces && o.Tokens.In*6 >= w.Text:
		b.State, b.Amount = Settled, reported
	}
	return b
}

// metered settles a call when its response body is closed.
type metered struct {
	io.ReadCloser
	guard     *Guard
	ctx       context.Context
	charge    Charge
	price     *budget.Price
	list      *budget.Price
	hold      Hold
	worstCase Worst
	seen      func() inference.RelayObserved
	status    int
	once      sync.Once
	booked    error
}

// failed settles a call that has no response, and returns the reason.
func (m *metered) failed(model string, why error) error {
	spec := inference.Spec{Name: model, Price: m.price}
	b := BillFor(spec, inference.Request{}, m.hold.Amount, inference.Answer{}, why)
	return errors.Join(why, m.guard.settle(m.ctx, m.charge, m.hold, b))
}

// Close ends the response and settles.
func (m *metered) Close() error {
	err := m.ReadCloser.Close()
	m.once.Do(func() {
		bill := relayed(m.price, m.list, m.hold, m.status, m.seen(), m.worstCase)
		m.booked = m.guard.settle(m.ctx, m.charge, m.hold, bill)
	})
	return errors.Join(err, m.booked)
}

// EmbedTransient buys vectors that will not be asked for again, such as those of a question: they are not stored. A
// model whose price is zero books nothing. Errors as for Generate.
func (g *Guard) EmbedTransient(ctx context.Context, c Charge, model string, texts []string) (inference.Vectors, error) {
	spec, err := Priced(g.Catalog, model)
	if err != nil {
		return inference.Vectors{}, err
	}
	if *spec.Price == (budget.Price{}) {
		return g.Model.Embed(ctx, model, clip(spec, texts), "")
	}
	return g.embed(ctx, c, model, texts, false)
}
