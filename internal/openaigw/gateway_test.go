package openaigw_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

const secret = "sk-test-0123456789abcdef"

// stage is a provider with its bill, and a gateway to it.
func stage(t testing.TB, o provider.Options, more ...func(*openaigw.Options)) (*provider.Server, *openaigw.Gateway) {
	t.Helper()
	s, err := provider.Start(o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	options := openaigw.Options{Name: "p", BaseURL: s.URL, APIKey: secret, Catalog: s.Catalog("p")}
	for _, change := range more {
		change(&options)
	}
	g, err := openaigw.New(options)
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return s, g
}

func request(model string) inference.Request {
	return inference.Request{
		Model: model, MaxTokens: 80, Key: "dream/echo/1/onset/1#1", IdleToken: 10 * time.Second,
		Messages: []inference.Message{
			{Role: "system", Content: "Drift."},
			{Role: "user", Content: "- [r1] The harbour was closed all winter.\n- [r2] Wages came late."},
		},
	}
}

func ptr[T any](v T) *T { return &v }

// quiet waits until the provider has noticed how every call ended.
func quiet(t testing.TB, s *provider.Server) []provider.Call {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	require.NoError(t, s.Billing.Quiet(ctx))
	return s.Billing.Calls()
}

func TestATruthfulAnswerIsCountedAsTheUpstreamCountsIt(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{Key: secret})
	var pieces []string
	r := request("p/script")
	a, err := g.Generate(t.Context(), r, func(p string) bool { pieces = append(pieces, p); return true })
	require.NoError(t, err)
	require.Equal(t, strings.Join(pieces, ""), a.Text)
	require.Equal(t, len(pieces), a.Visible)
	require.Equal(t, inference.ByProvider, a.UsageFrom)
	c := quiet(t, s)[0]
	require.Equal(t, "till-1", a.Provider)
	require.Equal(t, r.Key, c.Key)
	require.True(t, c.Completed)
	require.Equal(t, c.Completion, a.Tokens.Out)
	require.Equal(t, c.Prompt, a.Tokens.In)
}

func TestACallerCanStopAnAnswer(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{Each: 5 * time.Millisecond})
	n := 0
	a, err := g.Generate(t.Context(), request("p/script"), func(string) bool { n++; return n < 7 })
	require.NoError(t, err)
	require.Equal(t, inference.Halted, a.Finish)
	require.Equal(t, 7, a.Visible)
	require.Equal(t, inference.ByCount, a.UsageFrom)
	c := quiet(t, s)[0]
	require.False(t, c.Completed)
	require.GreaterOrEqual(t, c.Completion, int64(7))
	require.Less(t, c.Completion, int64(30))
}

func TestAnEndedContextKeepsWholePieces(t *testing.T) {
	t.Parallel()
	_, g := stage(t, provider.Options{Each: 5 * time.Millisecond})
	connect := errors.New("connect")
	ctx, wake := context.WithCancelCause(t.Context())
	n := 0
	a, err := g.Generate(ctx, request("p/script"), func(string) bool {
		n++
		if n == 5 {
			wake(connect)
		}
		return true
	})
	require.ErrorIs(t, err, connect)
	_, failed := inference.AsFailure(err)
	require.False(t, failed)
	require.Equal(t, inference.Cut, a.Finish)
	require.Equal(t, 5, a.Visible)
	require.NotEmpty(t, a.Text)
}
