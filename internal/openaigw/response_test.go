package openaigw_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/inference/inferencetest"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/internal/psyche/completion"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// responding is a provider that is asked for responses alone.
func responding(t testing.TB, o provider.Options) (*provider.Server, *openaigw.Gateway) {
	t.Helper()
	return stage(t, o, func(o *openaigw.Options) { o.Responses = true })
}

func TestTheGatewayKeepsThePromisesOverResponses(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"script", "script-object", "script-prompt", "strict", "thinker"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			inferencetest.Run(t, func(t *testing.T) inferencetest.Stage {
				s, g := responding(t, provider.Options{Key: secret})
				return inferencetest.Stage{
					Model: g, Spec: s.ResponsesCatalog("p")["p/"+model], Embedder: "p/vectors", Unpriced: "p/unpriced",
					Calls: func() int { return len(s.Billing.Calls()) },
					Break: func() { s.Next(provider.ServerError) },
				}
			})
		})
	}
}

func TestEveryFaultOfAResponseIsReadForWhatItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault provider.Fault
		kind  inference.Kind // empty: an answer
		usage inference.UsageFrom
	}{
		{provider.None, "", inference.ByProvider},
		{provider.Plain, "", inference.ByProvider},
		{provider.Lingering, "", inference.ByCount},
		{provider.NoUsage, "", inference.ByCount},
		{provider.IgnoreMax, "", inference.ByCount},
		{provider.CutMiddle, inference.Broken, inference.ByCount},
		{provider.BadChunk, inference.Malformed, inference.ByCount},
		{provider.Limit, inference.RateLimited, ""},
		{provider.Payment, inference.NoMoney, ""},
		{provider.ServerError, inference.Unavailable, ""},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			t.Parallel()
			s, g := responding(t, provider.Options{AtLeast: 200})
			s.Next(c.fault)
			a, err := g.Generate(t.Context(), request("p/script"), nil)
			call := quiet(t, s)[0]
			require.Equal(t, "/v1/responses", call.Path)
			if c.kind == "" {
				require.NoError(t, err)
				require.Equal(t, "till-1", a.Provider)
				require.LessOrEqual(t, a.Visible, 80)
			} else {
				f, ok := inference.AsFailure(err)
				require.True(t, ok, "%v", err)
				require.Equal(t, c.kind, f.Kind, f.Message)
			}
			if c.usage == "" {
				return
			}
			require.Equal(t, c.usage, a.UsageFrom)
			require.GreaterOrEqual(t, a.Tokens.Out, int64(a.Visible))
			if c.usage == inference.ByProvider {
				require.Equal(t, call.Completion, a.Tokens.Out)
				require.Equal(t, call.Prompt, a.Tokens.In)
			}
		})
	}
}

// The server of llama.cpp names the item of an event and not its place, tells its model at the end, and calls an answer
// complete that its maximum has cut.
func TestAResponseOfLlamaCppIsRead(t *testing.T) {
	t.Parallel()
	stream, err := os.ReadFile("../psyche/testdata/answers/llamacpp-responses.events")
	require.NoError(t, err)
	for most, finish := range map[int]inference.Finish{400: inference.Stopped, 133: inference.Length} {
		g := answering(t, spec(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write(stream)
		}, func(o *openaigw.Options) { o.Responses = true })
		r := request(spec().Name)
		r.MaxTokens = most
		a, err := g.Generate(t.Context(), r, nil)
		require.NoError(t, err)
		require.Equal(t, "Note that the harbour master has her at the quay of Skagen, next to the lighthouse.\n", a.Text)
		require.Equal(t, finish, a.Finish, most)
		require.Equal(t, budget.Tokens{In: 205, Out: 133}, a.Tokens)
		require.Equal(t, inference.ByProvider, a.UsageFrom)
		require.Equal(t, "tl.gguf", a.Model)
	}
}

// Whatever goes wrong, a call counts for at least what the provider charged, and that is within what was reserved.
func TestNoResponseCountsForLessThanItIsBilled(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"p/script", "p/thinker"} {
		for _, fault := range append(provider.Faults, provider.None) {
			if fault == provider.HangFirst || fault == provider.HangMiddle {
				continue // they end by the idle timeout, as a break does
			}
			s, g := responding(t, provider.Options{Key: secret, AtLeast: 120})
			s.Next(fault)
			r := request(model)
			r.MaxTokens = 9 // less than the least that OpenAI can be asked for
			a, err := g.Generate(t.Context(), r, nil)
			require.LessOrEqual(t, a.Visible, 9)
			if fault == provider.None {
				require.NoError(t, err)
			}
			call, spec := quiet(t, s)[0], s.ResponsesCatalog("p")[model]
			reserved := spend.GenerationCost(spec, r)
			bill := spend.BillFor(spec, r, reserved, a, err)
			require.GreaterOrEqual(t, bill.Amount, call.Cost, "%s %q: %+v", model, fault, bill)
			require.LessOrEqual(t, call.Cost, reserved, "%s %q", model, fault)
		}
	}
}

// In a stream of the scripted provider OpenAI's library reads what the gateway reads, so that the provider speaks the
// wire as OpenAI does; and it reads every field of what a dream asks.
func TestTheLibraryReadsTheResponsesOfDreams(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"script", "thinker"} {
		s, g := responding(t, provider.Options{Key: secret})
		r := request("p/" + model)
		r.MaxTokens = 400
		if model == "script" {
			r.Sampling.Temperature = new(0.0)
		}
		answer, err := g.Generate(t.Context(), r, nil)
		require.NoError(t, err)
		client := openai.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey(secret), option.WithMaxRetries(0),
			option.WithUnsafeAllowHTTP())
		params := responses.ResponseNewParams{Model: model, Store: openai.Bool(false), MaxOutputTokens: openai.Int(400)}
		for _, m := range r.Messages {
			params.Input.OfInputItemList = append(params.Input.OfInputItemList,
				responses.ResponseInputItemParamOfMessage(m.Content, responses.EasyInputMessageRole(m.Role)))
		}
		if model == "script" {
			params.Temperature = openai.Float(0)
		} else {
			params.MaxOutputTokens = openai.Int(400 + int64(r.Reasoning))
		}
		stream := client.Responses.NewStreaming(t.Context(), params)
		var text strings.Builder
		var last responses.Response
		for stream.Next() {
			if e := stream.Current(); e.Type == "response.output_text.delta" {
				text.WriteString(e.Delta)
			} else if e.Type == "response.completed" || e.Type == "response.incomplete" {
				last = e.Response
			}
		}
		require.NoError(t, stream.Err())
		require.Equal(t, text.String(), answer.Text)
		require.NotEmpty(t, answer.Text)
		require.Equal(t, text.String(), last.OutputText())
		require.Equal(t, last.Usage.OutputTokens, answer.Tokens.Out)
		require.Equal(t, last.Usage.OutputTokensDetails.ReasoningTokens, answer.Tokens.Reasoning)
		require.Equal(t, last.Usage.InputTokens, answer.Tokens.In)
	}
}

func TestWhatADreamAsksIsSaidAsAResponse(t *testing.T) {
	t.Parallel()
	s := spec()
	s.LogProbs = true
	r := inference.Request{
		Model: s.Name, MaxTokens: 60, LogProbs: true, Stop: []string{"END"},
		Messages: []inference.Message{
			{Role: "system", Content: "A"}, {Role: "user", Content: "B"}, {Role: "assistant", Content: "C"},
		},
		Sampling: inference.Sampling{Temperature: new(0.0), TopP: new(.9), MinP: new(.1), Seed: new(int64(3))},
		Schema: &inference.Schema{Name: "an insight", JSON: json.RawMessage(
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)},
	}
	var body []byte
	g := answering(t, s, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		require.Equal(t, "/responses", strings.TrimPrefix(r.URL.Path, "/v1"))
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"Unsupported parameter","param":"text.format","code":null}}`)
	}, func(o *openaigw.Options) {
		o.Responses = true
		o.Profile = openaigw.Profile{Extra: map[string]json.RawMessage{"provider": json.RawMessage(`{"a":1}`)}}
	})
	a, err := g.Generate(t.Context(), r, nil)
	f, failed := inference.AsFailure(err)
	require.True(t, failed)
	require.Contains(t, f.Remedy, "json: prompt")
	require.Equal(t, "temperature=0 top_p=0.9", a.Effective)
	require.JSONEq(t, `{"model":"m","max_output_tokens":60,"stream":true,"store":false,"temperature":0,"top_p":0.9,
		"include":["message.output_text.logprobs"],"provider":{"a":1},"input":[
		{"type":"message","role":"system","content":"A"},{"type":"message","role":"user","content":"B"},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"C"}]}],
		"text":{"format":{"type":"json_schema","name":"an_insight","strict":true,"schema":{"type":"object",
		"properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}}}`, string(body))
}

// Answers as other servers send them.
func TestResponsesOfEveryMannerAreRead(t *testing.T) {
	t.Parallel()
	const done = `"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":7,` +
		`"output_tokens_details":{"reasoning_tokens":5}}}}` + "\n\n"
	answered := func(text string, finish inference.Finish) inference.Answer {
		return inference.Answer{
			Text:      text,
			Visible:   len(text) / 2,
			Finish:    finish,
			Tokens:    budget.Tokens{In: 9, Cached: 4, Out: 7, Reasoning: 5},
			UsageFrom: inference.ByProvider,
		}
	}
	sure := answered("So", inference.Length)
	sure.LogProb = new(-0.5)
	for name, c := range map[string]struct {
		stream string
		want   inference.Answer
		kind   inference.Kind
		status int
	}{
		"only its end": {
			stream: `data: {"type":"response.completed","response":{"status":"completed",
				"output":[{"type":"web_search_call","content":"x"},` +
				`{"type":"message","content":[{"type":"output_text","text":"So."}]}],` + done + "data: [DONE]\n\n",
			want: answered("So.", inference.Stopped),
		},
		"a refusal": {
			stream: `data: {"type":"response.refusal.delta","delta":"I will not."}` + "\n\n" +
				`data: {"type":"response.completed","response":{"status":"completed",` + done,
			want: answered("", inference.Stopped),
		},
		"its maximum": {
			stream: `data: {"type":"response.output_text.delta","delta":"So","logprobs":[{"token":"So",
				"logprob":-0.5}]}` + "\n\n" +
				`data: {"type":"response.incomplete","response":{"status":"incomplete",
					"incomplete_details":{"reason":"max_output_tokens"},` + done,
			want: sure,
		},
		"a filter": {
			stream: `data: {"type":"response.output_text.delta","delta":"So"}` + "\n\n" +
				`data: {"type":"response.incomplete","response":{"status":"incomplete",
					"incomplete_details":{"reason":"content_filter"},` + done,
			want: answered("So", inference.Stopped),
		},
		"a failure": {
			stream: `data: {"type":"response.failed","response":{"status":"failed",
				"error":{"code":"rate_limit_exceeded","message":"slow"}}}` + "\n\n",
			kind: inference.RateLimited, status: http.StatusTooManyRequests,
		},
		"a failure without a reason": {
			stream: `data: {"type":"response.failed"}` + "\n\n", kind: inference.Unavailable, status: http.StatusInternalServerError,
		},
		"an error": {
			stream: `data: {"type":"error","code":"invalid_prompt","message":"no"}` + "\n\n",
			kind:   inference.BadRequest, status: http.StatusBadRequest,
		},
		"an empty account": {
			stream: `data: {"type":"error","code":"insufficient_quota",
				"message":"no"}` + "\n\n", kind: inference.NoMoney,
		},
		"a whole failure": {
			stream: `{"object":"response","status":"failed","error":{"code":"server_error","message":"oh"}}`,
			kind:   inference.Unavailable, status: http.StatusInternalServerError,
		},
		"nothing": {stream: `{"object":"response"}`, kind: inference.Malformed},
		"no end": {
			stream: `data: {"type":"response.output_text.delta","delta":"So"}` + "\n\n", kind: inference.Broken,
		},
		"an end alone": {stream: `data: {"type":"response.completed"}` + "\n\n", kind: inference.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stream := regexp.MustCompile(`\n\t+`).ReplaceAllString(c.stream, "") // one line of this file for each event
			a, err := saying(t, stream, func(o *openaigw.Options) { o.Responses = true })
			if c.kind != "" {
				f, failed := inference.AsFailure(err)
				require.True(t, failed, "%v", err)
				require.Equal(t, c.kind, f.Kind, f.Message)
				require.Equal(t, c.status, f.Status)
				require.True(t, f.Billed, "a stream that began may have cost something")
				return
			}
			require.NoError(t, err)
			a.Effective = ""
			require.Equal(t, c.want, a)
		})
	}
}

func TestAChatCompletionIsAskedAndAnsweredAsAResponse(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"true", "false"} {
		s, g := responding(t, provider.Options{Seed: 3, Key: secret})
		r := relayed(`{"model":"thinker","messages":[{"role":"user","content":"the harbour in winter"}],"user":"ann",
			"max_completion_tokens":40,"stream":` + stream + `,"stream_options":{"include_usage":true}}`)
		r.Model = "p/thinker"
		response, err := g.Relay(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, response.Status)
		reader := completion.New(response.Body, stream == "true")
		var text, thought strings.Builder
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
				case completion.Reasoning:
					thought.WriteString(p.Text)
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
		require.NoError(t, response.Body.Close())
		call, seen := quiet(t, s)[0], response.Seen()
		require.Equal(t, "/v1/responses", call.Path)
		require.NotEmpty(t, text.String())
		require.NotEmpty(t, thought.String())
		require.Equal(t, call.Completion, usage.Out)
		require.Equal(t, call.Prompt, usage.In)
		require.Equal(t, call.Prompt, seen.Tokens.In)
		require.Equal(t, call.Completion, seen.Tokens.Out)
		require.Positive(t, seen.Tokens.Reasoning)
		require.Contains(t, []string{"stop", "length"}, finish)
		if stream == "true" {
			require.Equal(t, call.Completion-seen.Tokens.Reasoning, int64(texts), "each piece by itself")
			require.True(t, reader.Done())
		}
	}
}

func TestWhatResponsesCannotSayIsNotSent(t *testing.T) {
	t.Parallel()
	s, g := responding(t, provider.Options{Key: secret})
	const talk = `"model":"script","messages":[{"role":"user","content":"Hi"}]`
	for body, want := range map[string]string{
		`{` + talk + `,"seed":7}`:       "seed: OpenAI's Responses have no such field",
		`{` + talk + `,"stop":["END"]}`: "stop: OpenAI's Responses have no such field",
		`{` + talk + `,"n":3}`:          "n: it is 3",
	} {
		r := relayed(body)
		_, err := g.Relay(t.Context(), r)
		f, ok := inference.AsFailure(err)
		require.True(t, ok, "%v", err)
		require.Equal(t, inference.BadRequest, f.Kind)
		require.ErrorContains(t, err, want)
	}
	r := relayed(`{` + talk + `}`)
	r.Model = "p/unpriced"
	_, err := g.Relay(t.Context(), r)
	f, ok := inference.AsFailure(err)
	require.True(t, ok)
	require.Equal(t, inference.Unpriced, f.Kind)
	require.Empty(t, s.Billing.Calls())

	s.Next(provider.LimitDelay)
	res, err := g.Relay(t.Context(), relayed(`{`+talk+`}`))
	require.NoError(t, err)
	require.Equal(t, http.StatusTooManyRequests, res.Status)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "rate_limit_exceeded")
	require.NoError(t, res.Body.Close())
}

func TestAResponseThatBreaksOffIsNoChatCompletion(t *testing.T) {
	t.Parallel()
	s, g := responding(t, provider.Options{Key: secret})
	for _, fault := range []provider.Fault{provider.CutMiddle, provider.BadChunk} {
		s.Next(fault)
		res, err := g.Relay(context.WithoutCancel(t.Context()),
			relayed(`{"model":"script","stream":true,"messages":[{"role":"user","content":"the harbour"}]}`))
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
