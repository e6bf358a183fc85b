package budget_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

func TestWritingAndReadingAmounts(t *testing.T) {
	t.Parallel()
	for m, want := range map[budget.Micros]string{
		0: "$0.00", 1: "$0.000001", 123: "$0.000123", 500_000: "$0.50", 2_000_000: "$2.00", 1_234_500: "$1.2345",
		-75_000: "-$0.075", budget.Unlimited: "unlimited", math.MinInt64: "-$9223372036854.775808",
	} {
		require.Equal(t, want, m.String())
	}
	for text, want := range map[string]budget.Micros{
		"0.5": 500_000, "$0.50": 500_000, " 2 ": 2_000_000, ".5": 500_000, "1.": 1_000_000, "0": 0, "0.000001": 1,
		"9999999.999999": 9_999_999_999_999,
	} {
		got, err := budget.ParseMicros(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", " ", "$", ".", "$.", "-1", "+1", "1.2.3", "1,50", "1e3", "0.0000001",
		"10000000", "two", "$$1", "１",
	} {
		_, err := budget.ParseMicros(text)
		require.Error(t, err, "%q", text)
	}
}

func FuzzParseMicros(f *testing.F) {
	for _, text := range []string{"0.5", "$12.345678", "", ".", "-3", "9999999", "0000001"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := budget.ParseMicros(text)
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, m, budget.Micros(0))
		again, err := budget.ParseMicros(m.String())
		require.NoError(t, err)
		require.Equal(t, m, again)
	})
}

// A cost is never below what the provider bills.
func TestCostsAreRoundedUpAndIncludeCachedTokens(t *testing.T) {
	t.Parallel()
	p := budget.Price{In: 150_000, CachedIn: 75_000, Out: 600_000} // $0.15, $0.075 and $0.60 per million
	for _, c := range []struct {
		tokens budget.Tokens
		want   budget.Micros
	}{
		{budget.Tokens{}, 0},
		{budget.Tokens{In: 1}, 1},
		{budget.Tokens{In: 1_000_000, Out: 1_000_000}, 750_000},
		{budget.Tokens{In: 1_000_000, Cached: 1_000_000}, 75_000},
		{budget.Tokens{In: 10, Cached: 40}, 1},
		{budget.Tokens{Out: 100, Reasoning: 90}, 60},
		{budget.Tokens{In: -5, Cached: -9, Out: -1}, 0},
		{budget.Tokens{In: 100, Cached: -1_000_000}, 15},
		{budget.Tokens{In: math.MaxInt64, Out: math.MaxInt64}, budget.Micros(6917529027641081856)},
	} {
		require.Equal(t, c.want, p.Cost(c.tokens), "%+v", c.tokens)
	}
	dear := budget.Price{In: 1_000_000_000, Out: 1_000_000_000}
	require.Equal(t, budget.Unlimited, dear.Cost(budget.Tokens{In: math.MaxInt64, Out: 1}),
		"impossible counts are not cheap")
	require.Equal(t, budget.Unlimited, dear.Worst(math.MaxInt64, math.MaxInt64))
}

func TestWhatWasWrittenToACacheIsBilledBesideThePrompt(t *testing.T) {
	t.Parallel()
	p := budget.Price{In: 4_000_000, CachedIn: 400_000, Out: 8_000_000}
	plain := p.Cost(budget.Tokens{In: 1000, Cached: 100, Out: 10})
	require.Equal(t, plain+4*25, p.Cost(budget.Tokens{In: 1000, Cached: 100, Surcharge: 25, Out: 10}))
	require.Equal(t, plain, p.Cost(budget.Tokens{In: 1000, Cached: 100, Surcharge: -25, Out: 10}))
}

func TestDearerPrices(t *testing.T) {
	t.Parallel()
	p := budget.Price{In: 3, CachedIn: 1, Out: 7}
	require.Equal(t, p, p.Dearer(0))
	require.Equal(t, p, p.Dearer(1))
	require.Equal(t, budget.Price{In: 6, CachedIn: 1, Out: 7}, p.Dearer(2))
	require.Equal(t, budget.Unlimited, p.Dearer(math.MaxInt64).In)
	require.Zero(t, budget.Price{}.Dearer(2))
}

func TestALongPromptCostsMoreAsAWhole(t *testing.T) {
	t.Parallel()
	p := budget.Price{
		In: 2_000_000, CachedIn: 200_000, Out: 10_000_000,
		LongFrom: 1000, LongIn: 4_000_000, LongCachedIn: 400_000, LongOut: 15_000_000,
	}
	require.Equal(t, budget.Micros(900*2+100/5+10*10), p.Cost(budget.Tokens{In: 1000, Cached: 100, Out: 10}))
	require.Equal(t, budget.Micros(901*4+100*2/5+10*15), p.Cost(budget.Tokens{In: 1001, Cached: 100, Out: 10}),
		"what is cached counts for the length, and the answer costs more as well")
	require.Equal(t, budget.Micros(2000+100), p.Worst(1000, 10))
	require.Equal(t, budget.Micros(4*1001+150), p.Worst(1001, 10))
	require.Equal(t, budget.Micros(2*4*1001+150), p.Dearer(2).Worst(1001, 10))
}

func TestNoCostExceedsTheWorst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		price := rapid.Int64Range(0, 200_000_000)
		p := budget.Price{
			In: budget.Micros(price.Draw(r, "in")), CachedIn: budget.Micros(price.Draw(r, "cached")),
			Out:      budget.Micros(price.Draw(r, "out")),
			LongFrom: rapid.SampledFrom([]int64{0, 1, 272_000}).Draw(r, "long from"),
			LongIn:   budget.Micros(price.Draw(r, "long in")), LongOut: budget.Micros(price.Draw(r, "long out")),
			LongCachedIn: budget.Micros(price.Draw(r, "long cached")),
		}
		count := rapid.Int64Range(0, 2_000_000)
		tokens := budget.Tokens{
			In: count.Draw(r, "t in"), Cached: count.Draw(r, "t cached"),
			Out: count.Draw(r, "t out"),
		}
		cost := p.Cost(tokens)
		require.GreaterOrEqual(r, cost, budget.Micros(0))
		require.LessOrEqual(r, cost, p.Worst(tokens.In, tokens.Out))
		more := rapid.Int64Range(0, 1_000_000).Draw(r, "more")
		require.LessOrEqual(r, cost, p.Worst(tokens.In+more, tokens.Out), "a bound of more tokens holds for fewer")

		if p.LongFrom > 0 && tokens.In > p.LongFrom {
			p.In, p.CachedIn, p.Out = p.LongIn, p.LongCachedIn, p.LongOut
		}
		cached := min(tokens.Cached, tokens.In)
		bill := new(big.Rat).SetFrac64(
			(tokens.In-cached)*int64(p.In)+cached*int64(p.CachedIn)+tokens.Out*int64(p.Out), 1_000_000)
		above := new(big.Rat).Sub(new(big.Rat).SetInt64(int64(cost)), bill)
		require.False(r, above.Sign() < 0, "the cost is below the bill")
		require.Negative(r, above.Cmp(big.NewRat(1, 1)), "the cost is a whole micro-dollar above the bill")
	})
}

// Onset 10, NREM 35, REM 35, integration 15, return 5 %.
func TestABudgetIsSplitWithoutRemainder(t *testing.T) {
	t.Parallel()
	require.NoError(t, budget.DefaultShares.Validate())
	require.Equal(t, budget.Plan{
		Onset:       50_000,
		NREM:        175_000,
		REM:         175_000,
		Integration: 75_000,
		Return:      25_000,
	},
		budget.Split(500_000, budget.DefaultShares))
	rapid.Check(t, func(r *rapid.T) {
		total := budget.Micros(rapid.Int64Range(0, math.MaxInt64).Draw(r, "total"))
		s := budget.DefaultShares
		shift := rapid.IntRange(-5, 5).Draw(r, "shift")
		s.Onset, s.REM = s.Onset+shift, s.REM-shift
		p := budget.Split(total, s)
		require.Equal(r, total, p.Onset+p.NREM+p.REM+p.Integration+p.Return)
		require.GreaterOrEqual(r, min(p.Onset, p.NREM, p.REM, p.Integration, p.Return), budget.Micros(0))
		q := p.WithoutOnset()
		require.Equal(r, total, q.NREM+q.REM+q.Integration+q.Return)
		require.Zero(r, q.Onset)
	})
}

func TestInvalidSharesAreAllReported(t *testing.T) {
	t.Parallel()
	err := budget.Shares{Onset: -1, NREM: 101}.Validate()
	require.ErrorContains(t, err, "share onset is -1 %")
	require.ErrorContains(t, err, "share nrem is 101 %")
	require.ErrorContains(t, budget.Shares{Onset: 50, NREM: 49}.Validate(), "add up to 99 %")
}
