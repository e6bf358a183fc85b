package testdeploy

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// noCapLedger checks no cap. It is the negative control that must turn the money proof red.
type noCapLedger struct{ spend.Ledger }

func (l noCapLedger) Reserve(ctx context.Context, a spend.Ask) (spend.Hold, error) {
	a.Accounts = nil
	return l.Ledger.Reserve(ctx, a)
}

// doublingLedger books every settlement twice over. It is the other negative control.
type doublingLedger struct{ spend.Ledger }

func (l doublingLedger) Settle(ctx context.Context, h spend.Hold, b spend.Bill) error {
	b.Amount *= 2
	return l.Ledger.Settle(ctx, h, b)
}

// answerKeepingLedger keeps the answers of ended dreams: an audit compares them with what the provider sold.
type answerKeepingLedger struct{ spend.Ledger }

func (answerKeepingLedger) Forget(context.Context, string) error { return nil }
