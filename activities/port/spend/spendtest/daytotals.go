package spendtest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// DayLedger is a ledger that keeps the totals of agents' days, and folds attempts.
type DayLedger interface {
	FoldingLedger
	spend.DayTotals
}

// RunDayTotals tests a ledger against the contract of spend.DayTotals: whatever is reserved, ended, ended again, closed,
// forgotten and folded at random, the totals are what the rows add up to.
func RunDayTotals(t *testing.T, l DayLedger) {
	t.Helper()
	dice := rand.New(rand.NewPCG(7, 11))
	states := []spend.State{spend.Settled, spend.Partial, spend.Refused, spend.Lost}
	var holds []spend.Hold
	DaysAddUp(t, l)
	for n := range 400 {
		switch dice.IntN(12) {
		case 0:
			_, _, err := l.Close(t.Context(), fmt.Sprint("dream/", dice.IntN(6)), noon)
			require.NoError(t, err)
		case 1:
			require.NoError(t, l.Forget(t.Context(), fmt.Sprint("dream/", dice.IntN(6))))
		case 2:
			all := attempts(t, l, 1000)
			some := all[:dice.IntN(len(all)+1)]
			_, err := l.Fold(t.Context(), some)
			require.NoError(t, err)
			holds = holds[:0] // a folded attempt cannot end again
			for _, r := range attempts(t, l, 1000) {
				holds = append(holds, spend.Hold{Step: r.Step, Attempt: r.Attempt, Amount: r.Reserved})
			}
		case 3, 4, 5, 6:
			if len(holds) == 0 {
				continue
			}
			settle(t, l, holds[dice.IntN(len(holds))], spend.Bill{
				State:  states[dice.IntN(len(states))],
				Amount: budget.Micros(dice.Int64N(1 << 50)),
				Tokens: budget.Tokens{In: dice.Int64N(1e9) - 10, Cached: dice.Int64N(5), Out: dice.Int64N(1 << 40)},
			})
		default:
			a := ask(fmt.Sprint("step ", n-dice.IntN(2)), budget.Micros(dice.Int64N(1<<50)), "all")
			a.Agent = []string{"echo", "ve:ga", "é"}[dice.IntN(3)]
			a.Day = fmt.Sprint("2026-03-0", 1+dice.IntN(3))
			a.Dream = []string{"", fmt.Sprint("dream/", dice.IntN(6))}[dice.IntN(2)]
			a.Accounts[0].Limit = budget.Unlimited
			h, err := l.Reserve(t.Context(), a)
			require.NoError(t, err)
			holds = append(holds, h)
		}
		if n%10 == 0 {
			DaysAddUp(t, l)
		}
	}
	require.NotEmpty(t, DaysAddUp(t, l))
}

// DaysAddUp checks that the totals of a ledger's days are what its rows add up to, and returns them.
func DaysAddUp(t *testing.T, l interface {
	spend.Ledger
	spend.DayTotals
},
) []spend.DayTotal {
	t.Helper()
	all, err := l.DayTotals(t.Context(), "", "")
	require.NoError(t, err)
	want := spend.TotalByDay(rows(t, l, spend.Query{}))
	require.Equal(t, append([]spend.DayTotal{}, want...), append([]spend.DayTotal{}, all...))
	for _, day := range all {
		for _, q := range []spend.Query{{Agent: day.Agent}, {Day: day.Day}, {Agent: day.Agent, Day: day.Day}} {
			some, err := l.DayTotals(t.Context(), q.Agent, q.Day)
			require.NoError(t, err)
			require.Equal(t, spend.TotalByDay(rows(t, l, q)), some, "%+v", q)
		}
	}
	return all
}
