package anthropicgw_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/anthropicgw"
	"github.com/seed-56a03226/oneiros/internal/psyche/completion"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

func relayed(path, body string) inference.RelayRequest {
	return inference.RelayRequest{
		Method: http.MethodPost,
		Path:   path,
		Body:   []byte(body),
		Model:  "p/script",
		Key:    "turn#1",
		Header: map[string][]string{
			"Content-Type": {"application/json"}, "Authorization": {"Bearer the-callers-own"},
			"X-Api-Key": {"the-callers-own"}, "Traceparent": {"t"},
		},
	}
}

func read(t *testing.T, g *anthropicgw.Gateway, r inference.RelayRequest) (string, *inference.RelayResponse) {
	t.Helper()
	res, err := g.Relay(t.Context(), r)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return string(body), res
}

const talkFields = `"model":"script","max_tokens":40,"messages":[{"role":"user","content":"the harbour in winter"}]`

func TestABodyOfMessagesIsPassedOnUnchangedAndItsUsageRead(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"true", "false"} {
		body := `{` + talkFields + `,"stream":` + stream + `}`
		direct, _ := stage(t, provider.Options{Seed: 3})
		req, err := http.NewRequest(http.MethodPost, direct.URL+"/messages", strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Anthropic-Version", anthropicgw.Version)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		want, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())

		s, g := stage(t, provider.Options{Seed: 3, Key: secret})
		got, response := read(t, g, relayed("/messages", body))
		require.Equal(t, string(want), got)
		call, seen := quiet(t, s)[0], response.Seen()
		require.Equal(t, inference.ByProvider, seen.UsageFrom)
		require.True(t, seen.CacheWrites)
		require.Equal(t, budget.Tokens{In: call.Prompt, Out: call.Completion}, seen.Tokens)
		require.Equal(t, "turn#1", call.Key)
		require.Contains(t, []string{"end_turn", "max_tokens"}, seen.Finish)
	}
}

func TestAChatCompletionIsAskedAndAnsweredPieceByPiece(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"true", "false"} {
		s, g := stage(t, provider.Options{Seed: 3, Key: secret})
		got, response := read(t, g, relayed("/chat/completions",
			`{`+talkFields+`,"temperature":0.5,"stream":`+stream+`,"stream_options":{"include_usage":true}}`))
		call, seen := quiet(t, s)[0], response.Seen()
		require.Equal(t, "/v1/messages", call.Path)
		require.Equal(t, http.StatusOK, response.Status)
		reader := completion.New(strings.NewReader(got), stream == "true")
		var text strings.Builder
		texts, finish := 0, ""
		var usage struct {
			In  int64 `json:"prompt_tokens"`
			Out int64 `json:"completion_tokens"`
		}
		for {
			pieces, err := reader.Next()
			for _, p := range pieces {
				switch p.Kind {
				case completion.Text:
					text.WriteString(p.Text)
					texts++
				case completion.Finish:
					finish = p.Text
				case completion.UsageCount:
					require.NoError(t, json.Unmarshal(p.Raw, &usage))
				}
			}
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				break
			}
		}
		require.NotEmpty(t, text.String())
		require.Equal(t, call.Completion, usage.Out)
		require.Equal(t, call.Prompt, usage.In)
		require.Equal(t, budget.Tokens{In: call.Prompt, Out: call.Completion}, seen.Tokens)
		require.Contains(t, []string{"stop", "length"}, finish)
		if stream == "true" {
			require.EqualValues(t, call.Completion, texts, "each piece by itself")
			require.True(t, reader.Done())
		}
	}
}

func TestARefusalHasTheFormOfTheWireThatAsked(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{Key: secret})
	s.Next(provider.LimitDelay)
	got, response := read(t, g, relayed("/chat/completions", `{`+talkFields+`}`))
	require.Equal(t, http.StatusTooManyRequests, response.Status)
	require.Equal(t, "1", http.Header(response.Header).Get("Retry-After"))
	var body struct {
		Error struct{ Message, Type, Code string }
	}
	require.NoError(t, json.Unmarshal([]byte(got), &body))
	require.Equal(t, "rate_limit_exceeded", body.Error.Code)
}

func TestWhatCannotBeSaidIsNotSent(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{Key: secret})
	for body, want := range map[string]string{
		`{` + talkFields + `,"seed":7}`: "seed: Anthropic's Messages has no such field",
		`{` + talkFields + `,"n":3}`:    "n: it is 3",
	} {
		_, err := g.Relay(t.Context(), relayed("/chat/completions", body))
		f, ok := inference.AsFailure(err)
		require.True(t, ok, "%v", err)
		require.Equal(t, inference.BadRequest, f.Kind)
		require.ErrorContains(t, err, want)
	}
	_, err := g.Relay(t.Context(), relayed("/embeddings", `{}`))
	require.ErrorContains(t, err, "/embeddings")
	r := relayed("/chat/completions", `{`+talkFields+`}`)
	r.Model = "p/unpriced"
	_, err = g.Relay(t.Context(), r)
	f, ok := inference.AsFailure(err)
	require.True(t, ok)
	require.Equal(t, inference.Unpriced, f.Kind)
	require.Empty(t, s.Billing.Calls())
}

func TestAStreamThatBreaksOffIsNoChatCompletion(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{Key: secret})
	for _, fault := range []provider.Fault{provider.CutMiddle, provider.BadChunk} {
		s.Next(fault)
		res, err := g.Relay(t.Context(), relayed("/chat/completions", `{`+talkFields+`,"stream":true}`))
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		_, failed := inference.AsFailure(err)
		require.True(t, failed, "%v", err)
		require.NotContains(t, string(body), "[DONE]")
		require.Contains(t, string(body), `"content":`, "what came before is passed on")
		if fault == provider.CutMiddle {
			require.Equal(t, inference.ByCount, res.Seen().UsageFrom)
		}
		require.NoError(t, res.Body.Close())
	}
}

// What Anthropic's library reads in the requests of dreams, and how its headers are named.
func TestTheLibraryReadsWhatADreamAsks(t *testing.T) {
	t.Parallel()
	var body []byte
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error",
			"message":"output_config.format: This model does not support structured outputs. Key `+secret+`"}}`)
	}))
	t.Cleanup(server.Close)
	spec := inference.Spec{
		Name: "p/claude", Provider: "p", Wire: "claude-haiku-4-5", Price: &budget.Price{In: 1, Out: 1},
		MaxTemperature: 1, TopP: true, Stop: true, JSON: inference.JSONSchema,
	}
	g, err := anthropicgw.New(anthropicgw.Options{
		Name: "p", BaseURL: server.URL + "/v1/", APIKey: secret, Catalog: inference.Table{"p/claude": spec},
	})
	require.NoError(t, err)
	r := request("p/claude")
	r.Sampling = inference.Sampling{Temperature: new(0.0), TopP: new(.9), MinP: new(.1), Seed: new(int64(3))}
	r.Stop = []string{"\n\n", "END"}
	r.Schema = &inference.Schema{
		Name: "s",
		JSON: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","maxLength":9}}}`),
	}
	_, err = g.Generate(t.Context(), r, nil)
	f, ok := inference.AsFailure(err)
	require.True(t, ok)
	require.Equal(t, `it refuses output_config; under providers.p.models say {name: "claude", json: prompt}`, f.Remedy)
	require.NotContains(t, err.Error(), secret)
	require.Equal(t, secret, header.Get("X-Api-Key"))
	require.Empty(t, header.Get("Authorization"))
	require.Equal(t, anthropicgw.Version, header.Get("Anthropic-Version"))
	var p anthropic.MessageNewParams
	require.NoError(t, json.Unmarshal(body, &p))
	require.EqualValues(t, "claude-haiku-4-5", p.Model)
	require.EqualValues(t, 60, p.MaxTokens)
	require.True(t, p.Temperature.Valid())
	require.Zero(t, p.Temperature.Value)
	require.Equal(t, []string{"END"}, p.StopSequences)
	require.Equal(t, map[string]any{
		"type": "object", "additionalProperties": false,
		"properties": map[string]any{"a": map[string]any{"type": "string", "description": "{maxLength: 9}"}},
	}, p.OutputConfig.Format.Schema)
	require.Len(t, p.Messages, 1)
	require.NotContains(t, string(body), "min_p")
	require.NotContains(t, string(body), "seed")
}

func TestEveryErrorOfAnthropicHasItsKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status  int
		kind    string
		message string
		want    inference.Kind
		billed  bool
	}{
		{400, "invalid_request_error", "bad", inference.BadRequest, false},
		{
			400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.",
			inference.NoMoney, false,
		},
		{401, "authentication_error", "invalid x-api-key", inference.Unauthorized, false},
		{402, "billing_error", "pay", inference.NoMoney, false},
		{403, "permission_error", "no", inference.Unauthorized, false},
		{404, "not_found_error", "model: x", inference.BadRequest, false},
		{413, "request_too_large", "long", inference.BadRequest, false},
		{429, "rate_limit_error", "slow down", inference.RateLimited, false},
		{500, "api_error", "oh", inference.Unavailable, true},
		{529, "overloaded_error", "Overloaded", inference.Unavailable, true},
	} {
		body := `{"type":"error","error":{"type":"` + c.kind + `","message":"` + c.message + `"}}`
		f := failing(t, c.status, "application/json", body)
		require.Equal(t, c.want, f.Kind, body)
		require.Equal(t, c.billed, f.Billed, body)
		require.Contains(t, f.Message, c.message)
		require.Positive(t, f.RetryAfter)
		if c.status == 400 {
			continue
		}
		f = failing(t, http.StatusOK, "text/event-stream", "event: error\ndata: "+body+"\n\n")
		require.Equal(t, c.want, f.Kind, body)
		require.True(t, f.Billed, "a stream that began may have cost something")
		require.Equal(t, c.status, f.Status)
	}
}

// failing is the failure of a generation that is answered like this.
func failing(t *testing.T, status int, kind, body string) *inference.Failure {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	spec := inference.Spec{Name: "p/claude", Provider: "p", Wire: "claude", Price: &budget.Price{In: 1, Out: 1}}
	g, err := anthropicgw.New(anthropicgw.Options{
		Name: "p", BaseURL: server.URL,
		Catalog: inference.Table{"p/claude": spec},
	})
	require.NoError(t, err)
	_, err = g.Generate(context.Background(), request("p/claude"), nil)
	f, ok := inference.AsFailure(err)
	require.True(t, ok, "%v", err)
	if status == http.StatusOK {
		f.RetryAfter = 1
	}
	return f
}
