// Package spendtest tests that a ledger keeps the contract of spend.Ledger. Every ledger runs this suite.
package spendtest

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// RunLedger tests a ledger against the whole contract. open returns a new, empty one for each test and closes it at its
// end.
func RunLedger(t *testing.T, open func(t *testing.T) spend.Ledger) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, spend.Ledger)
	}{
		{"AReservationFitsUnderEveryAccount", fitsUnderEvery},
		{"AttemptsOfAStepAreNumbered", attemptsAreNumbered},
		{"NoSumOverflows", noSumOverflows},
		{"InvalidRequestsAreRefused", invalidIsRefused},
		{"SettlingEndsAnAttemptOnce", settlesOnce},
		{"EachFinalStateCountsAsSpecified", endsCount},
		{"ALostAttemptMayStillBeSettled", lostMaySettle},
		{"TheFirstAnswerOfAStepStays", firstAnswerStays},
		{"AnAnsweredStepIsNotReservedAgain", answeredIsRefused},
		{
			"EightConcurrentBuyersBuyNoStepTwice",
			func(t *testing.T, l spend.Ledger) { require.NoError(t, BuysOnce(t.Context(), l)) },
		},
		{"ClosingADreamKeepsItsMoneyCounted", closingCounts},
		{"ForgettingADreamKeepsAmountsAndDeletesAnswers", forgettingKeepsMoney},
		{"RowsContainRequestAndResult", rowsComplete},
		{"AnAllowanceIsNotSpending", allowanceIsPlan},
		{"TheLedgerAgreesWithAPlainModel", agreesWithModel},
		{
			"ThirtyTwoConcurrentSpendersStayUnderTheCap",
			func(t *testing.T, l spend.Ledger) { require.NoError(t, CapHolds(t.Context(), l)) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t))
		})
	}
}

// ask is a request of one dream under the accounts named, each limited to 100.
func ask(step string, amount budget.Micros, scopes ...string) spend.Ask {
	a := spend.Ask{
		Step:   step,
		Agent:  "echo",
		Dream:  "d1",
		Phase:  "onset",
		Model:  "m",
		Day:    "2026-03-01",
		Amount: amount,
		At:     noon,
	}
	for _, scope := range scopes {
		a.Accounts = append(a.Accounts, budget.Account{Scope: scope, Limit: 100})
	}
	return a
}

func reserve(t *testing.T, l spend.Ledger, a spend.Ask) spend.Hold {
	t.Helper()
	h, err := l.Reserve(t.Context(), a)
	require.NoError(t, err)
	require.Equal(t, a.Step, h.Step)
	require.Equal(t, a.Amount, h.Amount)
	return h
}

func refused(t *testing.T, l spend.Ledger, a spend.Ask) spend.OverCap {
	t.Helper()
	_, err := l.Reserve(t.Context(), a)
	require.Error(t, err)
	over, ok := spend.AsOverCap(err)
	require.True(t, ok, err)
	return *over
}

func settle(t *testing.T, l spend.Ledger, h spend.Hold, b spend.Bill) {
	t.Helper()
	b.At = noon.Add(time.Minute)
	require.NoError(t, l.Settle(t.Context(), h, b))
}

func balance(t *testing.T, l spend.Ledger, scope string) spend.Balance {
	t.Helper()
	b, err := l.Balance(t.Context(), scope)
	require.NoError(t, err)
	return b
}

func rows(t *testing.T, l spend.Ledger, q spend.Query) []spend.Row {
	t.Helper()
	all, err := l.Rows(t.Context(), q)
	require.NoError(t, err)
	return all
}

func fitsUnderEvery(t *testing.T, l spend.Ledger) {
	reserve(t, l, ask("s1", 60, "dream", "day"))
	reserve(t, l, ask("s2", 40, "day", "month"))
	require.Equal(t, spend.OverCap{Scope: "day", Limit: 100, Counted: 100, Asks: 1},
		refused(t, l, ask("s3", 1, "dream", "day", "month")))
	require.Equal(t, spend.OverCap{Scope: "dream", Limit: 100, Counted: 60, Asks: 41},
		refused(t, l, ask("s3", 41, "dream", "day")))
	reserve(t, l, ask("free", 0, "day")) // an amount of zero fits under a full account
	require.Equal(t, spend.Balance{Reserved: 60}, balance(t, l, "dream"))
	require.Equal(t, spend.Balance{Reserved: 100}, balance(t, l, "day"))
	require.Equal(t, spend.Balance{Reserved: 40}, balance(t, l, "month"))
	require.Zero(t, balance(t, l, "nobody's"))
	require.Len(t, rows(t, l, spend.Query{}), 3)
	reserve(t, l, ask("named twice", 10, "other", "other"))
	require.Equal(t, spend.Balance{Reserved: 10}, balance(t, l, "other"))
}

func attemptsAreNumbered(t *testing.T, l spend.Ledger) {
	for want := range 3 {
		h := reserve(t, l, ask("s", 10, "dream"))
		require.Equal(t, want+1, h.Attempt)
		require.Equal(t, fmt.Sprint("s#", want+1), h.Key())
	}
	require.Equal(t, 1, reserve(t, l, ask("other", 10, "dream")).Attempt)
	refused(t, l, ask("s", 61, "dream"))
	require.Equal(t, 4, reserve(t, l, ask("s", 1, "dream")).Attempt)
	require.Equal(t, spend.Balance{Reserved: 41}, balance(t, l, "dream"))
}

func noSumOverflows(t *testing.T, l spend.Ledger) {
	endless := spend.Ask{
		Step: "s", Amount: math.MaxInt64 - 5,
		Accounts: []budget.Account{{Scope: "fleet", Limit: budget.Unlimited}},
	}
	h := reserve(t, l, endless)
	refused(t, l, ask("s2", math.MaxInt64, "dream"))
	refused(t, l, ask("s2", math.MaxInt64, "fleet"))
	endless.Step, endless.Amount = "s3", 6
	refused(t, l, endless) // more than an account can count
	endless.Amount = 5
	reserve(t, l, endless)
	settle(t, l, h, spend.Bill{State: spend.Settled, Amount: 7})
	require.Equal(t, spend.Balance{Reserved: 5, Spent: 7}, balance(t, l, "fleet"))
	endless.Step, endless.Amount = "s4", budget.Dollar
	reserve(t, l, endless)
}

func invalidIsRefused(t *testing.T, l spend.Ledger) {
	for _, a := range []spend.Ask{ask("", 1, "dream"), ask("s", -1, "dream"), ask("s", 1, "")} {
		_, err := l.Reserve(t.Context(), a)
		require.Error(t, err)
	}
	h := reserve(t, l, ask("s", 10, "dream"))
	for _, b := range []spend.Bill{
		{State: spend.Open, Amount: 1},
		{State: "paid", Amount: 1},
		{State: spend.Settled, Amount: -1},
	} {
		require.Error(t, l.Settle(t.Context(), h, b))
	}
	require.ErrorIs(t, l.Settle(t.Context(), spend.Hold{Step: "s", Attempt: 2}, spend.Bill{State: spend.Settled}),
		spend.ErrUnknownHold)
	require.Equal(t, spend.Balance{Reserved: 10}, balance(t, l, "dream"))
}

func settlesOnce(t *testing.T, l spend.Ledger) {
	h := reserve(t, l, ask("s", 50, "dream", "day"))
	settle(t, l, h, spend.Bill{State: spend.Settled, Amount: 30})
	for _, again := range []spend.State{spend.Settled, spend.Refused, spend.Lost, spend.Partial} {
		settle(t, l, h, spend.Bill{State: again, Amount: 99, Answer: []byte("late")})
	}
	require.Equal(t, spend.Balance{Spent: 30}, balance(t, l, "dream"))
	require.Equal(t, spend.Balance{Spent: 30}, balance(t, l, "day"))
	_, found, err := l.Answer(t.Context(), "s")
	require.NoError(t, err)
	require.False(t, found)
	reserve(t, l, ask("s2", 70, "dream"))
}

func endsCount(t *testing.T, l spend.Ledger) {
	for _, c := range []struct {
		state          spend.State
		billed, counts budget.Micros
	}{
		// more than reserved is counted, even beyond the cap
		{spend.Settled, 20, 20},
		{spend.Settled, 0, 0},
		{spend.Settled, 130, 130},
		{spend.Partial, 50, 50},
		{spend.Partial, 60, 60},
		{spend.Lost, 50, 50},
		{spend.Refused, 0, 0},
		{spend.Refused, 50, 0},
	} {
		scope := fmt.Sprintf("%s %d", c.state, c.billed)
		settle(t, l, reserve(t, l, ask(scope, 50, scope)), spend.Bill{State: c.state, Amount: c.billed})
		require.Equal(t, spend.Balance{Spent: c.counts}, balance(t, l, scope), scope)
	}
	require.Equal(t, budget.Micros(130), refused(t, l, ask("after", 0, "settled 130")).Counted)
}

func lostMaySettle(t *testing.T, l spend.Ledger) {
	h := reserve(t, l, ask("s", 50, "dream"))
	settle(t, l, h, spend.Bill{State: spend.Lost, Amount: 50})
	settle(t, l, h, spend.Bill{State: spend.Settled, Amount: 20, Answer: []byte("found")})
	settle(t, l, h, spend.Bill{State: spend.Settled, Amount: 1})
	require.Equal(t, spend.Balance{Spent: 20}, balance(t, l, "dream"))
	answer, found, err := l.Answer(t.Context(), "s")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, []byte("found"), answer)
}

func firstAnswerStays(t *testing.T, l spend.Ledger) {
	one, two := reserve(t, l, ask("s", 10, "dream")), reserve(t, l, ask("s", 10, "dream"))
	_, found, err := l.Answer(t.Context(), "s")
	require.NoError(t, err)
	require.False(t, found)
	settle(t, l, two, spend.Bill{State: spend.Settled, Amount: 1, Answer: []byte("two")})
	settle(t, l, one, spend.Bill{State: spend.Settled, Amount: 1, Answer: []byte("one")})
	answer, found, err := l.Answer(t.Context(), "s")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, []byte("two"), answer)
	settle(t, l, reserve(t, l, ask("silent", 1, "dream")), spend.Bill{State: spend.Settled, Answer: []byte{}})
	answer, found, err = l.Answer(t.Context(), "silent")
	require.NoError(t, err)
	require.True(t, found)
	require.Empty(t, answer)
}

func answeredIsRefused(t *testing.T, l spend.Ledger) {
	early, late := reserve(t, l, ask("s", 10, "dream")), reserve(t, l, ask("s", 10, "dream"))
	settle(t, l, early, spend.Bill{State: spend.Lost})
	settle(t, l, reserve(t, l, ask("s", 10, "dream")), spend.Bill{State: spend.Settled, Amount: 1, Answer: []byte{}})
	before := balance(t, l, "dream")
	for _, a := range []spend.Ask{ask("s", 10, "dream"), ask("s", 1000, "dream")} { // caps are not checked
		_, err := l.Reserve(t.Context(), a)
		require.ErrorIs(t, err, spend.ErrAnswered)
	}
	require.Equal(t, before, balance(t, l, "dream"))
	settle(t, l, early, spend.Bill{State: spend.Partial})
	settle(t, l, late, spend.Bill{State: spend.Settled, Amount: 2})
	require.NoError(t, l.Forget(t.Context(), "d1"))
	require.Equal(t, 4, reserve(t, l, ask("s", 10, "dream")).Attempt) // no answer is stored any more
	var latest []int
	for _, row := range rows(t, l, spend.Query{}) {
		latest = append(latest, row.Latest)
	}
	require.Equal(t, []int{3, 3, 3, 0}, latest)
}

func closingCounts(t *testing.T, l spend.Ledger) {
	settle(t, l, reserve(t, l, ask("s1", 20, "day")), spend.Bill{State: spend.Settled, Amount: 5})
	late := reserve(t, l, ask("s2", 30, "day"))
	reserve(t, l, ask("s3", 7, "day"))
	other := ask("s4", 10, "day")
	other.Dream = "d0"
	reserve(t, l, other)
	dreams, err := l.OpenDreams(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"d0", "d1"}, dreams)
	for _, want := range []struct {
		n   int
		sum budget.Micros
	}{{2, 37}, {0, 0}} {
		n, sum, err := l.Close(t.Context(), "d1", noon)
		require.NoError(t, err)
		require.Equal(t, want.n, n)
		require.Equal(t, want.sum, sum)
		require.Equal(t, spend.Balance{Reserved: 10, Spent: 42}, balance(t, l, "day"))
	}
	dreams, err = l.OpenDreams(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"d0"}, dreams)
	settle(t, l, late, spend.Bill{State: spend.Settled, Amount: 3})
	require.Equal(t, spend.Balance{Reserved: 10, Spent: 15}, balance(t, l, "day"))
}

func forgettingKeepsMoney(t *testing.T, l spend.Ledger) {
	answer := func(step string) bool {
		_, found, err := l.Answer(t.Context(), step)
		require.NoError(t, err)
		return found
	}
	end := func(h spend.Hold, state spend.State) {
		settle(t, l, h, spend.Bill{State: state, Amount: 5, Answer: []byte("answer of " + h.Step)})
	}
	end(reserve(t, l, ask("s1", 20, "day")), spend.Settled)
	other := ask("s2", 20, "day")
	other.Dream = "d2"
	end(reserve(t, l, other), spend.Settled)
	open, lost := reserve(t, l, ask("s3", 10, "day")), reserve(t, l, ask("s4", 10, "day"))
	settle(t, l, lost, spend.Bill{State: spend.Lost, Amount: 10})
	before := rows(t, l, spend.Query{})
	for range 2 {
		require.NoError(t, l.Forget(t.Context(), "d1"))
	}
	require.NoError(t, l.Forget(t.Context(), "never dreamt"))
	require.Error(t, l.Forget(t.Context(), ""))
	require.Equal(t, before, rows(t, l, spend.Query{}))
	require.False(t, answer("s1"))
	require.True(t, answer("s2"), "another dream's stays")
	end(open, spend.Settled) // they end after Forget
	end(lost, spend.Settled)
	require.False(t, answer("s3"))
	require.False(t, answer("s4"))
	require.Equal(t, spend.Balance{Spent: 20}, balance(t, l, "day"))
	end(reserve(t, l, ask("s1", 20, "day")), spend.Settled) // a new attempt stores a new answer
	require.True(t, answer("s1"))
}

func rowsComplete(t *testing.T, l spend.Ledger) {
	request := ask("s1", 20, "dream", "day")
	h := reserve(t, l, request)
	bill := spend.Bill{
		State: spend.Settled, Amount: 5,
		Tokens: budget.Tokens{In: 10, Cached: 2, Out: 3, Reasoning: 1}, Finish: "stop",
	}
	settle(t, l, h, bill)
	second := ask("s1", 9, "dream")
	second.Phase = "rem"
	second.Model = "other"
	second.Agent = "vega"
	second.Day = "2026-03-02"
	second.Dream = "d2"
	reserve(t, l, second)
	want := spend.Row{
		Ask:      request,
		Attempt:  1,
		Reserved: 20,
		Counted:  5,
		State:    spend.Settled,
		Tokens:   bill.Tokens,
		Finish:   "stop",
		Ended:    noon.Add(time.Minute),
		Latest:   1,
	}
	open := spend.Row{
		Ask:      second,
		Attempt:  2,
		Reserved: 9,
		Counted:  9,
		State:    spend.Open,
	}
	require.Equal(t, []spend.Row{want, open}, rows(t, l, spend.Query{}))
	require.Equal(t, []spend.Row{want}, rows(t, l, spend.Query{Limit: 1}))
	for _, q := range []spend.Query{
		{Agent: "vega"},
		{Dream: "d2"},
		{Phase: "rem"},
		{Model: "other"},
		{Day: "2026-03-02"},
		{States: []spend.State{spend.Open, spend.Lost}},
	} {
		require.Equal(t, []spend.Row{open}, rows(t, l, q), "%+v", q)
	}
	require.Empty(t, rows(t, l, spend.Query{Agent: "echo", Dream: "d2"}))
}

func allowanceIsPlan(t *testing.T, l spend.Ledger) {
	allow := func(dream string, amount budget.Micros) error {
		return l.Allow(t.Context(), "echo", "2026-03-01", dream, amount, 100)
	}
	taken := func(day string) budget.Micros {
		n, err := l.Allowance(t.Context(), "echo", day)
		require.NoError(t, err)
		return n
	}
	require.NoError(t, allow("d1", 60))
	require.NoError(t, allow("d1", 60)) // once per dream
	require.Equal(t, budget.Micros(60), taken("2026-03-01"))
	over, ok := spend.AsOverCap(allow("d2", 41))
	require.True(t, ok)
	require.Equal(t, budget.Micros(60), over.Counted)
	_, ok = spend.AsOverCap(allow("d2", math.MaxInt64))
	require.True(t, ok)
	require.NoError(t, allow("d2", 40))
	settle(t, l, reserve(t, l, ask("s", 50, "day")), spend.Bill{State: spend.Settled, Amount: 50})
	for range 2 {
		require.NoError(t, l.GiveBack(t.Context(), "d1"))
		require.NoError(t, l.GiveBack(t.Context(), "never allowed"))
		require.Equal(t, budget.Micros(40), taken("2026-03-01"))
	}
	require.Equal(t, spend.Balance{Spent: 50}, balance(t, l, "day")) // spending does not change
	require.Zero(t, taken("2026-03-02"))
	require.NoError(t, l.Allow(t.Context(), "vega", "2026-03-01", "d3", 100, 100))
	require.NoError(t, allow("d1", 60)) // it may be taken again
	require.Equal(t, budget.Micros(100), taken("2026-03-01"))
}
