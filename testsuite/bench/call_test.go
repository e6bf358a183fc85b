package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// way is one way to make the same streamed call.
type way struct {
	name string
	call func(ctx context.Context) error
}

// BenchmarkStreamedCall makes the same call of 80 tokens in turn over raw net/http, which reads the same bytes
// without parsing them, over the gateway, and over gateway and spend guard with a ledger on a file: one durable
// transaction to reserve under five caps and one to settle. The provider adds no delay, so the difference is what we
// add.
func BenchmarkStreamedCall(b *testing.B) {
	upstream, err := provider.Start(provider.Options{})
	require.NoError(b, err)
	b.Cleanup(upstream.Close)
	table := provider.Catalog("p", provider.DefaultModels())
	gateway, err := openaigw.New(openaigw.Options{Name: "p", BaseURL: upstream.URL, Catalog: table})
	require.NoError(b, err)
	b.Cleanup(gateway.Close)
	store, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "ledger.db"))
	require.NoError(b, err)
	b.Cleanup(func() { _ = store.Close() })
	paying := &spend.Guard{Ledger: store.Ledger(), Model: gateway, Catalog: table, Now: time.Now}
	raw := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, DisableCompression: true}}
	b.Cleanup(raw.CloseIdleConnections)

	step := 0
	ways := []way{
		{"raw", func(ctx context.Context) error { return readRaw(ctx, raw, upstream.URL) }},
		{"gateway", func(ctx context.Context) error {
			_, err := gateway.Generate(ctx, newRequest(), func(string) bool { return true })
			return err
		}},
		{"guard", func(ctx context.Context) error {
			step++
			_, err := paying.Generate(ctx, charge(step), newRequest(), func(string) bool { return true })
			return err
		}},
	}
	took := make([][]time.Duration, len(ways))
	for b.Loop() {
		for i, w := range ways {
			start := time.Now()
			require.NoError(b, w.call(b.Context()))
			took[i] = append(took[i], time.Since(start))
		}
	}
	at := func(i int, share float64) float64 {
		slices.Sort(took[i])
		return float64(took[i][int(share*float64(len(took[i])-1))].Microseconds())
	}
	for i, w := range ways {
		b.ReportMetric(at(i, .5), w.name+"-p50-µs")
		b.ReportMetric(at(i, .99), w.name+"-p99-µs")
		if i > 0 {
			b.ReportMetric(at(i, .5)-at(0, .5), w.name+"-over-p50-µs")
			b.ReportMetric(at(i, .99)-at(0, .99), w.name+"-over-p99-µs")
		}
	}
}

func newRequest() inference.Request {
	temperature := 1.31
	return inference.Request{
		Model: "p/script", MaxTokens: 80, Sampling: inference.Sampling{Temperature: &temperature},
		Messages: []inference.Message{
			{Role: "system", Content: "Drift."},
			{Role: "user", Content: "- [r1] The harbour was closed all winter.\n- [r2] Wages came late."},
		},
	}
}

func charge(n int) spend.Charge {
	return spend.Charge{
		Step:  fmt.Sprintf("dream/bench/%04d/onset/step", n),
		Agent: "bench",
		Dream: fmt.Sprintf("dream/bench/%04d", n/27),
		Phase: "onset",
		Day:   "2026-10-19",
		Accounts: []budget.Account{
			{Scope: fmt.Sprintf("phase:%d", n/27), Limit: budget.Dollar},
			{Scope: fmt.Sprintf("dream:%d", n/27), Limit: budget.Dollar},
			{Scope: "day:bench", Limit: 1000 * budget.Dollar},
			{Scope: "month:bench", Limit: 1000 * budget.Dollar},
			{Scope: "fleet:2026-10-19", Limit: budget.Unlimited},
		},
	}
}

// readRaw sends what the gateway sends and reads the answer to its end.
func readRaw(ctx context.Context, client *http.Client, base string) error {
	r := newRequest()
	body, err := json.Marshal(map[string]any{
		"model": "script", "messages": r.Messages, "stream": true,
		"stream_options": map[string]bool{"include_usage": true},
		"max_tokens":     r.MaxTokens, "temperature": *r.Sampling.Temperature,
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
