package feedhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/alarm"
)

const token = "a token of the feeds"

// recorder records what is pushed.
type recorder struct {
	pushed  map[string][]dream.Reading
	alarmed []string
	unheard string
	fails   error
}

func (d *recorder) PushReportingUnused(_ context.Context, feed string, readings []dream.Reading) (string, error) {
	if d.fails == nil {
		d.pushed[feed] = append(d.pushed[feed], readings...)
	}
	return d.unheard, d.fails
}

func (d *recorder) Alarm(_ context.Context, handle, trigger string) error {
	d.alarmed = append(d.alarmed, handle+" "+trigger)
	return d.fails
}

func server(t *testing.T) (*recorder, http.Handler, *bytes.Buffer) {
	t.Helper()
	d, log := &recorder{pushed: map[string][]dream.Reading{}}, new(bytes.Buffer)
	h, err := NewHandler(Options{Push: d, Alarm: d, Token: token, Log: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	return d, h, log
}

func call(t *testing.T, h http.Handler, method, path, auth, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if auth != "" {
		r.Header.Set("Authorization", auth)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	return w
}

func TestReadingsAndAlarmsArePassedOn(t *testing.T) {
	t.Parallel()
	d, h, _ := server(t)
	w := call(t, h, "POST", "/v1/feeds/eth/readings", "Bearer "+token,
		`[{"metric":"price","number":100},{"state":"paused"}]`)
	require.Equal(t, http.StatusAccepted, w.Code, w.Body)
	require.JSONEq(t, `{"feed":"eth","readings":2}`, w.Body.String())
	require.Equal(t, []dream.Reading{n("price", 100), {State: "paused"}}, d.pushed["eth"])

	w = call(t, h, "POST", "/v1/agents/echo/alarm", "bearer "+token, "")
	require.JSONEq(t, `{"agent":"echo","trigger":"push/alarm"}`, w.Body.String())
	w = call(t, h, "POST", "/v1/agents/echo/alarm", "Bearer "+token, `{"trigger":"desk/price"}`)
	require.Equal(t, http.StatusAccepted, w.Code)
	require.Equal(t, []string{"echo push/alarm", "echo desk/price"}, d.alarmed)

	w = call(t, h, "GET", "/healthz", "", "")
	require.JSONEq(t, `{"status":"ok"}`, w.Body.String())
}

func TestRequestsWithoutTheTokenAreRefused(t *testing.T) {
	t.Parallel()
	d, h, _ := server(t)
	for _, auth := range []string{
		"", "Bearer", "Bearer ", "Bearer wrong", "Basic " + token, token,
		"Bearer " + token + "x", "Bearer " + token[1:],
	} {
		for _, path := range []string{"/v1/feeds/eth/readings", "/v1/agents/echo/alarm"} {
			w := call(t, h, "POST", path, auth, `{"number":1}`)
			require.Equal(t, http.StatusUnauthorized, w.Code, auth)
			require.Equal(t, "Bearer", w.Header().Get("WWW-Authenticate"))
			require.NotContains(t, w.Body.String(), token)
		}
	}
	require.Empty(t, d.pushed)
	require.Empty(t, d.alarmed)
}

func TestTheErrorOfAWrongRequestSaysWhatIsRight(t *testing.T) {
	t.Parallel()
	_, h, _ := server(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/v1/feeds/eth/readings", "", http.StatusMethodNotAllowed, "the method must be POST"},
		{"POST", "/healthz", "", http.StatusMethodNotAllowed, "the method must be GET"},
		{"POST", "/v1/feeds", "", http.StatusNotFound, "readings go to /v1/feeds/{name}/readings"},
		{"POST", "/v1/feeds/ETH/readings", `{"number":1}`, http.StatusBadRequest, "the name of the feed must be"},
		{"POST", "/v1/agents/a%2Fb/alarm", "", http.StatusBadRequest, "the name of the agent must be"},
		{"POST", "/v1/feeds/eth/readings", "", http.StatusBadRequest, "it is empty"},
		{"POST", "/v1/feeds/eth/readings", `{"number":`, http.StatusBadRequest, "unexpected EOF"},
		{
			"POST", "/v1/feeds/eth/readings", strings.Repeat(" ", Body+1), http.StatusRequestEntityTooLarge,
			"the body is longer than 64 KiB",
		},
		{
			"POST", "/v1/agents/echo/alarm", `{"trigger":"no spaces"}`, http.StatusBadRequest,
			`the trigger \"no spaces\" must be a name`,
		},
		{"POST", "/v1/agents/echo/alarm", `{"trigger":"a/b/c"}`, http.StatusBadRequest, "two with a / between"},
		{
			"POST", "/v1/agents/echo/alarm", `{"trigger":"` + strings.Repeat("x", alarm.LongestTrigger+1) + `"}`,
			http.StatusBadRequest, "at most 100 bytes",
		},
		{"POST", "/v1/agents/echo/alarm", `{"cause":"x"}`, http.StatusBadRequest, "it must be empty or like"},
	} {
		w := call(t, h, c.method, c.path, "Bearer "+token, c.body)
		require.Equal(t, c.status, w.Code, c.path)
		require.Contains(t, w.Body.String(), c.want)
	}
}

func TestInternalErrorsAreLoggedAndNotSent(t *testing.T) {
	t.Parallel()
	d, h, log := server(t)
	for _, c := range []struct {
		fails  error
		status int
		want   string
	}{
		{fmt.Errorf("push: %w", memory.ErrNotFound), http.StatusNotFound, `{"error":"there is no feed eth"}`},
		{
			fmt.Errorf("push: %w", errors.Join(nil, alarm.UntimelyError("the reading has at 1999"))),
			http.StatusUnprocessableEntity, `{"error":"the reading has at 1999"}`,
		},
		{
			errors.New("open /home/secret/memory.db"), http.StatusServiceUnavailable,
			`{"error":"feed eth could not be reached now; try again"}`,
		},
	} {
		d.fails = c.fails
		w := call(t, h, "POST", "/v1/feeds/eth/readings", "Bearer "+token, `{"number":1}`)
		require.Equal(t, c.status, w.Code)
		require.JSONEq(t, c.want, w.Body.String())
	}
	require.Contains(t, log.String(), "secret")
}

func TestAReadingThatNoRuleUsesIsAcceptedWithAWarning(t *testing.T) {
	t.Parallel()
	d, h, _ := server(t)
	d.unheard = "no rule takes lvel"
	w := call(t, h, "POST", "/v1/feeds/eth/readings", "Bearer "+token, `{"metric":"lvel","number":9}`)
	require.Equal(t, http.StatusAccepted, w.Code)
	require.JSONEq(t, `{"feed":"eth","readings":1,"warning":"no rule takes lvel"}`, w.Body.String())
}

func TestAPageOfAnotherSiteIsRefusedDespiteTheToken(t *testing.T) {
	t.Parallel()
	for header, status := range map[[2]string]int{
		{"Origin", "https://elsewhere.example"}: http.StatusForbidden,
		{"Origin", "null"}:                      http.StatusForbidden,
		{"Sec-Fetch-Site", "cross-site"}:        http.StatusForbidden,
		{"Origin", "http://example.com"}:        http.StatusAccepted, // the host that httptest uses
		{"Sec-Fetch-Site", "same-origin"}:       http.StatusAccepted,
	} {
		d, h, _ := server(t)
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/feeds/eth/readings",
			strings.NewReader(`{"number":1}`))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set(header[0], header[1])
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, status, w.Code, "%v", header)
		require.Equal(t, status == http.StatusAccepted, len(d.pushed) > 0)
	}
}

func TestAHandlerNeedsATokenAndReceivers(t *testing.T) {
	t.Parallel()
	d := &recorder{}
	_, err := NewHandler(Options{Push: d, Alarm: d, Token: "short"})
	require.ErrorContains(t, err, "the token for pushing readings is 5 bytes long; it must have at least 16")
	_, err = NewHandler(Options{Token: token})
	require.ErrorContains(t, err, "needs a Pusher and an Alarmer")
}
