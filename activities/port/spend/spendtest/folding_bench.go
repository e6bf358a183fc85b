package spendtest

import (
	"fmt"
	"testing"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// BenchmarkFolding measures what a sweep does with 300 calls: it lists and folds them. One call is open since the first
// day, as those of a dream that waits are.
func BenchmarkFolding(b *testing.B, l FoldingLedger) {
	b.Helper()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	buy := func(step string) spend.Hold {
		h, err := l.Reserve(b.Context(), spend.Ask{
			Step:     step,
			Agent:    "echo",
			Phase:    "talk",
			Model:    "m",
			Day:      "2026-03-01",
			Amount:   5,
			At:       noon,
			Accounts: []budget.Account{{Scope: "day", Limit: budget.Unlimited}},
		})
		must(err)
		return h
	}
	buy("open")
	for round := 0; b.Loop(); round++ {
		b.StopTimer()
		for n := range 300 {
			h := buy(fmt.Sprint("step ", round, "/", n))
			must(l.Settle(b.Context(), h, spend.Bill{State: spend.Settled, Amount: 1, At: noon}))
		}
		b.StartTimer()
		folded := 0
		for after := int64(0); ; {
			rows, next, err := l.Attempts(b.Context(), after, 300)
			must(err)
			n, err := l.Fold(b.Context(), rows)
			must(err)
			folded += n
			if next == 0 {
				break
			}
			after = next
		}
		if folded != 300 {
			b.Fatalf("%d of 300 were folded", folded)
		}
	}
}
