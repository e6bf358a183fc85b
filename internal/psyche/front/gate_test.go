package front_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

func TestAKeyIsTakenAsClientsSendIt(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	secret := h.key(access.Client)
	for _, headers := range [][]string{
		{"Authorization", "Bearer " + secret},
		{"Authorization", "bearer  " + secret + " "},
		{"X-Api-Key", secret},
		{"Authorization", "Bearer " + secret, "X-Api-Key", "another"},
	} {
		require.Equal(t, 200, h.ask("GET", "/v1/models", "", headers...).Code, headers)
	}
	for _, headers := range [][]string{
		{},
		{"Authorization", secret},
		{"Authorization", "Basic " + secret},
		{"Authorization", "Bearer"},
		{"Authorization", "Bearer x" + secret},
		{"Authorization", "Bearer " + secret[:20]},
		{"Authorization", "Bearer " + strings.Repeat("x", 10000)},
		{"X-Api-Key", "x"},
		{"Authorization", "Basic x", "X-Api-Key", secret},
		{"Authorization", "Bearer " + access.Hash(secret)},
	} {
		refused(t, h.ask("GET", "/v1/models", "", headers...), 401, "invalid_api_key")
	}
	refused(t, h.ask("GET", "/v1/models?api_key="+secret, ""), 401, "invalid_api_key")
}

func TestAKeyThatHasEndedOpensNothing(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	short := h.key(access.Client, func(k *access.Key) { k.Expires = noon.Add(time.Second) })
	var revoked access.Key
	lost := h.key(access.Client, func(k *access.Key) { revoked = *k })
	require.Equal(t, 200, h.ask("GET", "/v1/models", "", bearer(short)...).Code)
	require.Equal(t, 200, h.ask("GET", "/v1/models", "", bearer(lost)...).Code)
	h.clock.pass(time.Second)
	w := h.ask("GET", "/v1/models", "", bearer(short)...)
	refused(t, w, 401, "invalid_api_key")
	require.Contains(t, w.Body.String(), "has expired")
	revoked.Revoked = noon
	require.NoError(t, h.book.PutKey(t.Context(), revoked))
	h.clock.pass(4 * time.Second)
	w = h.ask("GET", "/v1/models", "", bearer(lost)...)
	refused(t, w, 401, "invalid_api_key")
	require.Contains(t, w.Body.String(), "was revoked")
	refused(t, h.ask("GET", "/v1/models", ""), 401, "invalid_api_key")
}

func TestANewKeyIsKnownWithinASecondAndTheFirstOneClosesTheServerWithinOne(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	require.Equal(t, 200, h.ask("GET", "/v1/models", "").Code)
	require.Equal(t, 200, h.ask("GET", "/v1/models", "", bearer("any")...).Code,
		"clients send some key to a server that needs none")
	h.clock.pass(300 * time.Millisecond)
	first := h.key(access.Client)
	h.clock.pass(700 * time.Millisecond)
	refused(t, h.ask("GET", "/v1/models", ""), 401, "invalid_api_key")
	require.Equal(t, 200, h.ask("GET", "/v1/models", "", bearer(first)...).Code)
	second := h.key(access.Client)
	h.clock.pass(time.Second)
	require.Equal(t, 200, h.ask("GET", "/v1/models", "", bearer(second)...).Code)
}

func TestADeploymentWhoseKeysVanishStaysClosed(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	secret := h.key(access.Client)
	require.Equal(t, 200, h.ask("GET", "/v1/models", "", bearer(secret)...).Code)
	h.book.LoseKeys()
	for range 3 {
		h.clock.pass(5 * time.Second)
		for _, headers := range [][]string{nil, bearer(secret), bearer("any")} {
			w := h.ask("GET", "/v1/models", "", headers...)
			refused(t, w, 503, "keys_missing")
			require.Contains(t, w.Body.String(), "oneiros keys add NAME")
			require.Contains(t, w.Body.String(), "oneiros keys open")
		}
	}
	require.Equal(t, 200, h.ask("GET", "/healthz", "").Code)
	require.Len(t, h.reports, 1, "it is reported once, not for every request")
	require.ErrorContains(t, h.reports[0], "oneiros keys open")

	again := h.key(access.Client)
	h.clock.pass(5 * time.Second)
	require.Equal(t, 200, h.ask("GET", "/v1/models", "", bearer(again)...).Code)
	h.book.LoseKeys()
	require.NoError(t, h.book.AllowKeyless(t.Context(), noon))
	h.clock.pass(5 * time.Second)
	require.Equal(t, 200, h.ask("GET", "/v1/models", "").Code, "somebody said so")
	require.Len(t, h.reports, 1)
}

func TestADeploymentThatIsOpenedAgainListsItsEndedKeys(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	secret := h.key(access.Client, func(k *access.Key) { k.Expires = noon.Add(time.Minute) })
	h.clock.pass(time.Minute)
	refused(t, h.ask("GET", "/v1/models", ""), 401, "invalid_api_key")
	refused(t, h.ask("GET", "/v1/models", "", bearer(secret)...), 401, "invalid_api_key")
	require.NoError(t, h.book.AllowKeyless(t.Context(), h.clock.Now()))
	h.clock.pass(5 * time.Second)
	require.Equal(t, 200, h.ask("GET", "/v1/models", "").Code)
	require.Equal(t, 200, h.ask("GET", "/v1/models", "", bearer(secret)...).Code)
}

func TestAnOpenServerIsNotAssumedOpenWithoutTheStore(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	require.Equal(t, 200, h.ask("GET", "/v1/models", "").Code)
	h.book.Fail(errors.New("the store is away"))
	h.clock.pass(4 * time.Second)
	require.Equal(t, 200, h.ask("GET", "/v1/models", "").Code)
	h.clock.pass(time.Second)
	refused(t, h.ask("GET", "/v1/models", ""), 503, "keys_unavailable")
}

func TestTheListOfKeysOutlivesItsStoreForAWhile(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	away := errors.New("the store is away")
	h.book.Fail(away)
	w := h.ask("GET", "/v1/models", "")
	refused(t, w, 503, "keys_unavailable")
	require.NotEmpty(t, w.Header().Get("Retry-After"))
	require.Contains(t, w.Body.String(), "the store of this server does not answer")
	require.Equal(t, 200, h.ask("GET", "/healthz", "").Code)
	h.book.Fail(nil)
	secret := h.key(access.Client)
	refused(t, h.ask("GET", "/v1/models", "", bearer(secret)...), 503, "keys_unavailable")
	h.clock.pass(time.Second)
	require.Equal(t, 200, h.ask("GET", "/v1/models", "", bearer(secret)...).Code)
	h.book.Fail(away)
	for range 59 {
		h.clock.pass(5 * time.Second)
		require.Equal(t, 200, h.ask("GET", "/v1/models", "", bearer(secret)...).Code)
		refused(t, h.ask("GET", "/v1/models", "", bearer("wrong")...), 401, "invalid_api_key")
	}
	h.clock.pass(5 * time.Second)
	refused(t, h.ask("GET", "/v1/models", "", bearer(secret)...), 503, "keys_unavailable")
	require.ErrorIs(t, h.logged().Err, away)
}

func TestWithoutKeysOnlyThisMachineIsServed(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind(), func(o *front.Options) { o.Hosts = []string{"Dreams.internal"} })
	for _, host := range []string{
		"127.0.0.1", "127.9.9.9:80", "[::1]:7680", "[::1]", "localhost", "LOCALHOST:1",
		"localhost.", "dreams.internal:7680",
	} {
		require.Equal(t, 200, h.ask("GET", "/v1/models", "", "Host", host).Code, host)
	}
	for _, host := range []string{
		"evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7680",
		"192.168.1.1", "0.0.0.0", "", "[::]:1", "2130706433",
	} {
		refused(t, h.ask("GET", "/v1/models", "", "Host", host), 403, "host_not_allowed")
		refused(t, h.ask("GET", "/nowhere", "", "Host", host), 403, "host_not_allowed")
	}
	for _, name := range []string{
		"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Anything", "Forwarded", "Via",
		"X-Real-IP", "X-Client-IP",
		"X-Cluster-Client-IP", "True-Client-IP", "CF-Connecting-IP", "CF-Ray", "Fly-Client-IP", "Fastly-Client-IP",
		"Tailscale-User-Login",
	} {
		w := h.ask("GET", "/v1/models", "", name, "203.0.113.9")
		refused(t, w, 403, "forwarded")
		require.Contains(t, w.Body.String(), http.CanonicalHeaderKey(name), "the answer names the header")
		refused(t, h.ask("GET", "/v1/models", "", name, ""), 403, "forwarded")
	}
	require.Equal(t, 200,
		h.ask("GET", "/v1/models", "", "Traceparent", "00-1-2-01", "X-Request-Id", "a", "X-Oneiros-Recall", "off").Code)
	refused(t, h.ask("GET", "/v1/models", "", "Sec-Fetch-Site", "cross-site"), 403, "origin_not_allowed")
	require.Equal(t, 200, h.ask("GET", "/v1/models", "", "Sec-Fetch-Site", "none").Code)

	locked := newServer(t, routesOfEachKind(), func(o *front.Options) { o.Keyless = false })
	w := locked.ask("GET", "/v1/models", "")
	refused(t, w, 401, "invalid_api_key")
	require.Contains(t, w.Body.String(), "oneiros keys add")
	secret := locked.key(access.Client)
	locked.clock.pass(5 * time.Second)
	require.Equal(t, 200,
		locked.ask("GET", "/v1/models", "",
			append(bearer(secret), "Host", "dreams.example", "X-Forwarded-For", "203.0.113.9")...).Code)
}

func TestNoWellKnownPathAsksForALogin(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	ask := func(headers ...string) {
		t.Helper()
		for _, path := range []string{
			"oauth-protected-resource", "oauth-protected-resource/mcp",
			"oauth-authorization-server", "openid-configuration",
		} {
			refused(t, h.ask("GET", "/.well-known/"+path, "", headers...), 404, "unknown_path")
		}
		refused(t, h.ask("GET", "/.well-known/", "", headers...), 404, "unknown_path")
	}
	ask()
	secret := h.key(access.Client)
	h.clock.pass(5 * time.Second)
	ask()
	ask(bearer("wrong")...)
	ask(bearer(secret)...)
	refused(t, h.ask("GET", "/nowhere", ""), 401, "invalid_api_key")
	refused(t, h.ask("GET", "/nowhere/.well-known/x", ""), 401, "invalid_api_key")
	refused(t, h.ask("POST", "/register", ""), 401, "invalid_api_key")
}

func TestPagesOfOtherSitesAreKeptOutEverywhere(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]bool{"without keys": false, "with keys": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newServer(t, routesOfEachKind(), func(o *front.Options) { o.Origins = []string{"https://app.example.org"} })
			var mine []string
			if keys {
				mine = bearer(h.key(access.Owner))
			}
			ask := func(method, path string, headers ...string) *httptest.ResponseRecorder {
				return h.ask(method, path, "", append(headers, mine...)...)
			}
			for _, origin := range []string{
				"https://evil.example", "null", "http://127.0.0.1:7681", "https://127.0.0.1:7680",
				"http://127.0.0.1:7680.evil.example", "", "http://localhost:7680",
				"https://app.example.org.evil.example", "http://app.example.org", "file://", "127.0.0.1:7680",
			} {
				for _, path := range []string{"/v1/models", "/healthz", "/nowhere", "/mcp"} {
					refused(t, ask("GET", path, "Origin", origin), 403, "origin_not_allowed")
				}
			}
			refused(t, ask("GET", "/v1/models", "Origin", "http://127.0.0.1:7680", "Origin", "https://evil.example"),
				403, "origin_not_allowed")
			require.Equal(t, 200, ask("GET", "/v1/models", "Origin", "http://127.0.0.1:7680").Code)
			require.Equal(t, 200, ask("GET", "/v1/models", "Origin", "http://localhost", "Host", "localhost:80").Code)
			w := ask("GET", "/v1/models", "Origin", "https://app.example.org")
			require.Equal(t, 200, w.Code)
			require.Equal(t, "https://app.example.org", w.Header().Get("Access-Control-Allow-Origin"))
			require.Empty(t, w.Header().Get("Access-Control-Allow-Credentials"))
			w = h.ask("OPTIONS", "/anything", "", "Origin", "https://app.example.org",
				"Access-Control-Request-Method", "POST")
			require.Equal(t, 204, w.Code)
			refused(t,
				h.ask("OPTIONS", "/v1/models", "", "Origin", "https://evil.example", "Access-Control-Request-Method",
					"POST"), 403, "origin_not_allowed")
		})
	}
}

// FuzzRequest: whatever the headers, without a key only health is served.
func FuzzRequest(f *testing.F) {
	f.Add("GET", "/v1/models", "Bearer x", "127.0.0.1", "", "id", "once")
	f.Add("POST", "/v1/../mcp", "Basic", "[::1", "null", "", "\x00")
	f.Add("OPTIONS", "*", "Bearer ", "localhost:", "http://localhost:", "a b", "k")
	f.Fuzz(func(t *testing.T, method, path, authorization, host, origin, id, once string) {
		h := newServer(t, routesOfEachKind())
		h.key(access.Owner)
		r := httptest.NewRequest("GET", "/", strings.NewReader("{}"))
		r.Method, r.URL.Path, r.Host = method, path, host
		r.Header["Authorization"], r.Header["Origin"] = []string{authorization}, []string{origin}
		r.Header["X-Request-Id"], r.Header["Idempotency-Key"] = []string{id}, []string{once}
		if origin == "" {
			delete(r.Header, "Origin")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.True(t, w.Code >= 400 || path == "/healthz" || w.Code == 204, "%d", w.Code)
		require.NotContains(t, w.Header().Get("X-Request-Id"), "\n")
	})
}

func TestAStreamWithoutEndEndsWithItsKey(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*testServer, access.Key){
		"revoked": func(h *testServer, k access.Key) {
			k.Revoked = noon
			require.NoError(t, h.book.PutKey(t.Context(), k))
		},
		"expired": func(*testServer, access.Key) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, ended := make(chan struct{}), make(chan struct{})
			h := newServer(t, []front.Route{{
				Method: "GET",
				Path:   "/events",
				Role:   access.Client,
				Stream: true,
				Serve: func(w http.ResponseWriter, r *http.Request) {
					close(begun)
					<-r.Context().Done()
					close(ended)
				},
			}}, func(o *front.Options) { o.Limits.Again = time.Millisecond })
			var key access.Key
			secret := h.key(access.Client, func(k *access.Key) {
				if name == "expired" {
					k.Expires = noon.Add(5 * time.Second)
				}
				key = *k
			})
			done := make(chan int, 1)
			go func() { done <- h.ask("GET", "/events", "", bearer(secret)...).Code }()
			<-begun
			h.clock.pass(4 * time.Second)
			select {
			case <-ended:
				t.Error("its key still opens")
			default:
			}
			lose(h, key)
			h.clock.pass(time.Second)
			<-ended
			require.Equal(t, 200, <-done)
		})
	}
}

func TestAStreamWithoutEndOutlivesAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	begun, end := make(chan struct{}), make(chan struct{})
	h := newServer(t, []front.Route{{
		Method: "GET",
		Path:   "/events",
		Role:   access.Client,
		Stream: true,
		Serve: func(w http.ResponseWriter, r *http.Request) {
			close(begun)
			<-end
			if r.Context().Err() != nil {
				w.WriteHeader(http.StatusTeapot)
			}
		},
	}}, func(o *front.Options) { o.Limits.Again = time.Millisecond })
	secret := h.key(access.Client)
	done := make(chan int, 1)
	go func() { done <- h.ask("GET", "/events", "", bearer(secret)...).Code }()
	<-begun
	h.book.Fail(errors.New("away"))
	h.clock.pass(time.Hour)
	require.Eventually(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.reports) > 0
	}, 5*time.Second, time.Millisecond, "the keys were asked for again")
	close(end)
	require.Equal(t, 200, <-done)
}
