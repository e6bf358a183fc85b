package payload_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"github.com/seed-56a03226/oneiros/internal/payload"
)

const page = "http://127.0.0.1:8233"

func ask(t *testing.T, s payload.Server, edit func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/decode", strings.NewReader(`{"payloads":[{"data":"eA=="}]}`))
	r.Host = "127.0.0.1:8081"
	edit(r)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

func TestAnotherProcessSealsAndOpensThroughTheServer(t *testing.T) {
	t.Parallel()
	k := keys(t, "one")
	server := httptest.NewServer(payload.Server{Keys: k, Origins: []string{page}, Token: "open sesame"}.Handler())
	defer server.Close()
	remote := func(token string) converter.DataConverter {
		return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(),
			converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{
				Endpoint: server.URL + "/default", ModifyRequest: func(r *http.Request) error {
					r.Header.Set("Authorization", "bearer "+token)
					return nil
				},
			}))
	}
	own, _ := payload.New(k)
	sealed, err := own.ToPayload("ours")
	require.NoError(t, err)
	var value string
	require.NoError(t, remote("open sesame").FromPayload(sealed, &value))
	require.Equal(t, "ours", value)
	sealed, err = remote("open sesame").ToPayload("theirs")
	require.NoError(t, err)
	require.NoError(t, own.FromPayload(sealed, &value))
	require.Equal(t, "theirs", value)

	for _, wrong := range []string{"", "open sesam", "open sesame!"} {
		require.ErrorContains(t, remote(wrong).FromPayload(sealed, &value), "Unauthorized")
	}
}

func TestOnlyPagesOfConfiguredOriginsAreServed(t *testing.T) {
	t.Parallel()
	s := payload.Server{Keys: keys(t, "one"), Origins: []string{page}}
	w := ask(t, s, func(r *http.Request) { r.Header.Set("Origin", page) })
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, page, w.Header().Get("Access-Control-Allow-Origin"))
	for _, origin := range []string{"http://evil.example", "null", page + "0", "https://127.0.0.1:8233"} {
		w := ask(t, s, func(r *http.Request) { r.Header.Set("Origin", origin) })
		require.Equal(t, http.StatusForbidden, w.Code, origin)
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
		require.NotContains(t, w.Body.String(), "payloads")
	}
	require.Equal(t, http.StatusOK, ask(t, s, func(*http.Request) {}).Code, "a program sends no origin")
}

func TestOnlyConfiguredHostNamesAreServed(t *testing.T) {
	t.Parallel()
	s := payload.Server{Keys: keys(t, "one"), Hosts: []string{"codec.internal"}, Origins: []string{page}}
	for host, want := range map[string]int{
		"127.0.0.1:8081": 200, "localhost": 200, "[::1]:8081": 200, "codec.internal:443": 200,
		"evil.example": 403, "127.0.0.1.evil.example:8081": 403, "": 403, "10.0.0.5:8081": 403,
	} {
		w := ask(t, s, func(r *http.Request) { r.Host = host })
		require.Equal(t, want, w.Code, host)
		w = ask(t, s, func(r *http.Request) {
			r.Host = host
			r.Method = http.MethodOptions
			r.Header.Set("Origin", page)
		})
		require.Equal(t, want == 200, w.Code == http.StatusNoContent, "a preflight to %q", host)
	}
}

func TestAPreflightNeedsNoToken(t *testing.T) {
	t.Parallel()
	s := payload.Server{Keys: keys(t, "one"), Origins: []string{page}, Token: "x"}
	w := ask(t, s, func(r *http.Request) {
		r.Method = http.MethodOptions
		r.Header.Set("Origin", page)
		r.Header.Set("Access-Control-Request-Headers", "x-namespace")
	})
	require.Equal(t, http.StatusNoContent, w.Code)
	require.Contains(t, w.Header().Get("Access-Control-Allow-Headers"), "X-Namespace")
	w = ask(t, s, func(r *http.Request) { r.Header.Set("Origin", page) })
	require.Equal(t, http.StatusUnauthorized, w.Code)
	require.Equal(t, page, w.Header().Get("Access-Control-Allow-Origin"), "the page may read the error")
}

func TestALargeBodyIsRefusedWithOrWithoutContentLength(t *testing.T) {
	t.Parallel()
	s := payload.Server{Keys: keys(t, "one")}
	large := strings.Repeat(" ", 9<<20)
	answer := ask(t, s, func(r *http.Request) {
		*r = *httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8081/decode", strings.NewReader(large))
	})
	require.Equal(t, http.StatusRequestEntityTooLarge, answer.Code)
	silent := ask(t, s, func(r *http.Request) {
		*r = *httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8081/decode", strings.NewReader(large))
		r.ContentLength = -1
	})
	require.Equal(t, http.StatusBadRequest, silent.Code)
	require.Contains(t, silent.Body.String(), "too large")
}

func TestTheServerSaysWhichKeyIsMissing(t *testing.T) {
	t.Parallel()
	theirs, _ := payload.New(keys(t, "theirs"))
	sealed, err := theirs.ToPayload("x")
	require.NoError(t, err)
	server := httptest.NewServer(payload.Server{Keys: keys(t, "mine")}.Handler())
	defer server.Close()
	_, err = converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{Endpoint: server.URL}).Decode(
		[]*commonpb.Payload{sealed})
	require.ErrorContains(t, err, `key "theirs": that key is missing`)
}
