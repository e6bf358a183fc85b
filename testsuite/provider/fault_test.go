package provider_test

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

const ask = `{"model":"script","stream":true,"max_tokens":40,"messages":[{"role":"user","content":"the harbour in winter"}]}`

func quiet(t *testing.T, s *provider.Server) []provider.Call {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	require.NoError(t, s.Billing.Quiet(ctx))
	return s.Billing.Calls()
}

func TestTheProviderStopsWhenItsCallerHangsUp(t *testing.T) {
	t.Parallel()
	s := start(t, provider.Options{})
	s.Next(provider.IgnoreMax)
	ctx, hangUp := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/chat/completions", strings.NewReader(ask))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	read := 0
	for in := bufio.NewScanner(res.Body); read < 60 && in.Scan(); {
		if strings.Contains(in.Text(), `{"content":" `) {
			read++
		}
	}
	hangUp()
	c := quiet(t, s)[0]
	require.False(t, c.Completed)
	require.GreaterOrEqual(t, c.Completion, int64(read))
	require.Less(t, c.Completion, int64(read+40))
	require.Positive(t, c.Cost)
}

func TestARefusedCallCostsNothing(t *testing.T) {
	t.Parallel()
	s := start(t, provider.Options{})
	for fault, status := range map[provider.Fault]int{
		provider.Limit: 429, provider.LimitDelay: 429,
		provider.Quota: 429, provider.ServerError: 500, provider.Payment: 402,
	} {
		s.Next(fault)
		got, _ := post(t, s, "/chat/completions", ask)
		require.Equal(t, status, got)
	}
	s.Next(provider.NoSampling, provider.NoSampling)
	got, _ := post(t, s, "/chat/completions", ask)
	require.Equal(t, 200, got)
	paid := s.Billing.Total()
	require.Positive(t, paid)
	got, _ = post(t, s, "/chat/completions", strings.Replace(ask, "{", `{"min_p":0.1,`, 1))
	require.Equal(t, 400, got)
	require.Equal(t, paid, s.Billing.Total())
	require.Empty(t, s.Billing.Failed())
}

func TestAPlanDoesNotDependOnTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	plan := provider.Seeded(4, .5, provider.Faults...)
	chosen, wrong := map[provider.Fault]int{}, 0
	for i := range 2000 {
		a := provider.Arrival{Key: "dream/" + strconv.Itoa(i), Prompt: 1, Nth: 1}
		b := a
		b.Prompt, b.Schema = 2, true
		require.Equal(t, plan(a), plan(b), "with a key, the prompt does not matter")
		if f := plan(a); f != provider.None {
			wrong++
			chosen[f]++
		}
	}
	require.InDelta(t, 1000, wrong, 100)
	require.Len(t, chosen, len(provider.Faults))
	require.Equal(t, provider.None, provider.Seeded(4, 0, provider.Faults...)(provider.Arrival{}))
}

func TestASpoiltSchemaAnswerIsNoJSON(t *testing.T) {
	t.Parallel()
	s := start(t, provider.Options{})
	s.Next(provider.BadJSON, provider.BadJSON)
	schema := strings.Replace(
		ask,
		"{",
		`{"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","properties":{"a":{"type":"string"}}}}},`,
		1,
	)
	_, raw := post(t, s, "/chat/completions", strings.Replace(schema, `"stream":true`, `"stream":false`, 1))
	require.Contains(t, string(raw), "Here you are: {")
	_, raw = post(t, s, "/chat/completions", strings.Replace(ask, `"stream":true`, `"stream":false`, 1))
	require.NotContains(t, string(raw), "Here you are")
}

func TestTheCataloguePricesEveryModelButOne(t *testing.T) {
	t.Parallel()
	c := provider.Catalog("p", provider.DefaultModels())
	require.Len(t, c, len(provider.DefaultModels()))
	require.Nil(t, c["p/unpriced"].Price)
	require.Zero(t, c["p/strict"].MaxTemperature)
	require.True(t, c["p/thinker"].Reasoning)
	require.Equal(t, inference.JSONPrompt, c["p/script-prompt"].JSON)
	require.True(t, c["p/vectors"].Embeds)
	require.EqualValues(t, 2, provider.CountPrompt([]inference.Message{{Content: "1234"}, {Content: "5"}}))
}

func TestAnUnpricedModelThatIsCalledFailsTheRun(t *testing.T) {
	t.Parallel()
	s := start(t, provider.Options{})
	post(t, s, "/chat/completions", strings.Replace(ask, "script", "unpriced", 1))
	require.NotEmpty(t, s.Billing.Failed())
	require.Zero(t, s.Billing.Total())
}
