package stage

import (
	"context"

	"github.com/seed-56a03226/oneiros/internal/purse"
)

// lavish is a ledger that checks no cap: the negative control that must turn the money proof red.
type lavish struct{ purse.Ledger }

func (l lavish) Reserve(ctx context.Context, a purse.Ask) (purse.Hold, error) {
	a.Accounts = nil
	return l.Ledger.Reserve(ctx, a)
}

// stingy is a ledger that books every settlement doubled: the other negative control.
type stingy struct{ purse.Ledger }

func (l stingy) Settle(ctx context.Context, h purse.Hold, b purse.Bill) error {
	b.Amount *= 2
	return l.Ledger.Settle(ctx, h, b)
}

// unforgetting is a ledger that keeps the answers of ended dreams: an audit compares them with what the till sold.
type unforgetting struct{ purse.Ledger }

func (unforgetting) Forget(context.Context, string) error { return nil }
