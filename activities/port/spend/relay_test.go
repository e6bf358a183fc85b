package spend_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// counter is a provider that counts its requests and always gives the same response.
type counter struct {
	calls  atomic.Int64
	status int
	seen   inference.RelayObserved
	err    error
	mu     sync.Mutex
	keys   map[string]int
	closed atomic.Int64
}

func (c *counter) Relay(_ context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	c.calls.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil {
		c.keys = map[string]int{}
	}
	c.keys[r.Key]++
	if c.err != nil {
		return nil, c.err
	}
	return &inference.RelayResponse{
		Status: c.status, Body: shutting{strings.NewReader("answer"), &c.closed},
		Seen: func() inference.RelayObserved { return c.seen },
	}, nil
}

type shutting struct {
	io.Reader
	closed *atomic.Int64
}

func (s shutting) Close() error { s.closed.Add(1); return nil }

var passing = inference.RelayRequest{Method: "POST", Path: "/chat/completions", Model: "p/model"}

func talking(step string) spend.Charge {
	c := charge(100_000)
	c.Step, c.Dream, c.Phase = step, "", "talk"
	return c
}

func relayed(t *testing.T, r biller, via inference.Relay, step string, w spend.Worst) error {
	t.Helper()
	res, err := r.Relay(t.Context(), talking(step), via, passing, w)
	if err != nil {
		return err
	}
	_, err = io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.Body.Close()
}

func TestARelayedCallIsReservedBeforeAByteIsSentAndSettledByWhatWasSeen(t *testing.T) {
	t.Parallel()
	const in, out = 100, 50
	full := budget.Micros(in + 2*(out+spend.Overrun))
	seen := func(ended bool, from inference.UsageFrom, tokens budget.Tokens, pieces int64) inference.RelayObserved {
		return inference.RelayObserved{
			Ended:     ended,
			UsageFrom: from,
			Tokens:    tokens,
			Pieces:    pieces,
			Finish:    "stop",
		}
	}
	few := budget.Tokens{In: 40, Out: 10}
	for _, c := range []struct {
		name   string
		status int
		seen   inference.RelayObserved
		state  spend.State
		counts budget.Micros
	}{
		{"the provider's usage", 200, seen(true, inference.ByProvider, few, 10), spend.Settled, 60},
		{"no usage", 200, seen(true, inference.ByCount, few, 10), spend.Partial, full},
		{"a cut stream", 200, seen(false, inference.ByCount, few, 10), spend.Partial, full},
		{
			"usage of an answer that was not read to its end", 200, seen(false, inference.ByProvider, few, 10),
			spend.Partial, full,
		},
		{"fewer tokens than pieces", 200, seen(true, inference.ByProvider, few, 11), spend.Partial, full},
		{
			"fewer tokens than a prompt of this length can have", 200,
			seen(true, inference.ByProvider, budget.Tokens{In: 15, Out: 10}, 10), spend.Partial, full,
		},
		{"a refusal", 400, seen(true, inference.ByCount, few, 0), spend.Refused, 0},
		{"too many requests", 429, seen(true, inference.ByCount, few, 0), spend.Refused, 0},
		{"a failure of the provider", 500, seen(true, inference.ByCount, few, 0), spend.Lost, full},
		{
			"more than was reserved", 200, seen(true, inference.ByProvider, budget.Tokens{In: 1000, Out: 1000}, 10),
			spend.Settled, 3000,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := open(t)
			via := &counter{status: c.status, seen: c.seen}
			charge := talking("talk/1")
			res, err := r.Relay(t.Context(), charge, via, passing, spend.Worst{In: in, Out: out, Text: 100})
			require.NoError(t, err)
			b, err := r.ledger.Balance(t.Context(), charge.Accounts[0].Scope)
			require.NoError(t, err)
			require.Equal(t, full, b.Reserved)
			require.NoError(t, res.Body.Close())
			require.NoError(t, res.Body.Close(), "a second Close changes nothing")
			rows, err := r.ledger.Rows(t.Context(), spend.Query{})
			require.NoError(t, err)
			require.Len(t, rows, 1)
			require.Equal(t, c.state, rows[0].State)
			require.Equal(t, c.counts, rows[0].Counted)
			b, err = r.ledger.Balance(t.Context(), charge.Accounts[0].Scope)
			require.NoError(t, err)
			require.Zero(t, b.Reserved)
			require.Equal(t, c.counts, b.Spent)
		})
	}
}

func TestAFailedRelayIsSettledImmediately(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err   error
		state spend.State
	}{
		{&inference.Failure{Kind: inference.Unavailable}, spend.Refused},
		{&inference.Failure{Kind: inference.Broken, Billed: true}, spend.Lost},
		{fmt.Errorf("cut: %w", context.Canceled), spend.Partial},
	} {
		r := open(t)
		err := relayed(t, r, &counter{err: c.err}, "talk/1", spend.Worst{In: 1, Out: 1})
		require.ErrorIs(t, err, c.err)
		rows, err := r.ledger.Rows(t.Context(), spend.Query{})
		require.NoError(t, err)
		require.Equal(t, c.state, rows[0].State)
	}
}

func TestARelayIsRefusedWithoutAPriceAndOverACap(t *testing.T) {
	t.Parallel()
	r := open(t)
	via := &counter{status: 200}
	unpriced := passing
	unpriced.Model = "p/unpriced"
	_, err := r.Relay(t.Context(), talking("talk/1"), via, unpriced, spend.Worst{})
	f, ok := inference.AsFailure(err)
	require.True(t, ok)
	require.Equal(t, inference.Unpriced, f.Kind)
	_, err = r.Relay(t.Context(), talking("talk/2"), via, passing, spend.Worst{In: 1 << 40})
	_, ok = spend.AsOverCap(err)
	require.True(t, ok)
	require.Zero(t, via.calls.Load(), "no request was sent")
}

func TestARelayWithoutUsageCountsInFull(t *testing.T) {
	t.Parallel()
	for _, w := range []spend.Worst{
		{Out: math.MaxInt64},
		{In: math.MaxInt64},
		{In: math.MaxInt64, Times: math.MaxInt64, Out: math.MaxInt64 - 1},
	} {
		r := open(t)
		via := &counter{status: 200}
		_, err := r.Relay(t.Context(), talking("talk/1"), via, passing, w)
		over, ok := spend.AsOverCap(err)
		require.True(t, ok)
		require.Greater(t, over.Asks, budget.Micros(math.MaxInt64/10_000_000))
		require.Zero(t, via.calls.Load())
	}
}

func TestACachedPromptIsReservedAndSettledAtItsOwnPrice(t *testing.T) {
	t.Parallel()
	r := open(t)
	via := &counter{
		status: 200,
		seen: inference.RelayObserved{
			Ended: true, UsageFrom: inference.ByProvider,
			Tokens: budget.Tokens{In: 60, Out: 20},
		},
	}
	require.NoError(t, relayed(t, r, via, "talk/1", spend.Worst{In: 100, Out: 50, Times: 2}))
	rows, err := r.ledger.Rows(t.Context(), spend.Query{})
	require.NoError(t, err)
	require.Equal(t, budget.Micros(2*100+2*(50+spend.Overrun)), rows[0].Reserved)
	require.Equal(t, budget.Micros(2*60+2*20), rows[0].Counted)

	via.seen.CacheWrites, via.seen.Tokens.Surcharge = true, 5
	require.NoError(t, relayed(t, r, via, "talk/2", spend.Worst{In: 100, Out: 50, Times: 2}))
	rows, err = r.ledger.Rows(t.Context(), spend.Query{})
	require.NoError(t, err)
	require.Len(t, rows, 2)
	at := slices.IndexFunc(rows, func(row spend.Row) bool { return row.Step == "talk/2" })
	require.Equal(t, budget.Micros(2*100+2*(50+spend.Overrun)), rows[at].Reserved)
	require.Equal(t, budget.Micros(60+5+2*20), rows[at].Counted, "a provider that counts what it wrote is believed")
}

func TestAModelThatCostsNothingBooksNothing(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.Catalog = inference.Table{"p/model": {Name: "p/model", Provider: "p", Price: &budget.Price{}}}
	charge := talking("talk/1")
	charge.Accounts = []budget.Account{{Scope: "day", Limit: 0}}
	via := &counter{status: 200}
	res, err := r.Relay(t.Context(), charge, via, passing, spend.Worst{In: 1 << 40})
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	rows, err := r.ledger.Rows(t.Context(), spend.Query{})
	require.NoError(t, err)
	require.Empty(t, rows)
}

// The cap fits ten worst cases; thirty-two calls come at once, repeatedly.
func TestTheCapHoldsUnderThirtyTwoConcurrentRelays(t *testing.T) {
	t.Parallel()
	r := open(t)
	worst := spend.Worst{In: 100, Out: 100}
	one := price.Worst(worst.In, worst.Out+spend.Overrun)
	via := &counter{
		status: 200,
		seen: inference.RelayObserved{
			Ended: true, UsageFrom: inference.ByProvider,
			Tokens: budget.Tokens{In: 60, Out: 20},
		},
	}
	account := budget.Account{Scope: "day:x", Limit: 10 * one}
	var wg sync.WaitGroup
	var passed, refused atomic.Int64
	for w := range 32 {
		wg.Go(func() {
			for i := range 20 {
				charge := spend.Charge{
					Step: fmt.Sprintf("talk/%d/%d", w, i), Agent: "a", Day: "2026-11-20",
					Accounts: []budget.Account{account},
				}
				res, err := r.Relay(context.Background(), charge, via, passing, worst)
				var over *spend.OverCap
				if errors.As(err, &over) {
					refused.Add(1)
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				b, err := r.ledger.Balance(context.Background(), account.Scope)
				if err != nil || b.Reserved+b.Spent > account.Limit {
					t.Errorf("%v reserved and %v spent of %v: %v", b.Reserved, b.Spent, account.Limit, err)
				}
				if err := res.Body.Close(); err != nil {
					t.Error(err)
				}
				passed.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 640, passed.Load()+refused.Load())
	require.Equal(t, passed.Load(), via.calls.Load())
	require.Equal(t, passed.Load(), via.closed.Load())
	b, err := r.ledger.Balance(t.Context(), account.Scope)
	require.NoError(t, err)
	require.Zero(t, b.Reserved)
	require.Equal(t, budget.Micros(passed.Load()*100), b.Spent)
	for key, n := range via.keys {
		require.Equal(t, 1, n, key)
	}
}

func TestTheVectorsOfAQuestionAreBoughtAndNotKept(t *testing.T) {
	t.Parallel()
	r := open(t,
		turn{
			vectors: inference.Vectors{
				V: [][]float32{{1}}, Space: "s", Tokens: budget.Tokens{In: 4},
				UsageFrom: inference.ByProvider,
			},
		})
	for range 2 {
		charge := talking("talk/embed")
		v, err := r.EmbedTransient(t.Context(), charge, "p/vectors", []string{"where is it"})
		require.NoError(t, err)
		require.Equal(t, "s", v.Space)
		_, kept, err := r.ledger.Answer(t.Context(), charge.Step)
		require.NoError(t, err)
		require.False(t, kept)
	}
	rows, err := r.ledger.Rows(t.Context(), spend.Query{})
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Equal(t, budget.Micros(4), rows[1].Counted)
}
