package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// priced loads a configuration whose one model has these fields, and returns the price in its catalogue.
func priced(t *testing.T, provider, model string) (*budget.Price, error) {
	t.Helper()
	c, err := load(t, "oneiros.yaml", "providers: {p: {profile: generic, base_url: \"http://h/v1\", "+provider+
		"models: [{name: big, "+model+"}]}}\nroles: {generator: p/big}\n", nil, nil)
	if err != nil {
		return nil, err
	}
	return c.Catalog()["p/big"].Price, nil
}

func TestAStatedPriceMayRiseWithThePrompt(t *testing.T) {
	t.Parallel()
	whole := budget.Price{
		In:           1_250_000,
		CachedIn:     125_000,
		Out:          10_000_000,
		LongFrom:     200_000,
		LongIn:       2_500_000,
		LongCachedIn: 250_000,
		LongOut:      15_000_000,
	}
	with := func(change func(*budget.Price)) *budget.Price {
		p := whole
		change(&p)
		return &p
	}
	const short = `{in: "1.25", cached_in: "0.125", out: "10", `
	for text, want := range map[string]*budget.Price{
		short + `long: {from: 200000, in: "2.50", cached_in: "0.25", out: "15"}}`:              &whole,
		short + `long: {from: "200_000", in: 2.5, cached_in: 0.25, out: 15}}, context: 200001`: &whole,
		short + `long: {from: 200000, in: "2.50", out: "15"}}`: with(
			func(p *budget.Price) { p.LongCachedIn = p.LongIn }),
		`{in: "1.25", out: "10", long: {from: 200000, in: "2.50", out: "15"}}`: with(
			func(p *budget.Price) { p.CachedIn, p.LongCachedIn = p.In, p.LongIn }),
		`{in: "1.25", cached_in: "3", out: "10", long: {from: 200000, in: "2.50", out: "15"}}`: with(
			func(p *budget.Price) { p.CachedIn, p.LongCachedIn = 3_000_000, 3_000_000 }),
		short + `long: {from: 200000, in: "1.25", cached_in: "0.125", out: "10"}}`: with(
			func(p *budget.Price) { p.LongIn, p.LongCachedIn, p.LongOut = p.In, p.CachedIn, p.Out }),
		short + `}`: {In: whole.In, CachedIn: whole.CachedIn, Out: whole.Out},
	} {
		for _, provider := range []string{"", "local: true, "} {
			got, err := priced(t, provider, "price: "+text)
			require.NoError(t, err, text)
			require.Equal(t, want, got, "%s%s", provider, text)
		}
	}
}

func TestAPriceInTOMLMayRiseToo(t *testing.T) {
	t.Parallel()
	c, err := load(t, "oneiros.toml", `[providers.p]
profile = "generic"
base_url = "http://h/v1"
[[providers.p.models]]
name = "big"
[providers.p.models.price]
in = "1"
out = "2"
long = {from = 1000, in = "3", out = "4"}
`, nil, nil)
	require.NoError(t, err)
	require.Equal(t, &budget.Price{
		In:           1_000_000,
		CachedIn:     1_000_000,
		Out:          2_000_000,
		LongFrom:     1000,
		LongIn:       3_000_000,
		LongCachedIn: 3_000_000,
		LongOut:      4_000_000,
	}, c.Catalog()["p/big"].Price)
	require.Contains(t, c.String(), "providers.p.models: big (in $1.00, cached $1.00, out $2.00 per million tokens; "+
		"above 1000 tokens of prompt in $3.00, cached $3.00, out $4.00)")
}

func TestAFaultyLongPriceIsRefusedByName(t *testing.T) {
	t.Parallel()
	for long, want := range map[string][]string{
		`{in: "3", out: "4"}`: {
			".from is missing; it is the longest prompt at the lower price, in tokens, such as 200000",
		},
		`{from: 0, in: "3", out: "4"}`:      {".from is 0; it must be between 1 and 100000000"},
		`{from: -5, in: "3", out: "4"}`:     {".from is -5; it must be between 1 and 100000000"},
		`{from: 1e30, in: "3", out: "4"}`:   {".from is 1e+30; it must be between 1 and 100000000"},
		`{from: 1000.5, in: "3", out: "4"}`: {".from is 1000.5; it must be a whole number"},
		`{from: 200k, in: "3", out: "4"}`:   {`.from is "200k"; it must be a number`},
		`{from: null, in: "3", out: "4"}`:   {".from is empty; it must be a number"},
		`{from: 32000, in: "3", out: "4"}`: {
			".from is 32000; it must be below the model's context of 32000 tokens, or long be left out",
		},
		`{from: 1000, in: "3"}`:            {" needs both in and out, in dollars per million tokens"},
		`{from: 1000, out: "4"}`:           {" needs both in and out, in dollars per million tokens"},
		`{}`:                               {" needs both in and out", ".from is missing"},
		`{from: 1000, in: "-3", out: "4"}`: {`.in is "-3"; it must be an amount of dollars such as 0.50`},
		`{from: 1000, in: "3", out: dear}`: {`.out is "dear"; it must be an amount of dollars such as 0.50`},
		`{from: 1000, in: 3, out: 4, cached_in: 0.1234567}`: {".cached_in is 0.1234567; it must be an amount"},
		`{from: 1000, in: 3, out: 4, cache_in: 1}`:          {".cache_in is no setting; did you mean cached_in?"},
		`{from: 1000, in: "0.30", out: "1.99"}`: {
			".in is $0.30; it must be at least $1.00, as in a shorter prompt",
			".out is $1.99; it must be at least $2.00, as in a shorter prompt",
		},
		`{from: 1000, in: "3", out: "4", cached_in: "0.05"}`: {
			".cached_in is $0.05; it must be at least $0.50, as in a shorter prompt",
		},
		`200000`: {
			" is 200000; it must say from which prompt on a call costs more, " +
				`such as {from: 200000, in: "2.50", out: "15"}`,
		},
		`null`:   {" is empty; it must say from which prompt on"},
		`[1, 2]`: {" is [1 2]; it must say from which prompt on"},
	} {
		_, err := priced(t, "", `context: 32000, price: {in: "1", cached_in: "0.5", out: "2", long: `+long+"}")
		for _, each := range want {
			require.ErrorContains(t, err, "providers.p.models[1].price.long"+each, long)
		}
	}
	for price, want := range map[string]string{
		`{in: 0, out: 0, long: {from: 1000, in: "3", out: "4"}}`: ".long goes with a price above zero: a model with " +
			"in and out at zero counts as free; state the higher price as in and out, and leave long out",
		`{in: 1, long: {from: 1000, in: "3", out: "4"}}`: " needs both in and out",
		`{in: 1, out: 2, longs: {from: 1000}}`:           ".longs is no setting; did you mean long?",
		`{in: 1, out: 2, long_from: 1000}`:               ".long_from is no setting",
	} {
		_, err := priced(t, "", "price: "+price)
		require.ErrorContains(t, err, "providers.p.models[1].price"+want, price)
	}
}

func TestALongPriceMustFitTheWindowThatIsKnown(t *testing.T) {
	t.Parallel()
	const file = "providers: {openai: {profile: openai, models: [{name: NAME, price: {in: 1, out: 2, " +
		"long: {from: 150000, in: 3, out: 4}}}]}}\n"
	_, err := load(t, "oneiros.yaml", strings.Replace(file, "NAME", "gpt-4o", 1), nil, nil)
	require.ErrorContains(t, err, "providers.openai.models[1].price.long.from is 150000; "+
		"it must be below the model's context of 128000 tokens")
	_, err = load(t, "oneiros.yaml", strings.Replace(file, "NAME", "brand-new", 1), nil, nil)
	require.NoError(t, err, "the window of such a model is only guessed")
}
