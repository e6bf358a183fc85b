package front_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/access/accesstest"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// routesOfEachKind is one route of each kind.
func routesOfEachKind() []front.Route {
	return []front.Route{
		{Method: "GET", Path: "/healthz", Open: true, Serve: say("well")},
		{Method: "GET", Path: "/v1/models", Role: access.Client, Serve: say("models")},
		{
			Method: "POST",
			Path:   "/v1/chat/completions",
			Role:   access.Client,
			Stream: true,
			Serve:  echo,
		},
		{
			Method: "GET", Path: "/v1/dreams/{id}", Role: access.Operator,
			Serve: func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.PathValue("id")) },
		},
		{Method: "DELETE", Path: "/v1/dreams/{id}", Role: access.Owner, Serve: say("gone")},
		{
			Method: "GET",
			Path:   "/v1/dreams/{id}/events",
			Role:   access.Operator,
			Stream: true,
			Serve:  say("events"),
		},
		{Path: "/mcp", Role: access.Client, Stream: true, Serve: say("mcp")},
	}
}

func TestEveryRouteAsksForItsRole(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	secrets := map[access.Role]string{}
	for _, role := range []access.Role{access.Client, access.Operator, access.Owner} {
		secrets[role] = h.key(role)
	}
	for _, route := range routesOfEachKind() {
		path := strings.ReplaceAll(route.Path, "{id}", "dream%2Fecho%2F0001")
		methods := []string{route.Method}
		if route.Method == "" {
			methods = []string{"GET", "POST", "DELETE", "PROPFIND"}
		}
		for _, method := range methods {
			w := h.ask(method, path, "")
			if route.Open {
				require.Equal(t, 200, w.Code)
				require.Empty(t, h.logged().Key)
				continue
			}
			refused(t, w, 401, "invalid_api_key")
			require.Equal(t, `Bearer realm="oneiros"`, w.Header().Get("WWW-Authenticate"))
			for role, secret := range secrets {
				w := h.ask(method, path, "", bearer(secret)...)
				if role.Includes(route.Role) {
					require.Equal(t, 200, w.Code, "%s %s as %s", method, path, role)
				} else {
					refused(t, w, 403, "role_too_low")
				}
				require.Equal(t, route.Path, h.logged().Route)
				require.NotEmpty(t, h.logged().Key)
			}
		}
	}
	w := h.ask("GET", "/v1/dreams/dream%2Fecho%2F0001", "", bearer(secrets[access.Owner])...)
	require.Equal(t, "dream/echo/0001", w.Body.String())
}

func TestAPathIsNamedOnlyToClientsWithAKey(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	secret := h.key(access.Client)
	for _, path := range []string{
		"/", "/v1", "/v1/", "/v1/models/", "/v1/./models", "/v1/dreams/../models", "//v1/../v1/models",
		"/v1/dreams", "/metrics",
		"/./models", "/dreams/../models", "/models/", "/v1%2Fmodels", "/%2e/models",
		"/healthz/", "/v1/healthz", "/%2Fmodels", "/v1/%2F/models",
		"/v1/v1/nothing", "/v1/dreams/x/events/y", "/V1/models", "/mcp/x", "/debug/pprof",
	} {
		for _, method := range []string{"GET", "POST", "OPTIONS", "HEAD", "CONNECT"} {
			refused(t, h.ask(method, path, ""), 401, "invalid_api_key")
			refused(t, h.ask(method, path, "", bearer(secret)...), 404, "unknown_path")
			require.Empty(t, h.logged().Route)
		}
	}
}

func TestAMethodThatAPathDoesNotTakeIsRefused(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	secret := h.key(access.Owner)
	for path, allow := range map[string]string{
		"/v1/models": "GET, HEAD", "/v1/chat/completions": "POST", "/v1/dreams/x": "DELETE, GET, HEAD",
		"/v1/dreams/x/events": "GET", "/healthz": "GET, HEAD",
	} {
		refused(t, h.ask("PUT", path, ""), 401, "invalid_api_key")
		w := h.ask("PUT", path, "", bearer(secret)...)
		refused(t, w, 405, "method_not_allowed")
		require.Equal(t, allow, w.Header().Get("Allow"), path)
	}
	require.Equal(t, 200, h.ask("HEAD", "/v1/models", "", bearer(secret)...).Code)
	require.Equal(t, 200, h.ask("HEAD", "/healthz", "").Code)
	refused(t, h.ask("HEAD", "/v1/dreams/x/events", "", bearer(secret)...), 405, "method_not_allowed")
	h.ask("BREW", "/v1/models", "")
	require.Equal(t, "other", h.logged().Method)
}

// Only a path that a route names is ever answered with 200.
func TestNoPathWithoutARouteIsAnswered(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	secret := h.key(access.Owner)
	named := func(p string) bool {
		parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
		switch {
		case p == "/healthz", p == "/v1/models", p == "/v1/chat/completions", p == "/mcp":
			return true
		case len(parts) >= 3 && parts[0] == "v1" && parts[1] == "dreams" && parts[2] != "":
			return len(parts) == 3 || len(parts) == 4 && parts[3] == "events"
		}
		return false
	}
	// what is served as one of them: several slashes for one, and /v1 left out or twice
	meant := func(p string) string {
		var parts []string
		for part := range strings.SplitSeq(p, "/") {
			if part != "" {
				parts = append(parts, part)
			}
		}
		one := "/" + strings.Join(parts, "/")
		if strings.HasSuffix(p, "/") {
			one += "/"
		}
		switch {
		case named(one):
			return one
		case strings.HasPrefix(one, "/v1/v1/"):
			return strings.TrimPrefix(one, "/v1")
		case !strings.HasPrefix(one, "/v1/"):
			return "/v1" + one
		}
		return one
	}
	r := rand.New(rand.NewPCG(3, 4))
	pieces := []string{
		"/", "v1", "models", "chat", "completions", "dreams", "events", "mcp", "healthz", "..", ".",
		"%2e%2e", "%2F", "%00", ";", "x", "//", "\\", "%5c", "é", "*",
	}
	found := 0
	for range 30000 {
		var b strings.Builder
		b.WriteString("/")
		for range 1 + r.IntN(6) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		u, err := url.ParseRequestURI(b.String())
		if err != nil {
			continue
		}
		q := httptest.NewRequest([]string{"GET", "POST", "DELETE", "HEAD", "OPTIONS", "CONNECT", "X"}[r.IntN(7)], "/",
			nil)
		q.URL, q.Host = u, "localhost"
		sure := r.IntN(2) == 0
		if sure {
			q.Header.Set("Authorization", "Bearer "+secret)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		if w.Code < 400 {
			found++
			require.Equal(t, 200, w.Code)
			require.True(t, named(meant(u.EscapedPath())), "%s", b.String())
			require.NotContains(t, strings.Split(u.EscapedPath(), "/"), "..", "%s", b.String())
			require.True(t, sure || meant(u.EscapedPath()) == "/healthz", "%s", b.String())
		}
	}
	require.Greater(t, found, 100)
}

func TestAPathOfAWireThatIsNotServedSaysWhy(t *testing.T) {
	t.Parallel()
	nothing := func(http.ResponseWriter, *http.Request) {}
	h := newServer(t, []front.Route{
		{Method: "GET", Path: "/v1/responses/{response}", Role: access.Client, Serve: nothing},
		{Method: "GET", Path: "/v1/models", Role: access.Client, Serve: nothing},
	})
	secret := h.key(access.Client)
	for path, why := range map[string]string{
		"/v1/responses/compact": "compacts no conversation", "/v1/responses/input_tokens": "count_tokens",
	} {
		w := h.ask("POST", path, "{}", bearer(secret)...)
		refused(t, w, 404, "unknown_path")
		require.Contains(t, w.Body.String(), why)
	}
	refused(t, h.ask("POST", "/v1/responses/resp_1", "{}", bearer(secret)...), 405, "method_not_allowed")
	for _, path := range []string{"/v1/v1/models", "/v1//v1/models", "/models"} {
		require.Equal(t, 200, h.ask("GET", path, "", bearer(secret)...).Code, path)
	}
}

func TestAnUnknownPathNamesTheOneThatWasMeant(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	secret := h.key(access.Client)
	for question, meant := range map[string]string{
		"/Models/": "/v1/models", "/v1/models/": "/v1/models", "/models/": "/v1/models", "/V1/models": "/v1/models",
		"/v1/v1/v1/models": "/v1/models", "/openai/v1/models": "/v1/models", "/v1//./models": "/v1/models",
		"/": "", "/v1": "", "/debug/pprof": "", "/v1/nothing": "",
	} {
		w := h.ask("POST", question, "", bearer(secret)...)
		refused(t, w, 404, "unknown_path")
		if meant == "" {
			require.NotContains(t, w.Body.String(), "did you mean", question)
			continue
		}
		require.Contains(t, w.Body.String(), "; did you mean "+meant+"?", question)
		require.NotContains(t, h.ask("POST", question, "").Body.String(), "did you mean",
			"a client without a key learns of no path")
	}
}

// An address without /v1, or with more slashes than one, is served as the one that was meant: with the same role, the
// same route in the log and the metrics, and the same idempotency key.
func TestAnAddressThatIsNearlyRightIsServedAsTheRightOne(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	secrets := map[access.Role]string{}
	for _, role := range []access.Role{access.Client, access.Operator, access.Owner} {
		secrets[role] = h.key(role)
	}
	for _, route := range routesOfEachKind() {
		if route.Open || route.Method == "" {
			continue
		}
		right := strings.ReplaceAll(route.Path, "{id}", "dream%2Fecho%2F0001")
		bare := strings.TrimPrefix(right, "/v1")
		for _, near := range []string{bare, "/" + bare, "/" + right, strings.ReplaceAll(right, "/", "//")} {
			refused(t, h.ask(route.Method, near, ""), 401, "invalid_api_key")
			for role, secret := range secrets {
				want := h.ask(route.Method, right, "a body", bearer(secret)...)
				before := h.observed[route.Path]
				w := h.ask(route.Method, near, "a body", bearer(secret)...)
				require.Equal(t, want.Code, w.Code, "%s as %s", near, role)
				require.Equal(t, role.Includes(route.Role), w.Code == 200, "%s as %s", near, role)
				if w.Code == 200 {
					require.Equal(t, want.Body.String(), w.Body.String(), near)
				}
				require.Equal(t, route.Path, h.logged().Route)
				require.Equal(t, before+1, h.observed[route.Path])
				require.Empty(t, w.Header().Get("Location"))
			}
		}
	}
	require.Equal(t, 200, h.ask("GET", "//healthz", "").Code)
	refused(t, h.ask("PUT", "/models", "", bearer(secrets[access.Owner])...), 405, "method_not_allowed")
}

func TestARequestKeepsItsIDIfItIsSane(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	sane := "Run-7_a.b:9"
	w := h.ask("GET", "/healthz", "", "X-Request-Id", sane)
	require.Equal(t, sane, w.Header().Get("X-Request-Id"))
	require.Equal(t, sane, h.logged().ID)
	for _, odd := range []string{"", "a b", "a\tb", strings.Repeat("x", 129), "<script>", "né", "a\"b"} {
		w := h.ask("GET", "/nowhere", "", "X-Request-Id", odd)
		id := w.Header().Get("X-Request-Id")
		require.Regexp(t, `^req_[a-z2-7]{26}$`, id)
		require.Equal(t, id, h.logged().ID)
		refused(t, w, 404, "unknown_path")
	}
}

func TestAFaultOfAHandlerIsSent(t *testing.T) {
	t.Parallel()
	secretText := errors.New("the moon is made of secrets")
	var fault error
	h := newServer(t,
		[]front.Route{
			{Method: "POST", Path: "/do", Role: access.Client, Serve: func(w http.ResponseWriter, r *http.Request) {
				require.Equal(t, w.Header().Get("X-Request-Id"), front.RequestID(r.Context()))
				front.Refuse(w, r, fault)
			}},
		})
	fault = fmt.Errorf("wrapped: %w", &psyche.Fault{
		Status:  429,
		Type:    "rate_limit_error",
		Code:    "too_dear",
		Param:   "model",
		Message: "it is spent",
		Retry:   1500 * time.Millisecond,
		Err:     secretText,
	})
	w := h.ask("POST", "/do", "")
	refused(t, w, 429, "too_dear")
	require.Equal(t, "2", w.Header().Get("Retry-After"))
	require.Equal(t, "1500", w.Header().Get("Retry-After-Ms"))
	require.Contains(t, w.Body.String(), `"param":"model"`)
	require.NotContains(t, w.Body.String(), "moon")
	require.Equal(t, "too_dear", h.logged().Code)
	require.ErrorIs(t, h.logged().Err, secretText)
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{secretText, 500, "internal_error"},
		{context.DeadlineExceeded, 504, "timeout"},
		{context.Canceled, 500, "internal_error"},
		{&http.MaxBytesError{Limit: 7}, 413, "body_too_large"},
		{&psyche.Fault{Status: 0, Type: "server_error", Code: "odd", Message: "m"}, 500, "odd"},
	} {
		fault = c.err
		w := h.ask("POST", "/do", "")
		refused(t, w, c.status, c.code)
		require.NotContains(t, w.Body.String(), "moon")
		require.Contains(t, w.Body.String(), `"param":null`)
	}
}

func TestAPanicIsAnsweredAndReported(t *testing.T) {
	t.Parallel()
	h := newServer(t, []front.Route{
		{
			Method: "GET", Path: "/early", Role: access.Client,
			Serve: func(http.ResponseWriter, *http.Request) { panic("of the moon") },
		},
		{Method: "GET", Path: "/late", Role: access.Client, Serve: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("half"))
			panic("of the moon")
		}},
		{Method: "GET", Path: "/cut", Role: access.Client, Serve: func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("half"))
			front.Refuse(w, r, errors.New("upstream broke"))
		}},
	})
	w := h.ask("GET", "/early", "")
	refused(t, w, 500, "internal_error")
	require.NotContains(t, w.Body.String(), "moon")
	require.Len(t, h.reports, 1)
	require.ErrorContains(t, h.reports[0], "of the moon")
	for _, path := range []string{"/late", "/cut"} {
		require.PanicsWithValue(t, http.ErrAbortHandler, func() { h.ask("GET", path, "") },
			"net/http cuts the connection")
		require.True(t, h.logged().Dropped)
		require.EqualValues(t, 4, h.logged().Bytes)
	}
	require.Equal(t, map[string]int{"/early": 1, "/late": 1, "/cut": 1}, h.observed)
}

func TestTheLogHoldsNoTextAndNoQuery(t *testing.T) {
	t.Parallel()
	h := newServer(t, routesOfEachKind())
	secret := h.key(access.Client)
	for _, path := range []string{"/v1/chat/completions?q=planted", "/planted", "/v1/models?planted=1"} {
		h.ask("POST", path, "planted",
			append(bearer(secret), "X-Planted", "planted", "Referer", "http://127.0.0.1:7680/planted", "User-Agent",
				"planted")...)
		e := h.logged()
		require.NotContains(t, fmt.Sprintf("%+v", e), "planted")
		require.NotContains(t, fmt.Sprintf("%+v", e), secret)
		require.Equal(t, "192.0.2.1", e.Remote)
	}
}

func TestAKeysLimitsAreCompletedByTheDeployments(t *testing.T) {
	t.Parallel()
	var seen psyche.Caller
	day, own := budget.Dollar, budget.Micros(0)
	h := newServer(t,
		[]front.Route{
			{
				Method: "GET", Path: "/who", Role: access.Client,
				Serve: func(_ http.ResponseWriter, r *http.Request) { seen = front.CallerOf(r.Context()) },
			},
		},
		func(o *front.Options) { o.Limits = front.Limits{Rate: 60, Day: &day} })
	h.ask("GET", "/who", "")
	require.Empty(t, seen.Key.ID)
	require.True(t, seen.May(access.Owner, "echo"))
	require.Equal(t, day, *seen.Key.Day)
	h.clock.pass(5 * time.Second)
	h.ask("GET", "/who", "",
		bearer(h.key(access.Client, func(k *access.Key) { k.Day, k.Rate, k.Agents = &own, 7, []string{"echo"} }))...)
	require.Equal(t, own, *seen.Key.Day)
	require.Equal(t, 7, seen.Key.Rate)
	require.True(t, seen.May(access.Client, "echo"))
	require.False(t, seen.May(access.Client, "tally"))
	require.False(t, seen.May(access.Operator, "echo"))
	plain := h.key(access.Client)
	h.clock.pass(time.Second)
	h.ask("GET", "/who", "", bearer(plain)...)
	require.Equal(t, day, *seen.Key.Day)
	require.Equal(t, 60, seen.Key.Rate)
}

func TestRoutesThatOpenTooMuchAreRefused(t *testing.T) {
	t.Parallel()
	fine := front.Route{Method: "GET", Path: "/x", Role: access.Client, Serve: say("")}
	for why, alter := range map[string]func(*front.Options, *front.Route){
		"is signed":        func(_ *front.Options, r *front.Route) { r.Signed = true },
		"no wildcard":      func(_ *front.Options, r *front.Route) { r.Path, r.Form = "/x/{a}", &front.Form{} },
		"is open":          func(_ *front.Options, r *front.Route) { r.Open = true },
		"asks for role":    func(_ *front.Options, r *front.Route) { r.Role = "" },
		"must begin with":  func(_ *front.Options, r *front.Route) { r.Path = "/x/" },
		"every path below": func(_ *front.Options, r *front.Route) { r.Path = "/x/{rest...}" },
		"has no handler":   func(_ *front.Options, r *front.Route) { r.Serve = nil },
		"two routes name":  func(o *front.Options, r *front.Route) { o.Routes = append(o.Routes, *r) },
		"conflicts": func(o *front.Options, r *front.Route) {
			r.Path = "/{a}/b"
			o.Routes = append(o.Routes, front.Route{Method: "GET", Path: "/b/{a}", Role: access.Client, Serve: say("")})
		},
		"has not the form":    func(o *front.Options, _ *front.Route) { o.Origins = []string{"app.example.org"} },
		"needs a store":       func(o *front.Options, _ *front.Route) { o.Keys = nil },
		`"relative"`:          func(_ *front.Options, r *front.Route) { r.Path = "relative" },
		"name something":      func(_ *front.Options, r *front.Route) { r.Path = "/" },
		"every path below it": func(_ *front.Options, r *front.Route) { r.Path = "/x/{$}" },
	} {
		o, r := front.Options{Keys: &accesstest.Book{}}, fine
		alter(&o, &r)
		o.Routes = append(o.Routes, r)
		_, err := front.New(o)
		require.ErrorContains(t, err, why)
	}
}
