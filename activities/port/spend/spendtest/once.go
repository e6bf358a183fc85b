package spendtest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// buyers is the number of goroutines of BuysOnce, and steps the number of steps that each of them buys.
const (
	buyers = 8
	steps  = 24
)

// BuysOnce lets goroutines buy the same steps through the given handles of one deployment, each until the step has an
// answer. Attempts may overlap and both be answered. It returns an error when an attempt was granted after an answer
// was stored.
func BuysOnce(ctx context.Context, handles ...spend.Ledger) error {
	faults := make([]error, buyers)
	var wg sync.WaitGroup
	for i := range faults {
		wg.Go(func() { faults[i] = buy(ctx, handles[i%len(handles)], i) })
	}
	wg.Wait()
	return errors.Join(append(faults, boughtAgain(ctx, handles[0]))...)
}

func buy(ctx context.Context, l spend.Ledger, buyer int) error {
	for n := range steps {
		name := fmt.Sprint("wanted ", n)
		h, err := l.Reserve(ctx, spend.Ask{
			Step:   name,
			Agent:  "echo",
			Dream:  "wanted",
			Amount: 1,
			At:     noon,
		})
		if errors.Is(err, spend.ErrAnswered) {
			if _, kept, err := l.Answer(ctx, name); err != nil || !kept {
				return fmt.Errorf("Reserve says that %s is answered, but no answer is stored (%w)", name, err)
			}
			continue
		}
		if err != nil {
			return err
		}
		if err := l.Settle(ctx, h,
			spend.Bill{State: spend.Settled, Amount: 1, Answer: fmt.Append(nil, buyer), At: noon}); err != nil {
			return err
		}
	}
	return nil
}

// boughtAgain finds attempts that were granted after an earlier attempt of their step had been answered.
func boughtAgain(ctx context.Context, l spend.Ledger) error {
	all, err := l.Rows(ctx, spend.Query{Dream: "wanted"})
	if err != nil {
		return err
	}
	var faults []error
	latest := map[string]int{}
	for _, row := range all {
		if row.State != spend.Settled || row.Latest < row.Attempt {
			faults = append(faults,
				fmt.Errorf("attempt %d of %s is %s, and the newest attempt at its end is said to be %d", row.Attempt,
					row.Step,
					row.State, row.Latest))
		}
		if first, seen := latest[row.Step]; !seen || row.Latest < first {
			latest[row.Step] = row.Latest
		}
	}
	for _, row := range all {
		if row.Attempt > latest[row.Step] {
			faults = append(faults,
				fmt.Errorf("%s was answered when attempt %d was its newest, and bought again in attempt %d", row.Step,
					latest[row.Step], row.Attempt))
		}
	}
	if len(latest) != steps {
		faults = append(faults, fmt.Errorf("%d steps were bought, of %d", len(latest), steps))
	}
	return errors.Join(faults...)
}

// Forgetful is a ledger that stores no answers: the negative control of BuysOnce.
func Forgetful(l spend.Ledger) spend.Ledger { return forgetful{l} }

type forgetful struct{ spend.Ledger }

func (f forgetful) Settle(ctx context.Context, h spend.Hold, b spend.Bill) error {
	b.Answer = nil
	return f.Ledger.Settle(ctx, h, b)
}
