package openaigw_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// refusals is how much of one is passed on.
const refusals = 64 << 10

const talk = `{"model":"script","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"the harbour in winter"}],"unknown_field":{"kept":true}}`

func relayed(body string) inference.RelayRequest {
	return inference.RelayRequest{
		Method: http.MethodPost, Path: "/chat/completions", Body: []byte(body), Model: "p/script", Key: "turn#1",
		Header: map[string][]string{"Content-Type": {"application/json"}, "Authorization": {"Bearer the-callers-own"}, "Cookie": {"a=b"}, "X-Session": {"s"}, "Connection": {"close"}},
	}
}

func TestARelayAltersNoByteAndOverhearsTheUsage(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"stream": talk, "plain": strings.Replace(talk, `"stream":true`, `"stream":false`, 1)} {
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
	require.Equal(t, "s", header.Get("X-Session"))
	require.Empty(t, header.Get("Cookie"))
	require.Empty(t, header.Get("Accept-Encoding"))
	told, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "short and stout", string(told))
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

func TestARelayTellsItsInterruptionsAndBreaksApart(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{})
	s.Next(provider.HangMiddle, provider.CutMiddle)
	knock := errors.New("knock")
	ctx, wake := context.WithCancelCause(t.Context())
	res, err := g.Relay(ctx, relayed(talk))
	require.NoError(t, err)
	_, err = io.ReadAtLeast(res.Body, make([]byte, 1000), 1000)
	require.NoError(t, err)
	wake(knock)
	_, err = io.ReadAll(res.Body)
	require.ErrorIs(t, err, knock)
	require.NoError(t, res.Body.Close())
	_, err = g.Relay(ctx, relayed(talk))
	require.ErrorIs(t, err, knock)

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
	require.Empty(t, s.Till.Calls())
	res, err := g.Relay(t.Context(), inference.RelayRequest{Method: http.MethodGet, Path: "/models"})
	require.NoError(t, err)
	defer res.Body.Close()
	list, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Contains(t, string(list), `"script"`)
}

func TestARefusalThatQuotesOurKeyComesBackWithoutIt(t *testing.T) {
	t.Parallel()
	for _, length := range []int{0, refusals - len(secret)/2 - len(`{"error":{"message":"Incorrect API key provided: `)} { // cut in its midst it is not shown either
		g := answering(t, spec(), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, strings.Repeat("x", length)+`{"error":{"message":"Incorrect API key provided: `+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+`"}}`)
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
			require.Equal(t, `{"error":{"message":"Incorrect API key provided: [secret]"}}`, string(body))
		}
	}
}
