package openaigw_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// benchBody is what the gateway sends in this benchmark.
const benchBody = `{"model":"script","messages":[{"role":"system","content":"Drift."},{"role":"user","content":"- [r1] The harbour was closed all winter.\n- [r2] Wages came late."}],"stream":true,"stream_options":{"include_usage":true},"max_tokens":80,"temperature":1.31}`

// way is one way to make the same streamed call.
type way struct {
	name string
	call func(ctx context.Context) error
}

// BenchmarkStreamedCall makes the same call of 80 tokens by turns over each way, so that all meet the same noise, and
// reports p50 and p99 of every way and the overhead over raw net/http, which reads the same bytes and understands none.
// The provider serves without delay: what is left is what we add.
func BenchmarkStreamedCall(b *testing.B) {
	s, g := stage(b, provider.Options{})
	raw := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, DisableCompression: true}}
	defer raw.CloseIdleConnections()
	ways := []way{
		{"raw", func(ctx context.Context) error { return readRaw(ctx, raw, s.URL) }},
		{"gateway", func(ctx context.Context) error { return readGateway(ctx, g) }},
	}
	took := make([][]time.Duration, len(ways))
	b.ReportAllocs()
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

func readRaw(ctx context.Context, client *http.Client, base string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/chat/completions", bytes.NewReader([]byte(benchBody)))
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

func readGateway(ctx context.Context, g *openaigw.Gateway) error {
	r := request("p/script")
	r.Sampling.Temperature = ptr(1.31)
	a, err := g.Generate(ctx, r, func(string) bool { return true })
	if err == nil && a.UsageFrom != inference.ByProvider {
		err = errors.New("the usage was not heard")
	}
	return err
}
