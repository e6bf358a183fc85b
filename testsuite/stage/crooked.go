package stage

import (
	"context"

	"github.com/seed-56a03226/oneiros/internal/spend"
)

// lavish is a ledger that checks no cap: the negative control that must turn the money proof red.
type lavish struct{ spend.Ledger }

func (l lavish) Reserve(ctx context.Context, a spend.Ask) (spend.Hold, error) {
	a.Accounts = nil
	return l.Ledger.Reserve(ctx, a)
}

// stingy is a ledger that books every settlement doubled: the other negative control.
type stingy struct{ spend.Ledger }

func (l stingy) Settle(ctx context.Context, h spend.Hold, b spend.Bill) error {
	b.Amount *= 2
	return l.Ledger.Settle(ctx, h, b)
}

// unforgetting is a ledger that keeps the answers of ended dreams: an audit compares them with what the till sold.
type unforgetting struct{ spend.Ledger }

func (unforgetting) Forget(context.Context, string) error { return nil }
