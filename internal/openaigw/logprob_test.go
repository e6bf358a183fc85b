package openaigw_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

func TestLogProbabilitiesAreRequestedWhereTheModelReportsThem(t *testing.T) {
	t.Parallel()
	tells := spec()
	tells.LogProbs = true
	asking := request("p/m")
	asking.LogProbs = true
	f, _ := sent(t, tells, asking)
	require.Equal(t, true, f["logprobs"])
	f, _ = sent(t, spec(), asking)
	require.NotContains(t, f, "logprobs", "the model does not tell")
	f, _ = sent(t, tells, request("p/m"))
	require.NotContains(t, f, "logprobs", "nobody asked")
	f, _ = sent(t, tells, asking, func(o *openaigw.Options) { o.Profile.LogProbs = openaigw.Never })
	require.NotContains(t, f, "logprobs", "the server does not tell")
}

func TestTheMeanIsOfTheVisibleTokensReported(t *testing.T) {
	t.Parallel()
	chunk := func(delta, text string) string {
		return `data: {"choices":[{"index":0,"delta":{` + delta + `},"logprobs":` + text + `}]}` + "\n\n"
	}
	end := `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	for name, c := range map[string]struct {
		body string
		want any
	}{
		"two tokens": {
			chunk(`"content":"a"`, `{"content":[{"logprob":-1}]}`) +
				chunk(`"content":" b c"`, `{"content":[{"logprob":-2},{"logprob":-3}]}`) + end, -2.0,
		},
		"thinking is not shown": {
			chunk(`"reasoning_content":"hm"`, `{"content":[{"logprob":-9}]}`) +
				chunk(`"content":"a"`, `{"content":[{"logprob":-1}]}`) + end, -1.0,
		},
		"cut off by the server": {chunk(`"content":"a"`, `{"content":[{"logprob":-9999},{"logprob":0}]}`) + end, -10.0},
		"above one":             {chunk(`"content":"a"`, `{"content":[{"logprob":0.5},{"logprob":null}]}`) + end, nil},
		"of another shape": {
			chunk(`"content":"a"`, `{"tokens":["a"],"token_logprobs":[-1]}`) + chunk(`"content":"b"`, `[1]`) + end, nil,
		},
		"none": {chunk(`"content":"a"`, `null`) + end, nil},
	} {
		a, err := saying(t, c.body)
		require.NoError(t, err, name)
		if c.want == nil {
			require.Nil(t, a.LogProb, name)
			continue
		}
		require.NotNil(t, a.LogProb, name)
		require.InDelta(t, c.want, *a.LogProb, 1e-9, name)
	}
}

func TestAPlainAnswerHasAMeanLogProbabilityToo(t *testing.T) {
	t.Parallel()
	for _, fault := range []provider.Fault{provider.None, provider.Plain} {
		s, g := stage(t, provider.Options{})
		s.Next(fault)
		r := request("p/script")
		r.LogProbs = true
		a, err := g.Generate(t.Context(), r, nil)
		require.NoError(t, err)
		require.NotNil(t, a.LogProb, "%s", fault)
		require.Negative(t, *a.LogProb)
	}
}

func TestARefusedFieldIsNamedWithTheLineOfConfigurationThatLeavesItOut(t *testing.T) {
	t.Parallel()
	openAI := func(param, message string) string {
		return `{"error":{"message":"` + message + `","type":"invalid_request_error","param":` + param +
			`,"code":"unsupported_value"}}`
	}
	for _, c := range []struct {
		status       int
		body         string
		field, lines string
	}{
		{
			400, openAI(`"temperature"`, "Unsupported value: 'temperature' does not support 1.3 with this model."),
			"temperature", `{name: "m", max_temperature: 0}`,
		},
		{400, openAI(`null`, "temperature: range: 0..1"), "temperature", `max_temperature: 0 or the highest it takes`},
		{400, openAI(`null`, "`temperature` is deprecated for this model."), "temperature", `max_temperature: 0}`},
		{422, `{"detail":[{"loc":["body","min_p"],"msg":"Extra inputs are not permitted"}]}`, "min_p", "min_p: false"},
		{400, openAI(`null`, "Unrecognized request argument supplied: min_p"), "min_p", "min_p: false"},
		{400, openAI(`null`, "top-p must not be given with temperature"), "temperature", "max_temperature"},
		{400, openAI(`"seed"`, "Unknown parameter: 'seed'."), "seed", "seed: false"},
		{400, openAI(`null`, "logprobs are not supported with reasoning models"), "logprobs", "log_probs: false"},
		{
			400,
			openAI(`"response_format"`,
				"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."),
			"response_format", "json: prompt",
		},
		{
			400,
			openAI(`"max_tokens"`,
				"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
			"max_tokens", "reasoning: true",
		},
		{400, openAI(`"max_tokens"`, "max_tokens is too large: 90000."), "", ""},
		{400, openAI(`"frequency_penalty"`, "Unsupported parameter: 'frequency_penalty'"), "", ""}, // was not sent
		{400, openAI(`null`, "The prompt is bad."), "", ""},
		{
			400,
			openAI(`"messages"`,
				"This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens."),
			"", "the prompt is longer than the model's context; under providers.p.models say {name: \"m\", context: 4096}",
		},
		{
			400, `{"type":"error","error":{"type":"invalid_request_error",` +
				`"message":"prompt is too long: 213462 tokens > 200000 maximum"}}`,
			"", "context: 200000}",
		},
		{
			400, `{"error":{"code":400,"message":"request (2127 tokens) exceeds the available context size (2048 tokens),` +
				` try increasing it","type":"exceed_context_size_error","n_prompt_tokens":2127,"n_ctx":2048}}`,
			"", "context: 2048}",
		},
		{
			400,
			openAI(`"input"`, "Your input exceeds the context window of this model. Please adjust your input."), "",
			"context: what it takes}",
		},
		{500, openAI(`"temperature"`, "temperature"), "", ""},
	} {
		f := refusing(t, c.status, c.body)
		require.Equal(t, c.field, f.Field, c.body)
		if c.lines == "" {
			require.Empty(t, f.Remedy, c.body)
			continue
		}
		require.Contains(t, f.Remedy, c.lines, c.body)
		require.Contains(t, f.Remedy, "providers.p.models", c.body)
		require.Equal(t, inference.BadRequest, f.Kind, "it is not asked again")
	}
}

// refusing is the failure of a call that sends every field there is.
func refusing(t *testing.T, status int, body string) *inference.Failure {
	t.Helper()
	s := spec()
	s.LogProbs = true
	calls := 0
	g := answering(t, s, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
	r := request("p/m")
	r.Sampling = inference.Sampling{Temperature: ptr(1.3), MinP: ptr(.1), TopP: ptr(.9), Seed: ptr(int64(1))}
	r.LogProbs, r.Schema = true, &inference.Schema{Name: "x", JSON: []byte(`{"type":"object"}`)}
	_, err := g.Generate(t.Context(), r, nil)
	f, ok := inference.AsFailure(err)
	require.True(t, ok, "%v", err)
	require.Equal(t, 1, calls, "no silent retry")
	return f
}

func TestAStrictServerBehindATrustingTableFailsWithTheFieldsName(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{})
	s.Next(provider.NoSampling)
	r := request("p/script")
	r.Sampling = inference.Sampling{Temperature: ptr(1.3)}
	_, err := g.Generate(t.Context(), r, nil)
	require.ErrorContains(t, err, `it refuses temperature; under providers.p.models say {name: "script", max_temperature: 0}`)
}
