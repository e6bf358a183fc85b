package anthropicgw_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/inference/inferencetest"
	"github.com/seed-56a03226/oneiros/internal/anthropicgw"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

const secret = "sk-ant-test-0123456789abcdef"

// stage is a provider with its bill, and a gateway to it.
func stage(t testing.TB, o provider.Options) (*provider.Server, *anthropicgw.Gateway) {
	t.Helper()
	s, err := provider.Start(o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	g, err := anthropicgw.New(anthropicgw.Options{
		Name: "p", BaseURL: s.URL, APIKey: secret, Catalog: s.MessagesCatalog("p"),
	})
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return s, g
}

// quiet waits until the provider has noticed how every call ended.
func quiet(t testing.TB, s *provider.Server) []provider.Call {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	require.NoError(t, s.Billing.Quiet(ctx))
	return s.Billing.Calls()
}

func TestTheGatewayKeepsThePromisesOfAModel(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"script", "script-prompt", "strict", "thinker"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			inferencetest.Run(t, func(t *testing.T) inferencetest.Stage {
				s, g := stage(t, provider.Options{Key: secret})
				return inferencetest.Stage{
					Model:    g,
					Spec:     s.MessagesCatalog("p")["p/"+model],
					Unpriced: "p/unpriced",
					Calls:    func() int { return len(s.Billing.Calls()) },
					Break:    func() { s.Next(provider.ServerError) },
				}
			})
		})
	}
}

func request(model string) inference.Request {
	r := inferencetest.Story(model)
	r.IdleToken = 10 * time.Second
	return r
}

func TestEveryFaultOfAStreamIsReadForWhatItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault provider.Fault
		kind  inference.Kind // empty: an answer
		usage inference.UsageFrom
	}{
		{provider.None, "", inference.ByProvider},
		{provider.Plain, "", inference.ByProvider},
		{provider.Lingering, "", inference.ByCount},
		{provider.NoUsage, "", inference.ByCount},
		{provider.IgnoreMax, "", inference.ByCount},
		{provider.CutMiddle, inference.Broken, inference.ByCount},
		{provider.BadChunk, inference.Malformed, inference.ByCount},
		{provider.Limit, inference.RateLimited, ""},
		{provider.Payment, inference.NoMoney, ""},
		{provider.ServerError, inference.Unavailable, ""},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			t.Parallel()
			s, g := stage(t, provider.Options{Key: secret, AtLeast: 200})
			s.Next(c.fault)
			a, err := g.Generate(t.Context(), request("p/script"), nil)
			call := quiet(t, s)[0]
			if c.kind == "" {
				require.NoError(t, err)
				require.Equal(t, "till-1", a.Provider)
				require.LessOrEqual(t, a.Visible, 60)
			} else {
				f, ok := inference.AsFailure(err)
				require.True(t, ok, "%v", err)
				require.Equal(t, c.kind, f.Kind, f.Message)
			}
			if c.usage == "" {
				return
			}
			require.Equal(t, c.usage, a.UsageFrom)
			require.GreaterOrEqual(t, a.Tokens.Out, int64(a.Visible))
			if c.usage == inference.ByProvider {
				require.Equal(t, call.Completion, a.Tokens.Out)
			}
			if c.fault != provider.NoUsage {
				require.Equal(t, call.Prompt, a.Tokens.In, "the prompt is counted at the beginning of a stream")
			}
		})
	}
}
