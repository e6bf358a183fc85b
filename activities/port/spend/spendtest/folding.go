package spendtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// FoldingLedger is a ledger that sums up attempts of the past.
type FoldingLedger interface {
	spend.Ledger
	spend.Folder
}

// RunFolding tests a ledger against the contract of spend.Folder.
func RunFolding(t *testing.T, open func(t *testing.T) FoldingLedger) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, FoldingLedger)
	}{
		{"FoldedAttemptsCountAsBefore", foldedCount},
		{"WhatHasNotEndedIsNotFolded", openIsNotFolded},
		{"AStepIsFoldedAsAWhole", stepsAreWhole},
		{"AttemptsThatChangedAreNotFolded", changedIsNotFolded},
		{"FoldingTwiceChangesNothing", foldedOnce},
		{"AttemptsAreListedPageByPage", attemptsArePaged},
		{"WhatStaysIsFoundAtOnce", staysIsFound},
		{"AFoldedStepCanBeBoughtAgain", foldedIsBoughtAgain},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t))
		})
	}
}

// fold folds everything that the ledger lists.
func fold(t *testing.T, l FoldingLedger) (folded int) {
	t.Helper()
	n, err := l.Fold(t.Context(), attempts(t, l, 1000))
	require.NoError(t, err)
	return n
}

// attempts lists all single attempts, by pages.
func attempts(t *testing.T, l FoldingLedger, page int) (all []spend.Row) {
	t.Helper()
	for after := int64(0); ; {
		rows, next, err := l.Attempts(t.Context(), after, page)
		require.NoError(t, err)
		require.LessOrEqual(t, len(rows), page)
		all = append(all, rows...)
		if next == 0 {
			return all
		}
		require.Greater(t, next, after)
		after = next
	}
}

// total is what a report of some rows says.
type total struct {
	Calls                      int
	Reserved, Counted, Unknown budget.Micros
	Tokens                     budget.Tokens
}

func totals(rows []spend.Row) (sum total) {
	for _, r := range rows {
		sum.Calls += r.Calls()
		sum.Reserved += r.Reserved
		sum.Counted += r.Counted
		if r.State == spend.Lost {
			sum.Unknown += r.Counted
		}
		sum.Tokens.In += r.Tokens.In
		sum.Tokens.Cached += r.Tokens.Cached
		sum.Tokens.Out += r.Tokens.Out
		sum.Tokens.Reasoning += r.Tokens.Reasoning
	}
	return sum
}

// fill spends for two agents on two days, in dreams and outside of them.
func fill(t *testing.T, l spend.Ledger) {
	t.Helper()
	states := []spend.State{spend.Settled, spend.Partial, spend.Refused, spend.Lost}
	for n := range 48 {
		a := ask(fmt.Sprint("step ", n), 9, "fleet", "key", "fleet")
		a.Accounts[0].Limit, a.Accounts[1].Limit, a.Accounts[2].Limit = 10_000, 10_000, 10_000
		a.Agent, a.Day = []string{"echo", "vega"}[n%2], []string{"2026-03-01", "2026-03-02"}[n/2%2]
		a.Dream, a.Phase = []string{"", "dream/a/0001", "dream/b:0002"}[n%3], []string{"talk", "onset", "rem"}[n%3]
		if n%5 == 0 {
			a.Accounts = append(a.Accounts, budget.Account{Scope: "principal", Limit: 10_000})
		}
		h := reserve(t, l, a)
		settle(t, l, h, spend.Bill{
			State: states[n%4], Amount: budget.Micros(n), Answer: []byte("answer"), Finish: "stop",
			Tokens: budget.Tokens{In: int64(n), Cached: 1, Out: 2, Reasoning: 3},
		})
	}
}

var questions = []spend.Query{
	{},
	{Agent: "echo"},
	{Day: "2026-03-02"},
	{Agent: "vega", Day: "2026-03-01"},
	{Dream: "dream/a/0001"},
	{Dream: "dream/b:0002", Phase: "rem", Agent: "vega"},
	{Model: "m", Phase: "talk"},
	{Model: "another"},
	{States: []spend.State{spend.Lost}},
	{Agent: "echo", Day: "2026-03-01", States: []spend.State{spend.Settled, spend.Refused}},
	{Agent: "nobody"},
}

func foldedCount(t *testing.T, l FoldingLedger) {
	fill(t, l)
	scopes := []string{"fleet", "key", "principal"}
	var before []total
	balances := map[string]spend.Balance{}
	for _, q := range questions {
		before = append(before, totals(rows(t, l, q)))
	}
	for _, scope := range scopes {
		balances[scope] = balance(t, l, scope)
	}
	require.Equal(t, 48, fold(t, l))
	require.Empty(t, attempts(t, l, 10))
	for i, q := range questions {
		require.Equal(t, before[i], totals(rows(t, l, q)), "%+v", q)
	}
	for scope, b := range balances {
		require.Equal(t, b, balance(t, l, scope))
	}
	all := rows(t, l, spend.Query{})
	require.Less(t, len(all), 48)
	require.Len(t, rows(t, l, spend.Query{Limit: 3}), 3)
	sum := rows(t, l, spend.Query{Agent: "echo", Dream: "", Phase: "talk", States: []spend.State{spend.Settled}})[0]
	require.Equal(t, "", sum.Step)
	require.Positive(t, sum.Folded)
	require.Equal(t, []budget.Account{{Scope: "fleet"}, {Scope: "key"}}, sum.Accounts[:2])
	_, found, err := l.Answer(t.Context(), "step 0")
	require.NoError(t, err)
	require.False(t, found, "answers go with their attempts")

	fill(t, l) // the same steps again: they are added to the sums
	later := rows(t, l, spend.Query{})
	require.Equal(t, 2*before[0].Counted, totals(later).Counted)
	require.Zero(t, later[len(later)-1].Folded, "sums come first")
	require.Equal(t, 48, fold(t, l))
	require.Equal(t, len(all), len(rows(t, l, spend.Query{})))
	require.Equal(t, 2*before[0].Calls, totals(rows(t, l, spend.Query{})).Calls)
	over := ask("one more", 1, "fleet")
	over.Accounts[0].Limit = balance(t, l, "fleet").Spent
	refused(t, l, over)
}

func openIsNotFolded(t *testing.T, l FoldingLedger) {
	reserve(t, l, ask("open", 5, "day"))
	settle(t, l, reserve(t, l, ask("ended", 5, "day")), spend.Bill{State: spend.Settled, Amount: 2})
	require.Equal(t, 1, fold(t, l))
	require.Equal(t, spend.Balance{Reserved: 5, Spent: 2}, balance(t, l, "day"))
	left := attempts(t, l, 10)
	require.Len(t, left, 1)
	require.Equal(t, "open", left[0].Step)
	dreams, err := l.OpenDreams(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"d1"}, dreams)
	n, _, err := l.Close(t.Context(), "d1", noon)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 1, fold(t, l))
	require.Equal(t, total{Calls: 2, Reserved: 10, Counted: 7, Unknown: 5}, totals(rows(t, l, spend.Query{Dream: "d1"})))
}

func stepsAreWhole(t *testing.T, l FoldingLedger) {
	first, second := reserve(t, l, ask("s", 5, "day")), reserve(t, l, ask("s", 5, "day"))
	settle(t, l, first, spend.Bill{State: spend.Refused})
	require.Zero(t, fold(t, l), "the second attempt is open")
	settle(t, l, second, spend.Bill{State: spend.Settled, Amount: 1, Answer: []byte("answer")})
	all := attempts(t, l, 10)
	for _, row := range all {
		n, err := l.Fold(t.Context(), []spend.Row{row})
		require.NoError(t, err)
		require.Zero(t, n, "only one of two is given")
	}
	require.Equal(t, 2, fold(t, l))
}

func changedIsNotFolded(t *testing.T, l FoldingLedger) {
	h := reserve(t, l, ask("s", 5, "day"))
	settle(t, l, h, spend.Bill{State: spend.Lost, Amount: 5})
	read := attempts(t, l, 10)
	settle(t, l, h, spend.Bill{State: spend.Settled, Amount: 3})
	n, err := l.Fold(t.Context(), read)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, spend.Balance{Spent: 3}, balance(t, l, "day"))
	require.Equal(t, 1, fold(t, l))
	require.Equal(t, total{Calls: 1, Reserved: 5, Counted: 3}, totals(rows(t, l, spend.Query{})))
}

func foldedOnce(t *testing.T, l FoldingLedger) {
	fill(t, l)
	read := attempts(t, l, 10)
	for _, want := range []int{48, 0} {
		n, err := l.Fold(t.Context(), read)
		require.NoError(t, err)
		require.Equal(t, want, n)
		require.Equal(t, 48, totals(rows(t, l, spend.Query{})).Calls)
	}
	n, err := l.Fold(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = l.Fold(t.Context(), rows(t, l, spend.Query{})) // sums are folded already
	require.NoError(t, err)
	require.Zero(t, n)
}

// staysIsFound checks that a row that cannot be folded, such as one of a dream that waits for months, does not make every
// later listing pass over all that were folded since.
func staysIsFound(t *testing.T, l FoldingLedger) {
	open := reserve(t, l, ask("open", 5, "day"))
	for round := range 3 {
		for n := range 20 {
			h := reserve(t, l, ask(fmt.Sprint("step ", round, n), 5, "day"))
			settle(t, l, h, spend.Bill{State: spend.Settled, Amount: 1})
		}
		require.Equal(t, 20, fold(t, l))
		left, next, err := l.Attempts(t.Context(), 0, 9)
		require.NoError(t, err)
		require.Zero(t, next, "one page shows all")
		require.Len(t, left, 1)
		require.Equal(t, "open", left[0].Step)
	}
	settle(t, l, open, spend.Bill{State: spend.Settled, Amount: 1})
	require.Equal(t, 1, fold(t, l))
	require.Empty(t, attempts(t, l, 9))
	require.Equal(t, 61, totals(rows(t, l, spend.Query{})).Calls)
}

func attemptsArePaged(t *testing.T, l FoldingLedger) {
	require.Empty(t, attempts(t, l, 5))
	fill(t, l)
	all := attempts(t, l, 100)
	require.Len(t, all, 48)
	require.Equal(t, all, rows(t, l, spend.Query{}))
	require.Equal(t, all, attempts(t, l, 7))
	require.Equal(t, all, attempts(t, l, 16))
	some := append(append([]spend.Row{}, all[:5]...), all[20:30]...)
	n, err := l.Fold(t.Context(), some)
	require.NoError(t, err)
	require.Equal(t, len(some), n)
	require.Equal(t, append(append([]spend.Row{}, all[5:20]...), all[30:]...), attempts(t, l, 4))
}

func foldedIsBoughtAgain(t *testing.T, l FoldingLedger) {
	for range 2 {
		h := reserve(t, l, ask("s", 5, "day"))
		require.Equal(t, 1, h.Attempt)
		settle(t, l, h, spend.Bill{State: spend.Settled, Amount: 1, Answer: []byte("answer")})
		require.NoError(t, l.Forget(t.Context(), "d1"))
		require.Equal(t, 1, fold(t, l))
	}
	awake := ask("call/1", 5, "day")
	awake.Dream = ""
	settle(t, l, reserve(t, l, awake), spend.Bill{State: spend.Settled, Amount: 1, Answer: []byte("answer")})
	require.Equal(t, 1, fold(t, l))
	settle(t, l, reserve(t, l, awake), spend.Bill{State: spend.Settled, Amount: 1, At: noon.Add(time.Hour)})
	require.Equal(t, spend.Balance{Spent: 4}, balance(t, l, "day"))
}

// ManyBalances is a ledger that returns many balances at once.
type ManyBalances interface {
	spend.Ledger
	spend.Balances
}

// RunBalances tests a ledger against the contract of spend.Balances.
func RunBalances(t *testing.T, l ManyBalances) {
	t.Helper()
	var scopes []string
	for i := range 20 {
		scope := fmt.Sprint("day:agent ", i, "/2026-03-01")
		scopes = append(scopes, scope, "unknown:"+scope)
		h, err := l.Reserve(t.Context(), spend.Ask{
			Step:     fmt.Sprint("step ", i),
			Agent:    "agent",
			Day:      "2026-03-01",
			Amount:   budget.Micros(100 + i),
			Accounts: []budget.Account{{Scope: scope, Limit: budget.Unlimited}},
			At:       time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC),
		})
		require.NoError(t, err)
		if i%2 == 0 {
			ended := time.Date(2026, 3, 1, 7, 0, 0, 0, time.UTC)
			bill := spend.Bill{State: spend.Settled, Amount: budget.Micros(i), At: ended}
			require.NoError(t, l.Settle(t.Context(), h, bill))
		}
	}
	scopes = append(scopes, scopes[0])
	all, err := l.Balances(t.Context(), scopes)
	require.NoError(t, err)
	require.Len(t, all, len(scopes))
	for i, scope := range scopes {
		one, err := l.Balance(t.Context(), scope)
		require.NoError(t, err)
		require.Equal(t, one, all[i], scope)
	}
	require.Positive(t, all[2].Reserved+all[4].Spent)
}
