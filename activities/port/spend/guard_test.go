package spend_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// price in micro-dollars a million tokens: 1 micro-dollar a token in, 2 a token out.
var price = budget.Price{In: 1_000_000, CachedIn: 500_000, Out: 2_000_000}

var catalog = inference.Table{
	"p/model": {Name: "p/model", Provider: "p", Price: &price, JSON: inference.JSONSchema},
	"p/thinker": {
		Name:      "p/thinker",
		Provider:  "p",
		Price:     &price,
		JSON:      inference.JSONSchema,
		Reasoning: true,
	},
	"p/vectors":  {Name: "p/vectors", Provider: "p", Price: &price, Embeds: true},
	"p/unpriced": {Name: "p/unpriced", Provider: "p"},
}

// scripted answers in order, repeats its last answer, and records the requests.
type scripted struct {
	mu       sync.Mutex
	turns    []turn
	requests []inference.Request
	keys     []string
	hook     func() // called during a call
}

type turn struct {
	answer  inference.Answer
	vectors inference.Vectors
	err     error
}

func (m *scripted) next(r inference.Request) turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests, m.keys = append(m.requests, r), append(m.keys, r.Key)
	return m.turns[min(len(m.requests), len(m.turns))-1]
}

func (m *scripted) Generate(_ context.Context, r inference.Request, token func(string) bool) (inference.Answer, error) {
	t := m.next(r)
	if m.hook != nil {
		m.hook()
	}
	if t.answer.Text != "" {
		token(t.answer.Text)
	}
	return t.answer, t.err
}

func (m *scripted) Embed(_ context.Context, model string, texts []string, key string) (inference.Vectors, error) {
	t := m.next(inference.Request{Model: model, Key: key, Stop: texts})
	return t.vectors, t.err
}

// unsettling is a ledger that cannot settle.
type unsettling struct{ spend.Ledger }

var errDisk = errors.New("the disk is full")

func (unsettling) Settle(context.Context, spend.Hold, spend.Bill) error { return errDisk }

type biller struct {
	*spend.Guard
	model  *scripted
	ledger spend.Ledger
	t      *testing.T
}

func open(t *testing.T, turns ...turn) biller {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), ":memory:")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	model := &scripted{turns: turns}
	now := func() time.Time { return time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC) }
	return biller{
		Guard: &spend.Guard{Ledger: store.Ledger(), Model: model, Catalog: catalog, Now: now}, model: model,
		ledger: store.Ledger(), t: t,
	}
}

const step = "dream/echo/0001/onset/1/partial-1"

func charge(limits ...budget.Micros) spend.Charge {
	c := spend.Charge{
		Step:  step,
		Agent: "echo",
		Dream: "dream/echo/0001",
		Phase: "onset",
		Day:   "2026-10-19",
	}
	scopes := []string{"phase:onset", "dream:1", "day:echo"}
	for i, scope := range scopes {
		limit := budget.Unlimited
		if i < len(limits) {
			limit = limits[i]
		}
		c.Accounts = append(c.Accounts, budget.Account{Scope: scope, Limit: limit})
	}
	return c
}

// prompt has 60 bytes: 15 tokens at four bytes each, and 10 at six.
var prompt = strings.Repeat("sixty bytes ", 5)

func request(model string) inference.Request {
	return inference.Request{
		Model: model, MaxTokens: 80,
		Messages: []inference.Message{{Role: "user", Content: prompt}},
	}
}

// worst is what one call must reserve.
func worst(r inference.Request, out int64) budget.Micros {
	return price.Worst(inference.CountPrompt(catalog[r.Model], r), out)
}

func answerOf(in, out int64, visible int, from inference.UsageFrom) inference.Answer {
	return inference.Answer{
		Text:      "a harbour",
		Finish:    inference.Stopped,
		Tokens:    budget.Tokens{In: in, Out: out},
		Visible:   visible,
		UsageFrom: from,
	}
}

func (b biller) rows() []spend.Row {
	b.t.Helper()
	rows, err := b.ledger.Rows(context.Background(), spend.Query{})
	require.NoError(b.t, err)
	return rows
}

func (b biller) balance(scope string) spend.Balance {
	b.t.Helper()
	balance, err := b.ledger.Balance(context.Background(), scope)
	require.NoError(b.t, err)
	return balance
}

func TestEveryResultOfACallCountsForWhatItMayHaveCost(t *testing.T) {
	t.Parallel()
	full := worst(request("p/model"), 80+spend.Overrun)
	provider := inference.ByProvider
	cause := errors.New("a client connected")
	failure := func(kind inference.Kind, status int, billed bool) error {
		return &inference.Failure{Kind: kind, Status: status, Billed: billed, Message: "no"}
	}
	cases := []struct {
		name    string
		turn    turn
		state   spend.State
		counted budget.Micros
		kept    bool // the answer is stored under its step
	}{
		{
			"a truthful usage is what it cost",
			turn{answer: answerOf(15, 10, 10, provider)},
			spend.Settled, 15 + 20,
			true,
		},
		{
			"cached tokens are cheaper",
			turn{
				answer: inference.Answer{
					Tokens: budget.Tokens{In: 15, Cached: 8, Out: 10}, Visible: 10,
					UsageFrom: provider,
				},
			},
			spend.Settled, 7 + 4 + 20, true,
		},
		{
			"a usage nobody reported counts in full",
			turn{answer: answerOf(15, 10, 10, inference.ByCount)},
			spend.Partial, full, true,
		},
		{
			"fewer tokens out than were read counts in full",
			turn{answer: answerOf(15, 5, 10, provider)},
			spend.Partial,
			full, true,
		},
		{
			"fewer tokens in than any tokenizer makes counts in full",
			turn{answer: answerOf(9, 10, 10, provider)},
			spend.Partial, full, true,
		},
		{
			"a usage at the bound is believed",
			turn{answer: answerOf(10, 10, 10, provider)},
			spend.Settled, 10 + 20,
			true,
		},
		{
			"a high usage counts, even above what was reserved",
			turn{answer: answerOf(1000, 1000, 10, provider)},
			spend.Settled, 3000, true,
		},
		{"a halted stream counts in full", turn{answer: inference.Answer{
			Text:      "a",
			Finish:    inference.Halted,
			Tokens:    budget.Tokens{In: 15, Out: 1},
			Visible:   1,
			UsageFrom: inference.ByCount,
		}}, spend.Partial, full, true},
		{
			"a cut stream counts in full and keeps nothing",
			turn{inference.Answer{Text: "a", Finish: inference.Cut, Visible: 1}, inference.Vectors{}, cause},
			spend.Partial, full, false,
		},
		{"a refusal costs nothing", turn{err: failure(inference.BadRequest, 400, false)}, spend.Refused, 0, false},
		{"a rate limit costs nothing", turn{err: failure(inference.RateLimited, 429, false)}, spend.Refused, 0, false},
		{
			"an empty account at the provider costs nothing",
			turn{err: failure(inference.NoMoney, 402, false)},
			spend.Refused, 0, false,
		},
		{
			"a call that never had a connection costs nothing",
			turn{err: failure(inference.Unavailable, 0, false)},
			spend.Refused, 0, false,
		},
		{
			"a failure on the provider's side counts in full",
			turn{err: failure(inference.Unavailable, 500, true)},
			spend.Lost, full, false,
		},
		{
			"a broken stream counts in full",
			turn{inference.Answer{Text: "a", Visible: 1}, inference.Vectors{}, failure(inference.Broken, 0, true)},
			spend.Lost, full, false,
		},
		{
			"a broken stream that reported more counts that",
			turn{answerOf(1000, 1000, 1, provider), inference.Vectors{}, failure(inference.Broken, 0, true)},
			spend.Lost, 3000, false,
		},
		{
			"an answer nobody can read counts in full",
			turn{err: failure(inference.Malformed, 200, true)},
			spend.Lost,
			full, false,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, c.turn)
			reserved := budget.Micros(-1)
			b.model.hook = func() { reserved = b.balance("day:echo").Reserved }
			paid, err := b.Generate(t.Context(), charge(), request("p/model"), func(string) bool { return true })
			require.Equal(t, full, reserved, "the worst case is reserved during the call")
			require.ErrorIs(t, err, c.turn.err)
			require.Equal(t, c.turn.err == nil, err == nil)
			rows := b.rows()
			require.Len(t, rows, 1)
			require.Equal(t, c.state, rows[0].State)
			require.Equal(t, c.counted, rows[0].Counted)
			require.Equal(t, full, rows[0].Reserved)
			require.Equal(t, []string{step + "#1"}, b.model.keys, "the provider receives the attempt's key")
			require.Equal(t, 1, paid.Attempt)
			for _, account := range charge().Accounts {
				require.Equal(t, spend.Balance{Spent: c.counted}, b.balance(account.Scope), account.Scope)
			}
			_, kept, err := b.ledger.Answer(t.Context(), step)
			require.NoError(t, err)
			require.Equal(t, c.kept, kept)
		})
	}
}

func TestACallIsSettledAfterItsCallerIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := open(t, turn{answer: inference.Answer{Finish: inference.Cut}, err: context.Canceled})
	b.model.hook = cancel
	_, err := b.Generate(ctx, charge(), request("p/model"), func(string) bool { return true })
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, spend.Partial, b.rows()[0].State)
}

func TestACallWithoutAPriceOrOverACapIsNotMade(t *testing.T) {
	t.Parallel()
	need := worst(request("p/model"), 80+spend.Overrun)
	b := open(t, turn{answer: answerOf(15, 10, 10, inference.ByProvider)})
	_, err := b.Generate(t.Context(), charge(), request("p/unpriced"), nil)
	failure, ok := inference.AsFailure(err)
	require.True(t, ok)
	require.Equal(t, inference.Unpriced, failure.Kind)
	require.Contains(t, failure.Message, "providers.p.models", "the message names the line to add")
	_, err = b.Generate(t.Context(), charge(), request("p/unheard"), nil)
	failure, ok = inference.AsFailure(err)
	require.True(t, ok)
	require.Equal(t, inference.Unknown, failure.Kind)

	_, err = b.Generate(t.Context(), charge(need, need-1, need-1), request("p/model"), nil)
	over, ok := spend.AsOverCap(err)
	require.True(t, ok, "%v", err)
	require.Equal(t, spend.OverCap{Scope: "dream:1", Limit: need - 1, Asks: need}, *over,
		"the first cap that refuses is named")
	require.Empty(t, b.model.requests)
	require.Empty(t, b.rows())

	_, err = b.Generate(t.Context(), charge(need, need, need), request("p/model"), func(string) bool { return true })
	require.NoError(t, err, "a call that exactly fits is made")
}

func TestAFinishedStepIsNeverBoughtAgain(t *testing.T) {
	t.Parallel()
	b := open(t, turn{answer: answerOf(15, 10, 10, inference.ByProvider)})
	first, err := b.Generate(t.Context(), charge(), request("p/model"), func(string) bool { return true })
	require.NoError(t, err)
	require.False(t, first.Reused)
	again, err := b.Generate(t.Context(), charge(0, 0, 0), request("p/unpriced"), nil)
	require.NoError(t, err, "neither a missing price nor a cap prevents reading a bought answer")
	require.True(t, again.Reused)
	require.Equal(t, first.Answer, again.Answer)
	require.Equal(t, first.Cost, again.Cost)
	require.Len(t, b.model.requests, 1)
	require.Len(t, b.rows(), 1)
}

// unreadable is a ledger that cannot read its answers.
type unreadable struct{ spend.Ledger }

func (unreadable) Answer(context.Context, string) ([]byte, bool, error) { return nil, false, errDisk }

func TestAnUnreadableAnswerIsAnErrorAndNotARefusalByTheCap(t *testing.T) {
	t.Parallel()
	b := open(t, turn{answer: answerOf(15, 10, 10, inference.ByProvider)})
	_, err := b.Generate(t.Context(), charge(), request("p/model"), func(string) bool { return true })
	require.NoError(t, err)
	b.Ledger = unreadable{b.ledger}
	for _, c := range []spend.Charge{charge(), charge(0, 0, 0)} {
		_, err = b.Generate(t.Context(), c, request("p/model"), nil)
		require.ErrorIs(t, err, errDisk)
		require.NotErrorIs(t, err, spend.ErrAnswered)
		_, over := spend.AsOverCap(err)
		require.False(t, over)
	}
	require.Len(t, b.model.requests, 1)
}

func TestARetryIsReservedAnewAndTheFailedAttemptStaysCounted(t *testing.T) {
	t.Parallel()
	need := worst(request("p/model"), 80+spend.Overrun)
	lost := turn{err: &inference.Failure{Kind: inference.Broken, Billed: true}}
	b := open(t, lost, turn{answer: answerOf(15, 10, 10, inference.ByProvider)})
	_, err := b.Generate(t.Context(), charge(2*need), request("p/model"), nil)
	require.Error(t, err)
	paid, err := b.Generate(t.Context(), charge(2*need), request("p/model"), func(string) bool { return true })
	require.NoError(t, err)
	require.Equal(t, 2, paid.Attempt)
	require.Equal(t, []string{step + "#1", step + "#2"}, b.model.keys)
	require.Equal(t, spend.Balance{Spent: need + 35}, b.balance("phase:onset"))

	b = open(t, lost)
	_, err = b.Generate(t.Context(), charge(2*need-1), request("p/model"), nil)
	require.Error(t, err)
	_, err = b.Generate(t.Context(), charge(2*need-1), request("p/model"), nil)
	_, over := spend.AsOverCap(err)
	require.True(t, over, "a retry needs room under the cap beside the lost attempt")
}

func TestAnAttemptThatCannotBeSettledStaysReservedInFull(t *testing.T) {
	t.Parallel()
	need := worst(request("p/model"), 80+spend.Overrun)
	b := open(t, turn{answer: answerOf(15, 10, 10, inference.ByProvider)})
	b.Ledger = unsettling{b.ledger}
	_, err := b.Generate(t.Context(), charge(), request("p/model"), func(string) bool { return true })
	require.ErrorIs(t, err, errDisk)
	require.Equal(t, spend.Balance{Reserved: need}, b.balance("dream:1"))
	lost, amount, err := b.ledger.Close(t.Context(), "dream/echo/0001", b.Now())
	require.NoError(t, err)
	require.Equal(t, 1, lost)
	require.Equal(t, need, amount)
	require.Equal(t, spend.Balance{Spent: need}, b.balance("dream:1"))
	_, kept, err := b.ledger.Answer(t.Context(), step)
	require.NoError(t, err)
	require.False(t, kept)
}

// placing is an embedder whose vectors depend on a text's first word. It counts its calls.
type placing struct {
	inference.Model
	calls int
}

func (p *placing) Embed(_ context.Context, _ string, texts []string, _ string) (inference.Vectors, error) {
	p.calls++
	out := inference.Vectors{Space: "p/model/64", UsageFrom: inference.ByProvider}
	for i := range texts {
		v := make([]float32, 64)
		v[i/3] = 1
		if i%3 == 1 {
			v[63] = .8 // a rewording gets a slightly different vector
		}
		out.V = append(out.V, v)
		out.Tokens.In += 8
	}
	return out, nil
}

func TestAnEmbedderIsCalibratedOnceAndItsCalibrationKept(t *testing.T) {
	t.Parallel()
	b := open(t)
	model := &placing{}
	first := &spend.Guard{Ledger: b.Ledger, Model: model, Catalog: b.Catalog, Now: b.Now}
	_, found := first.Calibration(t.Context(), "p/model")
	require.False(t, found)
	measured, err := first.Calibrate(t.Context(), charge(), "p/model")
	require.NoError(t, err)
	require.InDelta(t, 0, measured.Unrelated, 1e-6)
	require.InDelta(t, .78, measured.Related, .01)
	require.Equal(t, 1, model.calls)
	again := &spend.Guard{Ledger: b.Ledger, Model: model, Catalog: b.Catalog, Now: b.Now} // another process
	read, found := again.Calibration(t.Context(), "p/model")
	require.True(t, found)
	require.Equal(t, measured, read)
	bought, err := again.Calibrate(t.Context(), charge(), "p/model")
	require.NoError(t, err)
	require.Equal(t, measured, bought)
	require.Equal(t, 1, model.calls)
	stated := &spend.Guard{Ledger: b.Ledger, Model: model, Now: b.Now, Catalog: inference.Table{
		"p/model": {
			Name:        "p/model",
			Calibration: inference.Calibration{Unrelated: .1, Related: .2, Novel: .3, Same: .4},
		},
	}}
	read, found = stated.Calibration(t.Context(), "p/model")
	require.True(t, found)
	require.InDelta(t, .1, read.Unrelated, 1e-9, "the catalogue's calibration takes precedence")
}

func TestTheFirstAnswerOfAStepIsKept(t *testing.T) {
	t.Parallel()
	b := open(t,
		turn{
			answer: inference.Answer{
				Text: "slow", Tokens: budget.Tokens{In: 15, Out: 10}, Visible: 10,
				UsageFrom: inference.ByProvider,
			},
		})
	quick := &scripted{
		turns: []turn{
			{
				answer: inference.Answer{
					Text: "quick", Tokens: budget.Tokens{In: 15, Out: 10}, Visible: 10,
					UsageFrom: inference.ByProvider,
				},
			},
		},
	}
	other := spend.Guard{Ledger: b.Ledger, Model: quick, Catalog: b.Catalog, Now: b.Now}
	b.model.hook = func() { // a worker that was believed dead finishes during its successor's call
		_, err := other.Generate(context.Background(), charge(), request("p/model"), func(string) bool { return true })
		require.NoError(t, err)
	}
	paid, err := b.Generate(t.Context(), charge(), request("p/model"), func(string) bool { return true })
	require.NoError(t, err)
	require.Equal(t, "quick", paid.Text)
	require.True(t, paid.Reused)
	require.Equal(t, spend.Balance{Spent: 70}, b.balance("dream:1"), "both calls were made, and both count")
}

func TestAReasoningAllowanceIsReservedToo(t *testing.T) {
	t.Parallel()
	r := request("p/thinker")
	r.Reasoning = 500
	b := open(t, turn{answer: answerOf(15, 400, 10, inference.ByProvider)})
	paid, err := b.Generate(t.Context(), charge(), r, func(string) bool { return true })
	require.NoError(t, err)
	require.Equal(t, worst(r, 80+500+spend.Overrun), b.rows()[0].Reserved)
	require.Equal(t, budget.Micros(15+800), paid.Cost)
}

func TestVectorsArePaidLikeGeneratedText(t *testing.T) {
	t.Parallel()
	texts := []string{"sixty bytes sixty bytes sixty ", "bytes sixty bytes sixty bytes "}
	r := inference.Request{Model: "p/vectors", Messages: []inference.Message{{Content: texts[0]}, {Content: texts[1]}}}
	full := worst(r, 0)
	v := inference.Vectors{
		V: [][]float32{{1, 0}, {0, 1}}, Space: "p/vectors/2", Tokens: budget.Tokens{In: 15},
		UsageFrom: inference.ByProvider,
	}
	unreported := v
	unreported.UsageFrom = inference.ByCount
	low := v
	low.Tokens.In = 9
	for name, c := range map[string]struct {
		turn    turn
		state   spend.State
		counted budget.Micros
	}{
		"truthful":   {turn{vectors: v}, spend.Settled, 15},
		"unreported": {turn{vectors: unreported}, spend.Partial, full},
		"low":        {turn{vectors: low}, spend.Partial, full},
		"refused":    {turn{err: &inference.Failure{Kind: inference.BadRequest, Status: 400}}, spend.Refused, 0},
		"lost": {
			turn{err: &inference.Failure{Kind: inference.Unavailable, Status: 502, Billed: true}},
			spend.Lost, full,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, c.turn)
			got, err := b.Embed(t.Context(), charge(), "p/vectors", texts)
			require.ErrorIs(t, err, c.turn.err)
			row := b.rows()[0]
			require.Equal(t, c.state, row.State)
			require.Equal(t, c.counted, row.Counted)
			require.Equal(t, full, row.Reserved)
			if err != nil {
				return
			}
			again, err := b.Embed(t.Context(), charge(0, 0, 0), "p/vectors", texts)
			require.NoError(t, err)
			require.Equal(t, got, again)
			require.Len(t, b.model.requests, 1)
		})
	}
	b := open(t, turn{vectors: v})
	_, err := b.Embed(t.Context(), charge(full-1), "p/vectors", texts)
	_, over := spend.AsOverCap(err)
	require.True(t, over)
	require.Empty(t, b.model.requests)
}

func TestARowIsNeverOlderThanTheRequestOfItsStep(t *testing.T) {
	t.Parallel()
	for requestedAt, at := range map[time.Time]time.Time{
		time.Date(2027, 3, 28, 1, 0, 0, 0, time.UTC): time.Date(2027, 3, 28, 1, 0, 0, 0, time.UTC),
		{}: time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC),
	} {
		b := open(t, turn{answer: answerOf(15, 3, 3, inference.ByProvider)})
		c := charge()
		c.RequestedAt = requestedAt
		_, err := b.Generate(context.Background(), c, request("p/model"), func(string) bool { return true })
		require.NoError(t, err)
		row := b.rows()[0]
		require.True(t, row.At.Equal(at), row.At)
		require.True(t, row.Ended.Equal(at), row.Ended)
	}
}

func TestACallThatIsNoLongerNeededIsNotMadeAndCostsNothing(t *testing.T) {
	t.Parallel()
	notFound := errors.New("it was forgotten")
	reserved := budget.Micros(-1)
	b := open(t, turn{answer: answerOf(15, 10, 10, inference.ByProvider)})
	c := charge()
	c.StillNeeded = func(context.Context) error {
		reserved = b.balance("day:echo").Reserved
		return notFound
	}
	_, err := b.Generate(t.Context(), c, request("p/model"), func(string) bool { return true })
	require.ErrorIs(t, err, notFound)
	require.Positive(t, reserved, "Still runs after the reservation")
	_, err = b.Embed(t.Context(), c, "p/model", []string{"x"})
	require.ErrorIs(t, err, notFound)
	require.Empty(t, b.model.requests)
	for _, row := range b.rows() {
		require.Equal(t, spend.Refused, row.State)
		require.Zero(t, row.Counted)
	}
	c.StillNeeded = func(context.Context) error { return nil }
	_, err = b.Generate(t.Context(), c, request("p/model"), func(string) bool { return true })
	require.NoError(t, err, "the step may be bought again")
}
