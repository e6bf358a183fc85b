package openaigw_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// refusals is how much of an error body is passed on.
const refusals = 64 << 10

const talk = `{"model":"script","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"the harbour in winter"}],"unknown_field":{"kept":true}}`

func relayed(body string) inference.RelayRequest {
	return inference.RelayRequest{
		Method: http.MethodPost,
		Path:   "/chat/completions",
		Body:   []byte(body),
		Model:  "p/script",
		Key:    "turn#1",
		Header: map[string][]string{
			"Content-Type": {"application/json"}, "Authorization": {"Bearer the-callers-own"},
			"Cookie": {"a=b"}, "X-Session": {"s"}, "Traceparent": {"t"}, "Connection": {"close"},
		},
	}
}

func TestARelayChangesNoByteAndReadsTheUsage(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"stream": talk,
		"plain":  strings.Replace(talk, `"stream":true`, `"stream":false`, 1),
	} {
		direct, _ := stage(t, provider.Options{Seed: 3})
		res, err := http.Post(direct.URL+"/chat/completions", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		want, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())

		s, g := stage(t, provider.Options{Seed: 3, Key: secret})
		got, err := g.Relay(t.Context(), relayed(body))
		require.NoError(t, err)
		bytes, err := io.ReadAll(got.Body)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		require.Equal(t, 200, got.Status)
		require.Equal(t, string(want), string(bytes), name)
		require.Equal(t, res.Header.Get("Content-Type"), http.Header(got.Header).Get("Content-Type"))

		c := quiet(t, s)[0]
		seen := got.Seen()
		require.True(t, seen.Ended)
		require.Equal(t, inference.ByProvider, seen.UsageFrom)
		require.Equal(t, c.Completion, seen.Tokens.Out)
		require.Equal(t, c.Prompt, seen.Tokens.In)
		require.Equal(t, "turn#1", c.Key)
		if name == "stream" {
			require.Equal(t, c.Completion, seen.Pieces)
			require.NotEmpty(t, seen.Finish)
		}
	}
}

func TestARelayPassesOnWhatBelongsToTheRequestAlone(t *testing.T) {
	t.Parallel()
	var header http.Header
	var body []byte
	g := answering(t, spec(), func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("X-Request-Id", "42")
		w.Header().Set("Keep-Alive", "timeout=5")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout")
	})
	r := relayed(talk)
	r.Model = "p/m"
	res, err := g.Relay(t.Context(), r)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusTeapot, res.Status, "refusals are answers")
	require.Equal(t, "42", http.Header(res.Header).Get("X-Request-Id"))
	require.Empty(t, http.Header(res.Header).Get("Keep-Alive"))
	require.True(t, bytes.Equal([]byte(talk), body))
	require.Equal(t, "Bearer "+secret, header.Get("Authorization"))
	require.Equal(t, "t", header.Get("Traceparent"))
	require.Empty(t, header.Get("X-Session"), "of the caller's headers those of the list go alone")
	require.Empty(t, header.Get("Cookie"))
	require.Empty(t, header.Get("Accept-Encoding"))
	result, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "short and stout", string(result))
	require.Equal(t, inference.ByCount, res.Seen().UsageFrom)
	require.Equal(t, "Bearer the-callers-own", r.Header["Authorization"][0], "the caller's headers stay the caller's")
}

func TestARelayThatIsClosedHangsUp(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{})
	s.Next(provider.HangMiddle)
	res, err := g.Relay(t.Context(), relayed(talk))
	require.NoError(t, err)
	_, err = io.ReadAtLeast(res.Body, make([]byte, 1000), 1000)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	quiet(t, s)
	seen := res.Seen()
	require.False(t, seen.Ended)
	require.Equal(t, inference.ByCount, seen.UsageFrom)
	require.Positive(t, seen.Pieces)
}

func TestARelayDistinguishesInterruptionsFromBreaks(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{})
	s.Next(provider.HangMiddle, provider.CutMiddle)
	connect := errors.New("connect")
	ctx, wake := context.WithCancelCause(t.Context())
	res, err := g.Relay(ctx, relayed(talk))
	require.NoError(t, err)
	_, err = io.ReadAtLeast(res.Body, make([]byte, 1000), 1000)
	require.NoError(t, err)
	wake(connect)
	_, err = io.ReadAll(res.Body)
	require.ErrorIs(t, err, connect)
	require.NoError(t, res.Body.Close())
	_, err = g.Relay(ctx, relayed(talk))
	require.ErrorIs(t, err, connect)

	res, err = g.Relay(t.Context(), relayed(talk))
	require.NoError(t, err)
	_, err = io.ReadAll(res.Body)
	f, ok := inference.AsFailure(err)
	require.True(t, ok, "%v", err)
	require.Equal(t, inference.Broken, f.Kind)
	require.NoError(t, res.Body.Close())
}

func TestARelayRefusesWhatHasNoPriceOrNoPlace(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{})
	for name, change := range map[string]func(*inference.RelayRequest){
		"unpriced":  func(r *inference.RelayRequest) { r.Model = "p/unpriced" },
		"unknown":   func(r *inference.RelayRequest) { r.Model = "p/nobody" },
		"method":    func(r *inference.RelayRequest) { r.Method = http.MethodDelete },
		"outside":   func(r *inference.RelayRequest) { r.Path = "/../admin" },
		"elsewhere": func(r *inference.RelayRequest) { r.Path = "@evil.example/" },
	} {
		r := relayed(talk)
		change(&r)
		_, err := g.Relay(t.Context(), r)
		f, ok := inference.AsFailure(err)
		require.True(t, ok, name)
		require.False(t, f.Billed)
	}
	require.Empty(t, s.Billing.Calls())
	res, err := g.Relay(t.Context(), inference.RelayRequest{Method: http.MethodGet, Path: "/models"})
	require.NoError(t, err)
	defer res.Body.Close()
	list, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Contains(t, string(list), `"script"`)
}

func TestARefusalThatQuotesOurKeyComesBackWithoutIt(t *testing.T) {
	t.Parallel()
	// A key cut in its middle is not shown either.
	for _, length := range []int{
		0,
		refusals - len(secret)/2 - len(`{"error":{"message":"Incorrect API key provided: `),
	} {
		g := answering(t, spec(), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w,
				strings.Repeat("x", length)+`{"error":{"message":"Incorrect API key provided: `+
					strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+`"}}`)
		})
		r := relayed(talk)
		r.Model = "p/m"
		res, err := g.Relay(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, http.StatusUnauthorized, res.Status)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.NotContains(t, string(body), secret[:len(secret)/2])
		if length == 0 {
			require.JSONEq(t, `{"error":{"message":"`+notYours+`. It says: Incorrect API key provided: [secret]"}}`,
				string(body))
		}
	}
}

const notYours = `provider \"p\" refused this server, and not the key that you sent (HTTP 401); its operator must give it another key or model`

func TestTheErrorForARefusedKeySaysItIsTheServers(t *testing.T) {
	t.Parallel()
	for name, it := range map[string]struct {
		status           int
		kind, body, want string
	}{
		"the shape stays": {
			401, "application/json",
			`{"error":{"message":"No.","type":"invalid_request_error","param":"x","code":"invalid_api_key"},"request_id":7}`,
			`{"error":{"message":"` + notYours +
				`. It says: No.","type":"invalid_request_error","param":"x","code":"invalid_api_key"},"request_id":7}`,
		},
		"another shape": {
			401, "application/json", `{"detail":"Not authenticated"}`,
			`{"detail":"Not authenticated","error":{"message":"` + notYours +
				`. It says: {\"detail\":\"Not authenticated\"}","type":"upstream_error","param":null,"code":"upstream_refused"}}`,
		},
		"no JSON": {
			401, "text/plain", "go away",
			`{"error":{"message":"` + notYours +
				`. It says: go away","type":"upstream_error","param":null,"code":"upstream_refused"}}`,
		},
		"an error in words": {
			403, "application/json", `{"error":"region"}`,
			`{"error":{"message":"` + strings.Replace(notYours, "401", "403", 1) +
				`. It says: {\"error\":\"region\"}","type":"upstream_error","param":null,"code":"upstream_refused"}}`,
		},
		"no words": {
			403, "", "",
			`{"error":{"message":"` + strings.Replace(notYours, "401", "403", 1) +
				`","type":"upstream_error","param":null,"code":"upstream_refused"}}`,
		},
		"another refusal": {400, "application/json", `{"error":{"message":"No."}}`, `{"error":{"message":"No."}}`},
	} {
		for _, key := range []string{secret, ""} {
			g := answering(t, spec(), func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", it.kind)
				w.WriteHeader(it.status)
				_, _ = io.WriteString(w, it.body)
			}, func(o *openaigw.Options) { o.APIKey = key })
			r := relayed(talk)
			r.Model = "p/m"
			res, err := g.Relay(t.Context(), r)
			require.NoError(t, err, name)
			require.Equal(t, it.status, res.Status, name)
			require.Equal(t, "application/json", http.Header(res.Header).Get("Content-Type"), name)
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err, name)
			require.NoError(t, res.Body.Close())
			require.JSONEq(t, it.want, string(body), name)
		}
	}
}

func TestWhatNoAPIAnsweredIsAFailureThatNamesTheProvider(t *testing.T) {
	t.Parallel()
	for name, it := range map[string]struct {
		status   int
		kind, to string
		billed   bool
		says     string
	}{
		"a login page": {
			200, "text/html; charset=utf-8", "", true,
			`HTTP 200 with a page (text/html) and no JSON`,
		},
		"a proxy's refusal": {403, "text/html", "", false, `HTTP 403 with a page (text/html)`},
		"a proxy's error":   {502, "Application/XHTML+XML", "", true, `HTTP 502 with a page (application/xhtml+xml)`},
		"a move": {
			301, "text/html", "https://elsewhere.example/v1?token=of-theirs", true,
			`HTTP 301 with a redirect to https://elsewhere.example, which is not followed`,
		},
		"a way": {307, "", "/login", true, `HTTP 307 with a redirect, which is not followed`},
	} {
		g := answering(t, spec(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", it.kind)
			w.Header().Set("Retry-After", "7")
			if it.to != "" {
				w.Header().Set("Location", it.to)
			}
			w.WriteHeader(it.status)
			_, _ = io.WriteString(w, "<html><title>Sign in, "+secret+"</title>")
		})
		r := relayed(talk)
		r.Model = "p/m"
		_, err := g.Relay(t.Context(), r)
		f, ok := inference.AsFailure(err)
		require.True(t, ok, name)
		require.Equal(t, inference.Malformed, f.Kind, name)
		require.Equal(t, it.status, f.Status, name)
		require.Equal(t, it.billed, f.Billed, name)
		require.Equal(t, 7*time.Second, f.RetryAfter, name)
		require.Contains(t, f.Message, `provider "p" answered `+it.says, name)
		require.Contains(t, f.Message, "base_url must be", name)
		require.NotContains(t, f.Message, "Sign in", name)
		require.NotContains(t, f.Message, "of-theirs", name)
	}
}

func TestJSONThatIsCalledAPageGoesBy(t *testing.T) {
	t.Parallel()
	const answer = "\n  {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n"
	for _, body := range []string{answer, "data: {}\n\n"} {
		g := answering(t, spec(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=UTF-8")
			_, _ = io.WriteString(w, body)
		})
		r := relayed(talk)
		r.Model = "p/m"
		res, err := g.Relay(t.Context(), r)
		require.NoError(t, err)
		got, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, body, string(got))
		if body == answer {
			require.Equal(t, int64(2), res.Seen().Tokens.Out)
		}
	}
}

func TestARelayedBodyIsLetGoOfWhileItsAnswerLasts(t *testing.T) {
	t.Parallel()
	read := make(chan int, 1)
	g := answering(t, spec(), func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		read <- len(got)
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	sent, body := relayedWeakly(t, g)
	defer body.Close()
	require.Equal(t, len(talk)+1<<20, <-read)
	require.Eventually(t, func() bool { runtime.GC(); return sent.Value() == nil }, 10*time.Second, time.Millisecond,
		"the request's bytes are held by its answer")
}

// relayedWeakly relays a body of a megabyte that nothing here holds when it returns.
func relayedWeakly(t *testing.T, g *openaigw.Gateway) (weak.Pointer[byte], io.Closer) {
	t.Helper()
	r := relayed(talk + strings.Repeat(" ", 1<<20))
	r.Model = "p/m"
	sent := weak.Make(&r.Body[0])
	res, err := g.Relay(t.Context(), r)
	require.NoError(t, err)
	return sent, res.Body
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"/elsewhere", "", "http://[::1"} {
		var request atomic.Int64
		g := answering(t, spec(), func(w http.ResponseWriter, _ *http.Request) {
			request.Add(1)
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		})
		r := relayed(talk)
		r.Model = "p/m"
		_, err := g.Relay(t.Context(), r)
		f, ok := inference.AsFailure(err)
		require.True(t, ok, "%q: %v", to, err)
		require.Equal(t, inference.Malformed, f.Kind, to)
		require.EqualValues(t, 1, request.Load(), to)
	}
}

func TestWhatARelayHasSeenIsKnownWhileItLasts(t *testing.T) {
	t.Parallel()
	more := make(chan string)
	g := answering(t, spec(), func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for piece := range more {
			_, _ = io.WriteString(w, piece)
			_ = http.NewResponseController(w).Flush()
		}
	})
	r := relayed(talk)
	r.Model = "p/m"
	var once sync.Once
	over := func() { once.Do(func() { close(more) }) }
	defer over()
	const piece = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
	go func() { more <- piece }()
	res, err := g.Relay(t.Context(), r)
	require.NoError(t, err)
	defer res.Body.Close()
	got := make([]byte, len(piece))
	_, err = io.ReadFull(res.Body, got)
	require.NoError(t, err)
	require.Equal(t, piece, string(got))
	require.EqualValues(t, 1, res.Seen().Pieces, "what was read counts before the next is read")
	over()
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	require.EqualValues(t, 1, res.Seen().Pieces)
	require.True(t, res.Seen().Ended)
}

func TestTheUsageOfALongStreamIsRead(t *testing.T) {
	t.Parallel()
	piece := "data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("a", 1000) + "\"}}]}\n\n"
	const pieces = 3000 // more than an event may be long
	g := answering(t, spec(), func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for range pieces {
			_, _ = io.WriteString(w, piece)
		}
		_, _ = io.WriteString(w,
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":4000}}\n\ndata: [DONE]\n\n")
	})
	r := relayed(talk)
	r.Model = "p/m"
	res, err := g.Relay(t.Context(), r)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	seen := res.Seen()
	require.Equal(t, inference.ByProvider, seen.UsageFrom)
	require.EqualValues(t, 4000, seen.Tokens.Out)
	require.EqualValues(t, pieces, seen.Pieces)
}

// Compression is not requested, but a server may use it unasked.
func TestAPackedRefusalComesBackPlainAndWithoutOurKey(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 429} {
		for name, pack := range map[string]func(io.Writer) io.WriteCloser{
			"packed":        func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
			"said to be so": func(w io.Writer) io.WriteCloser { return unpacked{w} },
		} {
			g := answering(t, spec(), func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(status)
				z := pack(w)
				_, _ = io.WriteString(z, `{"error":{"message":"Too often with `+secret+`."}}`)
				_ = z.Close()
			})
			r := relayed(talk)
			r.Model = "p/m"
			res, err := g.Relay(t.Context(), r)
			require.NoError(t, err, name)
			require.Equal(t, status, res.Status, name)
			require.Empty(t, http.Header(res.Header).Get("Content-Encoding"), name)
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err, name)
			require.NoError(t, res.Body.Close())
			require.Contains(t, string(body), "Too often with [secret].", name)
		}
	}
}

type unpacked struct{ io.Writer }

func (unpacked) Close() error { return nil }
