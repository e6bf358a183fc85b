package deploy

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// TestALongPriceOfTheConfigurationIsReservedAndSettled makes calls of a deployment to a provider that bills by the same
// price list. The provider counts four bytes of a prompt as one token. The reservation counts each byte.
func TestALongPriceOfTheConfigurationIsReservedAndSettled(t *testing.T) {
	t.Parallel()
	bills := budget.Price{
		In:           1_000_000,
		CachedIn:     500_000,
		Out:          2_000_000,
		LongFrom:     1000,
		LongIn:       3_000_000,
		LongCachedIn: 1_500_000,
		LongOut:      8_000_000,
	}
	upstream, err := provider.Start(provider.Options{Models: []provider.Model{{Name: "riser", Price: &bills}}})
	require.NoError(t, err)
	t.Cleanup(upstream.Close)
	d := appOf(t, `providers:
  paid:
    profile: generic
    base_url: `+upstream.URL+`
    models:
      - name: riser
        context: 32000
        price: {in: "1", cached_in: "0.50", out: "2", long: {from: 1000, in: "3", cached_in: "1.50", out: "8"}}
roles: {generator: paid/riser}
`)
	require.Contains(t, d.checkModels(t.Context()).Found, "paid/riser (in $1.00, out $2.00 per million tokens, "+
		"for a prompt above 1000 tokens in $3.00, out $8.00) for generator")
	h, err := build(t.Context(), d.cfg, d.cfg.StorePath())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	spec, err := h.Catalog.Lookup("paid/riser")
	require.NoError(t, err)
	require.Equal(t, &bills, spec.Price)

	charge := func(step string, limit budget.Micros) spend.Charge {
		return spend.Charge{
			Step:     step,
			Agent:    "iris",
			Day:      "2026-11-28",
			Accounts: []budget.Account{{Scope: "only:" + step, Limit: limit}},
		}
	}
	for _, c := range []struct {
		name    string
		bytes   int
		in, out budget.Micros // dollars per million tokens that are reserved
		long    bool          // as the provider counts
	}{
		{"short", 400, 1, 2, false},
		{"perhaps-long", 2000, 3, 8, false},
		{"long", 8000, 3, 8, true},
	} {
		r := inference.Request{
			Model:     "paid/riser",
			MaxTokens: 40,
			Messages:  []inference.Message{{Role: "user", Content: strings.Repeat("grey sea ", c.bytes/9)}},
		}
		tokens := budget.Micros(inference.CountPrompt(spec, r))
		worst := c.in*tokens + c.out*(40+spend.Overrun)
		_, err = h.guard.Generate(t.Context(), charge(c.name, worst-1), r, func(string) bool { return true })
		over, refused := spend.AsOverCap(err)
		require.True(t, refused, "%s: %v", c.name, err)
		require.Equal(t, worst, over.Asks, c.name)
		require.Empty(t, h.bills(t, upstream, c.name))

		_, err = h.guard.Generate(t.Context(), charge(c.name, worst), r, func(string) bool { return true })
		require.NoError(t, err, c.name)
		calls := h.bills(t, upstream, c.name)
		require.Len(t, calls, 1)
		require.Equal(t, c.long, calls[0].Prompt > bills.LongFrom, c.name)

		body := fmt.Sprintf(`{"model":"riser","max_tokens":40,"messages":[{"role":"user","content":%q}]}`,
			r.Messages[0].Content)
		passed := charge(c.name+"-relayed", worst)
		response, err := h.guard.Relay(t.Context(), passed, h.relay, inference.RelayRequest{
			Method: "POST",
			Path:   "/chat/completions",
			Model:  "paid/riser",
			Body:   []byte(body),
		}, spend.Worst{In: int64(tokens), Out: 40})
		require.NoError(t, err, c.name)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Len(t, h.bills(t, upstream, passed.Step), 1)
	}
}

func TestDoctorNamesAStatedPriceThatDoesNotRiseAsTheBuiltInOneDoes(t *testing.T) {
	t.Parallel()
	for price, warns := range map[string]bool{
		`{in: "1", out: "8"}`:     true,
		`{in: "2.50", out: "8"}`:  true,
		`{in: "2.50", out: "15"}`: false, // the highest, for prompts of every length
		`{in: "0", out: "0"}`:     false,
		`{in: "1", out: "8", long: {from: 200000, in: "2", out: "12"}}`: false,
	} {
		d := appOf(t, `providers:
  far:
    profile: generic
    base_url: http://127.0.0.1:1/v1
    models:
      - {name: gemini-2.5-pro, price: `+price+`}
      - {name: gemini-3.1-pro-preview, price: {in: "1", out: "8"}, context: 100000}
`)
		finding := d.checkModels(t.Context())
		want := "; the stated price of far/gemini-2.5-pro does not rise with the prompt, as the built-in one does"
		require.Equal(t, warns, strings.HasSuffix(finding.Found, want), "%s: %s", price, finding.Found)
		require.Equal(t, warns, finding.Advice != "", price)
	}
}

// bills are the provider's calls of a step. What the ledger counts for them is what the provider bills.
func (h *Deployment) bills(t *testing.T, upstream *provider.Server, step string) (calls []provider.Call) {
	t.Helper()
	require.NoError(t, upstream.Billing.Quiet(t.Context()))
	sum := budget.Micros(0)
	for _, c := range upstream.Billing.Calls() {
		if strings.HasPrefix(c.Key, step+"#") {
			calls, sum = append(calls, c), sum+c.Cost
		}
	}
	balance, err := h.Ledger.Balance(t.Context(), "only:"+step)
	require.NoError(t, err)
	require.Equal(t, sum, balance.Spent, step)
	require.Zero(t, balance.Reserved, step)
	return calls
}
