package spendtest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// agreesWithModel plays random sequences of reservations, settlements and closings on the ledger and on a list that
// adds everything up on each read. Every sequence has its own scopes, dreams and steps in the one ledger.
func agreesWithModel(t *testing.T, l spend.Ledger) {
	var plays atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{ledger: l, play: plays.Add(1), answers: map[string]string{}}
		rt.Repeat(map[string]func(*rapid.T){
			"reserve": m.reserve,
			"settle":  m.settle,
			"close":   m.close,
			"forget":  m.forget,
			"":        m.check,
		})
	})
}

type entry struct {
	hold    spend.Hold
	dream   string
	scopes  []string
	state   spend.State
	counted budget.Micros
	mute    bool // forgotten before it ended
}

type model struct {
	ledger  spend.Ledger
	play    int64
	entries []entry
	answers map[string]string
}

func (m *model) name(kind string, i int) string { return fmt.Sprintf("play %d %s %d", m.play, kind, i) }

const modelScopes = 4

// limit of a scope: narrow, medium, wide and none.
func limit(i int) budget.Micros { return []budget.Micros{50, 200, 1000, budget.Unlimited}[i] }

func (m *model) sum(scope string) spend.Balance {
	var b spend.Balance
	for _, e := range m.entries {
		switch {
		case !slices.Contains(e.scopes, scope):
		case e.state == spend.Open:
			b.Reserved += e.counted
		default:
			b.Spent += e.counted
		}
	}
	return b
}

func (m *model) reserve(t *rapid.T) {
	a := spend.Ask{
		Step:   m.name("step", rapid.IntRange(0, 4).Draw(t, "step")),
		Dream:  m.name("dream", rapid.IntRange(0, 2).Draw(t, "dream")),
		Amount: budget.Micros(rapid.IntRange(0, 60).Draw(t, "amount")), At: noon,
	}
	e := entry{dream: a.Dream, state: spend.Open, counted: a.Amount}
	var over *spend.OverCap
	for _, i := range rapid.SliceOfDistinct(rapid.IntRange(0, modelScopes-1), func(i int) int { return i }).Draw(t,
		"scopes") {
		scope := m.name("scope", i)
		b := m.sum(scope)
		a.Accounts, e.scopes = append(a.Accounts, budget.Account{Scope: scope, Limit: limit(i)}),
			append(e.scopes, scope)
		if over == nil && b.Reserved+b.Spent+a.Amount > limit(i) && limit(i) != budget.Unlimited {
			over = &spend.OverCap{Scope: scope, Limit: limit(i), Counted: b.Reserved + b.Spent, Asks: a.Amount}
		}
	}
	h, err := m.ledger.Reserve(t.Context(), a)
	if _, answered := m.answers[a.Step]; answered {
		require.ErrorIs(t, err, spend.ErrAnswered)
		return
	}
	if over != nil {
		got, ok := spend.AsOverCap(err)
		require.True(t, ok, "%v", err)
		require.Equal(t, over, got)
		return
	}
	require.NoError(t, err)
	attempt := 1
	for _, old := range m.entries {
		if old.hold.Step == a.Step {
			attempt++
		}
	}
	require.Equal(t, spend.Hold{Step: a.Step, Attempt: attempt, Amount: a.Amount}, h)
	e.hold = h
	m.entries = append(m.entries, e)
}

func (m *model) settle(t *rapid.T) {
	if len(m.entries) == 0 {
		t.Skip("nothing to settle")
	}
	e := &m.entries[rapid.IntRange(0, len(m.entries)-1).Draw(t, "entry")]
	b := spend.Bill{
		State: rapid.SampledFrom([]spend.State{spend.Settled, spend.Partial, spend.Lost, spend.Refused}).Draw(t,
			"state"),
		Amount: budget.Micros(rapid.IntRange(0, 90).Draw(t, "amount")), At: noon,
	}
	if rapid.Bool().Draw(t, "answers") {
		b.Answer = fmt.Appendf(nil, "answer %d", len(m.answers))
	}
	require.NoError(t, m.ledger.Settle(t.Context(), e.hold, b))
	if e.state != spend.Open && e.state != spend.Lost {
		return
	}
	e.state = b.State
	switch b.State {
	case spend.Settled:
		e.counted = b.Amount
	case spend.Partial, spend.Lost:
		e.counted = max(b.Amount, e.hold.Amount)
	case spend.Refused:
		e.counted = 0
	case spend.Open:
	}
	if _, answered := m.answers[e.hold.Step]; !answered && b.Answer != nil && !e.mute {
		m.answers[e.hold.Step] = string(b.Answer)
	}
}

func (m *model) close(t *rapid.T) {
	dream := m.name("dream", rapid.IntRange(0, 2).Draw(t, "dream"))
	n, sum := 0, budget.Micros(0)
	for i, e := range m.entries {
		if e.dream == dream && e.state == spend.Open {
			m.entries[i].state = spend.Lost
			n, sum = n+1, sum+e.counted
		}
	}
	gotN, gotSum, err := m.ledger.Close(t.Context(), dream, noon)
	require.NoError(t, err)
	require.Equal(t, n, gotN)
	require.Equal(t, sum, gotSum)
}

func (m *model) forget(t *rapid.T) {
	dream := m.name("dream", rapid.IntRange(0, 2).Draw(t, "dream"))
	require.NoError(t, m.ledger.Forget(t.Context(), dream))
	for i, e := range m.entries {
		if e.dream == dream {
			delete(m.answers, e.hold.Step)
			m.entries[i].mute = true
		}
	}
}

func (m *model) check(t *rapid.T) {
	for i := range modelScopes {
		scope := m.name("scope", i)
		b, err := m.ledger.Balance(t.Context(), scope)
		require.NoError(t, err)
		require.Equal(t, m.sum(scope), b, scope)
	}
	for i := range 3 {
		m.checkRows(t, m.name("dream", i))
	}
	for i := range 5 {
		step := m.name("step", i)
		answer, found, err := m.ledger.Answer(t.Context(), step)
		require.NoError(t, err)
		want, answered := m.answers[step]
		require.Equal(t, answered, found)
		require.Equal(t, want, string(answer))
	}
}

func (m *model) checkRows(t *rapid.T, dream string) {
	all, err := m.ledger.Rows(t.Context(), spend.Query{Dream: dream})
	require.NoError(t, err)
	var want, got []string
	open := false
	for _, e := range m.entries {
		if e.dream == dream {
			want = append(want, fmt.Sprintf("%s %d of %d %s", e.hold.Key(), e.counted, e.hold.Amount, e.state))
			open = open || e.state == spend.Open
		}
	}
	for _, r := range all {
		got = append(got,
			fmt.Sprintf("%s %d of %d %s", spend.Hold{Step: r.Step, Attempt: r.Attempt}.Key(), r.Counted, r.Reserved,
				r.State))
	}
	require.Equal(t, want, got)
	dreams, err := m.ledger.OpenDreams(t.Context())
	require.NoError(t, err)
	require.Equal(t, open, slices.Contains(dreams, dream))
}
