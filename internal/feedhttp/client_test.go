package feedhttp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// secretive is a URL with a secret in every part that may hold one.
func secretive(t *testing.T, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	require.NoError(t, err)
	u.User, u.Path, u.RawQuery = url.UserPassword("secret-user", "secret-password"), "/secret-path", "key=secret-query"
	return u.String()
}

func serve(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s
}

func TestAFeedIsAskedWithWhatItsURLHolds(t *testing.T) {
	t.Parallel()
	var request *http.Request
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		request = r.Clone(context.Background())
		fmt.Fprint(w, `{"data":[{"price":"67000.5"}]}`)
	})
	got, err := NewClient("oneiros/test", 0).Fetch(t.Context(),
		dream.Feed{URL: secretive(t, s.URL), Path: "$.data[0].price"})
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.InDelta(t, 67000.5, *got[0].Number, 0)
	require.Equal(t, "oneiros/test", request.UserAgent())
	require.Equal(t, "application/json", request.Header.Get("Accept"))
	_, password, _ := request.BasicAuth()
	require.Equal(t, "secret-password", password)
	require.Equal(t, "/secret-path?key=secret-query", request.URL.RequestURI())
}

func TestWhatGoesWrongIsSaidWithoutTheURLAndTheAnswer(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"price":1}`) })
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"a status", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "secret-answer", http.StatusTooManyRequests)
		}, "it answered 429 Too Many Requests"},
		{
			"no JSON", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>secret-answer") },
			"its answer is not JSON",
		},
		{
			"a long answer",
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(" ", Document+1)) },
			"its answer is longer than 1024 KiB",
		},
		{
			"another place in it", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"secret-answer":1}`) },
			`path "$.price": it leads to nothing`,
		},
		{"a redirect to another host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/secret-path?"+r.URL.RawQuery, http.StatusFound)
		}, "it redirects to another host, " + strings.TrimPrefix(elsewhere.URL, "http://")},
		{"a redirect to itself", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.String(), http.StatusFound)
		}, "it redirects more than 3 times"},
		{"a redirect to nowhere", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://%zz/secret-query")
			w.WriteHeader(http.StatusFound)
		}, "the exchange broke off"},
		{
			"a connection that breaks", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"the exchange broke off",
		},
		{
			"no answer", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			"it did not answer in time",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.answer)
			patience := 30 * time.Second
			if c.name == "no answer" {
				patience = 20 * time.Millisecond
			}
			_, err := NewClient("oneiros/test", patience).Fetch(t.Context(),
				dream.Feed{URL: secretive(t, s.URL), Path: "$.price"})
			require.ErrorContains(t, err, strings.TrimPrefix(s.URL, "http://")+": "+c.want)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestAHostThatIsNotThereIsNamedAndNothingElse(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	address := secretive(t, s.URL)
	s.Close()
	client := NewClient("oneiros/test", 0)
	_, err := client.Fetch(t.Context(), dream.Feed{URL: address})
	require.ErrorContains(t, err, "the connection failed: dial")
	require.NotContains(t, err.Error(), "secret")

	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(untrusted.Close)
	_, err = client.Fetch(t.Context(), dream.Feed{URL: secretive(t, untrusted.URL)})
	require.ErrorContains(t, err, "its certificate is not trusted")
	require.NotContains(t, err.Error(), "secret")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = client.Fetch(ctx, dream.Feed{URL: address})
	require.ErrorIs(t, err, context.Canceled)
}

func TestAFeedIsCheckedBeforeItIsAsked(t *testing.T) {
	t.Parallel()
	require.NoError(t, Check(dream.Feed{}))
	require.NoError(t, Check(dream.Feed{URL: "https://host/x", Path: "data[0].price"}))
	for _, wrong := range []string{"https://user:secret@ho st", "://secret", "ftp://secret", "https:///secret"} {
		err := Check(dream.Feed{URL: wrong})
		require.ErrorContains(t, err, "the url of the feed cannot be read")
		require.NotContains(t, err.Error(), "secret")
		_, err = NewClient("", 0).Fetch(t.Context(), dream.Feed{URL: wrong})
		require.ErrorContains(t, err, "the url of the feed cannot be read")
	}
	require.ErrorContains(t, Check(dream.Feed{URL: "https://host", Path: "$.a["}), `path "$.a[" cannot be read`)
}
