package openaigw_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// failing is the failure of one call to a server that responds with a status, headers and a body.
func failing(t *testing.T, status int, body string, headers ...string) *inference.Failure {
	t.Helper()
	now := time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC)
	g := answering(t, spec(), func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}, func(o *openaigw.Options) { o.Now = func() time.Time { return now } })
	_, err := g.Generate(t.Context(), request("p/m"), nil)
	f, ok := inference.AsFailure(err)
	require.True(t, ok, "%v", err)
	return f
}

func TestEveryStatusHasItsKind(t *testing.T) {
	t.Parallel()
	quota := `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`
	for _, c := range []struct {
		status  int
		body    string
		headers []string
		kind    inference.Kind
		again   bool
		billed  bool
		delay   time.Duration
	}{
		{
			400, `{"error":{"message":"bad","type":"invalid_request_error","code":null}}`, nil, inference.BadRequest,
			false, false, 0,
		},
		{401, "no", nil, inference.Unauthorized, false, false, 0},
		{402, "no", nil, inference.NoMoney, false, false, 0},
		{403, "no", nil, inference.Unauthorized, false, false, 0},
		{404, "no", nil, inference.BadRequest, false, false, 0},
		{408, "", nil, inference.Unavailable, true, false, 0},
		{409, "", nil, inference.Unavailable, true, false, 0},
		{422, "", nil, inference.BadRequest, false, false, 0},
		{429, "", nil, inference.RateLimited, true, false, 0},
		{429, quota, []string{"Retry-After", "1"}, inference.NoMoney, false, false, time.Second},
		{429, quota, []string{"X-Should-Retry", "true"}, inference.NoMoney, false, false, 0},
		{429, "", []string{"Retry-After", "7"}, inference.RateLimited, true, false, 7 * time.Second},
		{
			429, "",
			[]string{"Retry-After", "Fri, 20 Nov 2026 06:00:30 GMT"},
			inference.RateLimited, true, false,
			30 * time.Second,
		},
		{429, "", []string{"Retry-After", "Fri, 20 Nov 2026 05:00:00 GMT"}, inference.RateLimited, true, false, 0},
		{
			429, "",
			[]string{"Retry-After-Ms", "250", "Retry-After", "9"},
			inference.RateLimited, true, false,
			250 * time.Millisecond,
		},
		{429, "", []string{"Retry-After", "1e30"}, inference.RateLimited, true, false, 24 * time.Hour},
		{429, "", []string{"Retry-After", "-3"}, inference.RateLimited, true, false, 0},
		{429, "", []string{"X-Should-Retry", "false"}, inference.BadRequest, false, false, 0},
		{500, "", nil, inference.Unavailable, true, true, 0},
		{503, "", []string{"Retry-After", "2"}, inference.Unavailable, true, true, 2 * time.Second},
		{503, "", []string{"X-Should-Retry", "false"}, inference.BadRequest, false, true, 0},
		{400, "", []string{"X-Should-Retry", "true"}, inference.Unavailable, true, false, 0},
		{307, "", []string{"Location", "https://elsewhere/v1"}, inference.BadRequest, false, true, 0},
	} {
		f := failing(t, c.status, c.body, c.headers...)
		name := fmt.Sprint(c.status, c.headers)
		require.Equal(t, c.kind, f.Kind, name)
		require.Equal(t, c.status, f.Status, name)
		require.Equal(t, c.again, f.Again(), name)
		require.Equal(t, c.billed, f.Billed, name)
		require.Equal(t, c.delay, f.RetryAfter, name)
		require.NotEmpty(t, f.Message, name)
	}
}

func TestNoMessageHoldsTheKeyOrIsLong(t *testing.T) {
	t.Parallel()
	f := failing(t, 401, `{"error":{"message":"Incorrect API key provided: `+secret+`.","code":"invalid_api_key"}}`)
	require.Equal(t, "Incorrect API key provided: [secret].", f.Message)
	f = failing(t, 400, strings.Repeat("x", 290)+secret+strings.Repeat("y", 5000))
	require.LessOrEqual(t, len([]rune(f.Message)), 301)
	require.NotContains(t, f.Message, "sk-")
	f = failing(t, 500, "<html>\n\n  oh   no</html>")
	require.Equal(t, "<html> oh no</html>", f.Message)

	g := answering(t, spec(), func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
		func(o *openaigw.Options) { o.Headers = map[string]string{"X-Token": "hidden-header-value"} })
	_, err := g.Generate(t.Context(), request("p/m"), nil)
	require.Error(t, err)
	for _, shown := range []string{err.Error(), fmt.Sprint(g), fmt.Sprintf("%+v %#v %q", g, g, g)} {
		require.NotContains(t, shown, secret)
		require.NotContains(t, shown, "hidden-header-value")
	}
	_, err = openaigw.New(
		openaigw.Options{
			Name: "p", APIKey: secret + "\n", BaseURL: "http://u:" + secret + "@host/v1?key=" + secret,
			Headers: map[string]string{"A": secret + "\x00"},
		})
	require.Error(t, err)
	require.NotContains(t, err.Error(), secret)
	for _, word := range []string{"api_key", "base_url", "catalogue", "header"} {
		require.ErrorContains(t, err, word)
	}
}

func TestAnUnreachableServerIsNotBilled(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	g, err := openaigw.New(
		openaigw.Options{Name: "p", BaseURL: "http://" + address + "/v1", Catalog: inference.Table{"p/m": spec()}})
	require.NoError(t, err)
	a, err := g.Generate(t.Context(), request("p/m"), nil)
	f, ok := inference.AsFailure(err)
	require.True(t, ok)
	require.Equal(t, inference.Unavailable, f.Kind)
	require.False(t, f.Billed)
	require.Empty(t, a.Text)
}

// A reused connection that breaks before an answer is where net/http would repeat a request that carries an
// Idempotency-Key.
func TestABrokenConnectionIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var requests atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(c)
			for {
				r, err := http.ReadRequest(in)
				if err != nil {
					break
				}
				_, _ = io.Copy(io.Discard, r.Body)
				requests.Add(1)
				if requests.Load() > 1 {
					break // close the connection without a response
				}
				_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(short), short)
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	g, err := openaigw.New(
		openaigw.Options{Name: "p", BaseURL: "http://" + l.Addr().String(), Catalog: inference.Table{"p/m": spec()}})
	require.NoError(t, err)
	t.Cleanup(g.Close)
	_, err = g.Generate(t.Context(), request("p/m"), nil)
	require.NoError(t, err)
	_, err = g.Generate(t.Context(), request("p/m"), nil)
	f, ok := inference.AsFailure(err)
	require.True(t, ok)
	require.True(t, f.Billed)
	require.True(t, f.Again())
	require.EqualValues(t, 2, requests.Load())
}

// Every fault once: the provider's bill has one call for each that was made.
func TestNothingIsEverTriedAgain(t *testing.T) {
	t.Parallel()
	for _, fault := range provider.Faults {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			s, g := stage(t, provider.Options{}, func(o *openaigw.Options) { o.UsageWait = impatience })
			s.Next(fault)
			r := request("p/script")
			r.IdleToken = impatience
			r.Sampling.Temperature = ptr(1.2)
			_, _ = g.Generate(t.Context(), r, nil) // the result is checked by other tests
			c := quiet(t, s)
			require.Len(t, c, 1)
			require.Empty(t, s.Billing.Repeated())
			s.Next(fault)
			wait := patience
			if fault == provider.HangFirst || fault == provider.HangMiddle {
				wait = impatience
			}
			ctx, stop := context.WithTimeout(t.Context(), wait)
			defer stop()
			_, _ = g.Embed(ctx, "p/vectors", []string{"a"}, "e#1")
			require.Len(t, quiet(t, s), 2)
		})
	}
}

func TestAnEmbeddingThatHangsEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{})
	s.Next(provider.HangFirst)
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	_, err := g.Embed(ctx, "p/vectors", []string{"a"}, "")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, failed := inference.AsFailure(err)
	require.False(t, failed)
	require.Len(t, quiet(t, s), 1)
}
