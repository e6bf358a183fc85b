package front_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/access/accesstest"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// noon is the time at which every test begins.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// clock is moved by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// testServer is a server with some routes, and what it reports.
type testServer struct {
	*testing.T
	*front.Server
	clock clock
	book  *accesstest.Book

	mu       sync.Mutex
	entries  []front.Entry
	reports  []error
	observed map[string]int
}

func newServer(t *testing.T, routes []front.Route, alter ...func(*front.Options)) *testServer {
	t.Helper()
	h := &testServer{T: t, clock: clock{now: noon}, book: &accesstest.Book{}, observed: map[string]int{}}
	o := front.Options{
		Routes: routes, Keys: h.book, Keyless: true, Now: h.clock.Now,
		Log: func(e front.Entry) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.entries = append(h.entries, e)
		},
		Report: func(err error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.reports = append(h.reports, err)
		},
		Observe: func(route string, status int, _ time.Duration, _ int64) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.observed[route]++
		},
	}
	for _, a := range alter {
		a(&o)
	}
	s, err := front.New(o)
	require.NoError(t, err)
	h.Server = s
	return h
}

// key makes a key and returns its secret.
func (h *testServer) key(role access.Role, alter ...func(*access.Key)) string {
	h.Helper()
	k, secret := access.New("test", role, nil, noon)
	for _, a := range alter {
		a(&k)
	}
	require.NoError(h, h.book.PutKey(h.Context(), k))
	return secret
}

// logged is the last entry of the log.
func (h *testServer) logged() front.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	require.NotEmpty(h, h.entries)
	return h.entries[len(h.entries)-1]
}

// ask sends one request as a program on this machine does. Headers are pairs.
func (h *testServer) ask(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	h.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:7680"
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func bearer(secret string) []string { return []string{"Authorization", "Bearer " + secret} }

// refused checks the form of an error response.
func refused(t testing.TB, w *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	var answer struct {
		Error struct {
			Message, Type string
			Param, Code   *string
		}
		Request string `json:"request_id"`
	}
	d := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&answer))
	require.NotEmpty(t, answer.Error.Message)
	require.NotEmpty(t, answer.Error.Type)
	require.NotNil(t, answer.Error.Code)
	require.Equal(t, code, *answer.Error.Code, answer.Error.Message)
	require.Equal(t, w.Header().Get("X-Request-Id"), answer.Request)
}

func say(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, text) }
}

// echo responds with the request's body.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := front.Body(r)
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	_, _ = w.Write(body)
}
