package front_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

func TestAKeyMayAskSoOftenAMinute(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind(), func(o *front.Options) { o.Limits.Rate = 3 })
	one, two := h.key(access.Client), h.key(access.Client, func(k *access.Key) { k.Rate = 1 })
	for range 3 {
		require.Equal(t, 200, h.ask("GET", "/v1/models", "", bearer(one)...).Code)
	}
	w := h.ask("GET", "/v1/models", "", bearer(one)...)
	refused(t, w, 429, "rate_limit_exceeded")
	require.Equal(t, "20", w.Header().Get("Retry-After"))
	refused(t, h.ask("GET", "/nowhere", "", bearer(one)...), 429, "rate_limit_exceeded")
	require.Equal(t, 200, h.ask("GET", "/v1/models", "", bearer(two)...).Code, "each has its own measure")
	refused(t, h.ask("GET", "/v1/models", "", bearer(two)...), 429, "rate_limit_exceeded")
	h.clock.pass(20 * time.Second)
	require.Equal(t, 200, h.ask("GET", "/v1/models", "", bearer(one)...).Code)
	refused(t, h.ask("GET", "/v1/models", "", bearer(one)...), 429, "rate_limit_exceeded")
	require.Equal(t, 200, h.ask("GET", "/healthz", "").Code)
}

func TestTheKeysOfAPrincipalShareItsRate(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind(), func(o *front.Options) { o.Limits.Rate = 4 })
	as := func(rate int) func(*access.Key) {
		return func(k *access.Key) { k.Principal, k.Rate = "anna", rate }
	}
	one, rotated, slower := h.key(access.Client, as(0)), h.key(access.Client, as(0)), h.key(access.Client, as(2))
	for _, key := range []string{one, rotated, one, rotated} {
		require.Equal(t, 200, h.ask("GET", "/v1/models", "", bearer(key)...).Code)
	}
	for range 3 {
		for _, key := range []string{one, slower, rotated} {
			refused(t, h.ask("GET", "/v1/models", "", bearer(key)...), 429, "rate_limit_exceeded")
		}
	}
}

func TestRequestsUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	begun, end := make(chan struct{}, 9), make(chan struct{})
	h := newServer(t, []front.Route{
		{
			Method: "GET",
			Path:   "/stream",
			Role:   access.Client,
			Stream: true,
			Serve: func(http.ResponseWriter, *http.Request) {
				begun <- struct{}{}
				<-end
			},
		},
		{Method: "GET", Path: "/quick", Role: access.Client, Serve: say("")},
	}, func(o *front.Options) { o.Limits.Streams, o.Limits.All = 2, 3 })
	one, two := bearer(h.key(access.Client)), bearer(h.key(access.Client))
	var under sync.WaitGroup
	open := func(key []string) {
		under.Go(func() { h.ask("GET", "/stream", "", key...) })
		<-begun
	}
	open(one)
	open(one)
	refused(t, h.ask("GET", "/stream", "", one...), 429, "too_many_streams")
	require.Equal(t, 200, h.ask("GET", "/quick", "", one...).Code)
	open(two)
	w := h.ask("GET", "/stream", "", two...)
	refused(t, w, 503, "overloaded")
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	close(end)
	under.Wait()
	require.Equal(t, 200, h.ask("GET", "/stream", "", two...).Code, "places are given back")
}

// watched reports whether anybody read it.
type watched struct {
	io.Reader
	read bool
}

func (w *watched) Read(p []byte) (int, error) {
	w.read = true
	return w.Reader.Read(p)
}

func TestABodyThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	h := newServer(t, []front.Route{
		{
			Method: "POST",
			Path:   "/small",
			Role:   access.Client,
			Body:   10,
			Serve:  echo,
		},
		{Method: "POST", Path: "/usual", Role: access.Client, Serve: echo},
		{Method: "GET", Path: "/healthz", Open: true, Serve: echo},
	}, func(o *front.Options) { o.Limits.Body = 100 })
	send := func(path string, length int64, body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", path, body)
		if path == "/healthz" {
			r.Method = "GET"
		}
		r.Host, r.ContentLength = "localhost", length
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for path, most := range map[string]int{"/small": 10, "/usual": 100, "/healthz": 100} {
		fits := strings.Repeat("x", most)
		require.Equal(t, fits, send(path, int64(most), strings.NewReader(fits)).Body.String())
		require.Equal(t, fits, send(path, -1, strings.NewReader(fits)).Body.String())
		over := &watched{Reader: strings.NewReader(fits + "x")}
		refused(t, send(path, int64(most+1), over), 413, "body_too_large")
		require.False(t, over.read, "it said itself that it is too large")
		w := send(path, -1, over)
		refused(t, w, 413, "body_too_large")
		require.Contains(t, w.Body.String(), fmt.Sprint(most))
		refused(t, send(path, 1<<62, &watched{}), 413, "body_too_large")
	}
	refused(t, h.ask("POST", "/usual", "x", "Content-Encoding", "gzip"), 415, "encoded_body")
	require.Equal(t, 200, h.ask("POST", "/usual", "x", "Content-Encoding", "identity").Code)
	refused(t, send("/usual", -1, io.MultiReader(strings.NewReader("x"), broken{})), 400, "body_unreadable")
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// on makes the server listen on loopback and returns its address.
func (h *testServer) on() string {
	h.Helper()
	at, err := h.Listen(h.Context(), "127.0.0.1:0")
	require.NoError(h, err)
	over := make(chan error, 1)
	go func() { over <- h.Serve() }()
	h.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = h.Shutdown(ctx)
		require.NoError(h, <-over)
	})
	return at.String()
}

func dial(t *testing.T, at string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", at)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func read(t *testing.T, c net.Conn) *http.Response {
	t.Helper()
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Body.Close() })
	return r
}

func TestABodyThatDoesNotComeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind(), func(o *front.Options) { o.Limits.BodyTime = 50 * time.Millisecond })
	c := dial(t, h.on())
	_, err := io.WriteString(c,
		"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf")
	require.NoError(t, err)
	r := read(t, c)
	require.Equal(t, 408, r.StatusCode)
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "body_too_slow")
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "the connection ends with it")
}

// The time limit of a body ends with the body: a stream may last as long as it likes.
// connection notes the deadlines that a server sets.
type connection struct {
	*httptest.ResponseRecorder
	read, write time.Time
}

func (c *connection) SetReadDeadline(at time.Time) error {
	c.read = at
	return nil
}

func (c *connection) SetWriteDeadline(at time.Time) error {
	c.write = at
	return nil
}

func TestAStreamOutlivesTheTimeForItsBody(t *testing.T) {
	t.Parallel()
	c := &connection{ResponseRecorder: httptest.NewRecorder()}
	h := newServer(t, []front.Route{{
		Method: "POST",
		Path:   "/stream",
		Role:   access.Client,
		Stream: true,
		Serve: func(w http.ResponseWriter, r *http.Request) {
			require.False(t, c.read.IsZero(), "the body has a time")
			_, err := front.Body(r)
			require.NoError(t, err)
			require.True(t, c.read.IsZero(), "a client that was read has any time to listen")
			flow := http.NewResponseController(w)
			for range 5 {
				began := time.Now()
				_, _ = io.WriteString(w, "token ")
				require.NoError(t, flow.Flush())
				require.False(t, c.write.Before(began), "each write has its own time")
			}
		},
	}}, func(o *front.Options) { o.Limits.WriteTime = 1 })
	r := httptest.NewRequest("POST", "/stream", strings.NewReader("hello"))
	r.Host = "127.0.0.1:7680"
	h.ServeHTTP(c, r)
	require.Equal(t, strings.Repeat("token ", 5), c.Body.String())
}

func TestAClientThatTakesNothingIsLeft(t *testing.T) {
	t.Parallel()
	over := make(chan error, 1)
	h := newServer(t, []front.Route{{
		Method: "GET",
		Path:   "/stream",
		Role:   access.Client,
		Stream: true,
		Serve: func(w http.ResponseWriter, _ *http.Request) {
			chunk := make([]byte, 1<<20)
			for {
				if _, err := w.Write(chunk); err != nil {
					over <- err
					return
				}
			}
		},
	}}, func(o *front.Options) { o.Limits.WriteTime = 50 * time.Millisecond })
	c := dial(t, h.on())
	_, err := io.WriteString(c, "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	require.ErrorContains(t, <-over, "timeout")
}

func TestHeadersThatAreTooLargeAreRefused(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	at := h.on()
	c := dial(t, at)
	_, err := io.WriteString(c,
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 32<<10)+"\r\n\r\n")
	require.NoError(t, err)
	require.Equal(t, 431, read(t, c).StatusCode)
	for _, line := range []string{
		"OPTIONS * HTTP/1.1", "GET * HTTP/1.1", "CONNECT evil.example:443 HTTP/1.1",
		"GET http://evil.example/v1/models HTTP/1.1",
	} {
		c := dial(t, at)
		_, err := io.WriteString(c, line+"\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		require.GreaterOrEqual(t, read(t, c).StatusCode, 400, line)
	}
}
