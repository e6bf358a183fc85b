package governor_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/governor"
)

var secret = []byte("a secret of at least sixteen bytes")

// receiver is a webhook server.
func receiver(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, body []byte)) *governor.Webhook {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer(w, r, body)
	}))
	t.Cleanup(server.Close)
	return &governor.Webhook{URL: server.URL, Secret: secret}
}

func TestARequestIsSignedAndAnswered(t *testing.T) {
	t.Parallel()
	var verdict error
	var border string
	hook := receiver(t, func(w http.ResponseWriter, r *http.Request, body []byte) {
		verdict, border = governor.Verify(secret, r.Header, body, time.Now()), r.Header.Get(governor.BorderHeader)
		_, _ = io.WriteString(w, `{"veto":"not tonight","concerns":[{"fragment":"f1","reason":"odd"}],"more":1}`)
	})
	veto, err := hook.Entry(context.Background(), dream.HookEntry{Dream: "dream/echo/0001"})
	require.NoError(t, err)
	require.NoError(t, verdict)
	require.Equal(t, "entry", border)
	require.Equal(t, "not tonight", veto)
	concerns, err := hook.Capture(context.Background(), dream.HookCapture{})
	require.NoError(t, err)
	require.Equal(t, []dream.Concern{{Fragment: "f1", Reason: "odd"}}, concerns)
	require.NoError(t, hook.Exit(context.Background(), dream.HookExit{}))
	require.Equal(t, "exit", border)
}

func TestAnInvalidAnswerIsAnErrorWithoutTheAddress(t *testing.T) {
	t.Parallel()
	elsewhere := receiver(t, func(http.ResponseWriter, *http.Request, []byte) { t.Error("a redirect was followed") })
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		says   string
	}{
		"an error": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusTeapot) }, "HTTP 418"},
		"a redirect": {func(w http.ResponseWriter) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(http.StatusFound)
		}, "HTTP 302"},
		"no JSON": {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "fine by me") }, "not the JSON object"},
		"too much": {
			func(w http.ResponseWriter) { _, _ = io.WriteString(w, strings.Repeat(" ", 1<<17)) },
			"longer than",
		},
		"an array": {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "[]") }, "not the JSON object"},
		"no body":  {func(http.ResponseWriter) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hook := receiver(t, func(w http.ResponseWriter, _ *http.Request, _ []byte) { c.answer(w) })
			_, err := hook.Entry(context.Background(), dream.HookEntry{})
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "127.0.0.1")
		})
	}
	removed := &governor.Webhook{URL: "http://127.0.0.1:1/?token=hush", Secret: secret}
	_, err := removed.Entry(context.Background(), dream.HookEntry{})
	require.EqualError(t, err, "it cannot be reached")
}

func TestARequestWithAWrongSecretTimeOrBodyIsRefused(t *testing.T) {
	t.Parallel()
	var header http.Header
	var body []byte
	hook := receiver(t, func(_ http.ResponseWriter, r *http.Request, b []byte) { header, body = r.Header.Clone(), b })
	now := time.Unix(1_800_000_000, 0)
	hook.Now = func() time.Time { return now }
	require.NoError(t, hook.Exit(context.Background(), dream.HookExit{Dream: "d"}))
	require.NoError(t, governor.Verify(secret, header, body, now.Add(governor.Tolerance)))
	require.ErrorContains(t, governor.Verify([]byte("another"), header, body, now), "does not fit")
	require.ErrorContains(t, governor.Verify(secret, header, append(body, ' '), now), "does not fit")
	require.ErrorContains(t, governor.Verify(secret, header, body, now.Add(governor.Tolerance+time.Second)),
		"away from now")
	require.ErrorContains(t, governor.Verify(secret, header, body, now.Add(-governor.Tolerance-time.Second)),
		"away from now")
	header.Set(governor.TimestampHeader, "noon")
	require.ErrorContains(t, governor.Verify(secret, header, body, now), `is "noon"`)
}

// The border in the header is compared with the signed body, so that a request cannot be sent again for another
// border.
func TestARequestCannotBeRepeatedForAnotherBorder(t *testing.T) {
	t.Parallel()
	var header http.Header
	var body []byte
	hook := receiver(t, func(_ http.ResponseWriter, r *http.Request, b []byte) { header, body = r.Header.Clone(), b })
	for border, ask := range map[string]func() error{
		"entry":   func() error { _, err := hook.Entry(t.Context(), dream.HookEntry{Dream: "d"}); return err },
		"capture": func() error { _, err := hook.Capture(t.Context(), dream.HookCapture{Dream: "d"}); return err },
		"exit":    func() error { return hook.Exit(t.Context(), dream.HookExit{Dream: "d"}) },
	} {
		require.NoError(t, ask())
		require.Contains(t, string(body), `"border":"`+border+`"`)
		require.NoError(t, governor.Verify(secret, header, body, time.Now()))
		header.Set(governor.BorderHeader, "elsewhere")
		require.ErrorContains(t, governor.Verify(secret, header, body, time.Now()),
			`Oneiros-Border is "elsewhere" and the body is of the `+border)
	}
}

func TestReasonsOfAMissingAnswer(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	for address, want := range map[string]string{
		server.URL:                         "its certificate is not trusted",
		"http://nowhere.invalid/?key=hush": "its name is not known",
		"http://127.0.0.1:1/?key=hush":     "it cannot be reached",
		"http://[::1]:namedport/?key=hush": "its address is not valid",
	} {
		_, err := (&governor.Webhook{URL: address, Secret: secret}).Entry(t.Context(), dream.HookEntry{})
		require.EqualError(t, err, want)
	}
}

func TestDurationsOfARequestAreMilliseconds(t *testing.T) {
	t.Parallel()
	var body []byte
	hook := receiver(t, func(_ http.ResponseWriter, _ *http.Request, b []byte) { body = b })
	request := dream.HookEntry{
		Depths: map[dream.Behaviour]dream.DepthBound{
			dream.Stable: {CyclesMost: 3, Wall: 90 * time.Second, Allowed: true},
		},
	}
	_, err := hook.Entry(t.Context(), request)
	require.NoError(t, err)
	require.Contains(t, string(body), `{"cycles_least":0,"cycles_most":3,"wall_ms":90000,"allowed":true}`)
	var read dream.HookEntry
	require.NoError(t, json.Unmarshal(body, &read))
	require.Equal(t, request.Depths, read.Depths)
}
