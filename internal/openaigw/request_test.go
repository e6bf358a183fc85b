package openaigw_test

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

const short = "data: {\"id\":\"a\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ha\"},\"finish_reason\":\"stop\"}]}\n\n" +
	"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n"

// spec is a model that accepts everything.
func spec() inference.Spec {
	price := budget.Price{In: 1, Out: 1}
	return inference.Spec{
		Name:           "p/m",
		Provider:       "p",
		Wire:           "m",
		Price:          &price,
		MaxTemperature: 2,
		MinP:           true,
		TopP:           true,
		Seed:           true,
		Stop:           true,
		JSON:           inference.JSONSchema,
	}
}

// answering is a gateway to a server that answers everything with handle.
func answering(t *testing.T, s inference.Spec, handle http.HandlerFunc,
	more ...func(*openaigw.Options),
) *openaigw.Gateway {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	o := openaigw.Options{Name: "p", BaseURL: server.URL, APIKey: secret, Catalog: inference.Table{s.Name: s}}
	for _, change := range more {
		change(&o)
	}
	g, err := openaigw.New(o)
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return g
}

// sent returns the fields of the request body for this model, and the answer.
func sent(t *testing.T, s inference.Spec, r inference.Request,
	more ...func(*openaigw.Options),
) (map[string]any, inference.Answer) {
	t.Helper()
	var fields map[string]any
	g := answering(t, s, func(w http.ResponseWriter, req *http.Request) {
		raw, err := io.ReadAll(req.Body)
		if err != nil || json.Unmarshal(raw, &fields) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, short)
	}, more...)
	a, err := g.Generate(t.Context(), r, nil)
	require.NoError(t, err)
	return fields, a
}

func TestFieldsThatGoOpenAICannotWriteAreSent(t *testing.T) {
	t.Parallel()
	r := request("p/m")
	r.Sampling = inference.Sampling{Temperature: ptr(0.0), MinP: ptr(.1), TopP: ptr(1.0), Seed: ptr(int64(0))}
	r.Stop = []string{"\n\n"}
	f, a := sent(t, spec(), r)
	require.Equal(t, map[string]any{
		"model": "m", "stream": true, "stream_options": map[string]any{"include_usage": true},
		"messages": []any{
			map[string]any{"role": "system", "content": r.Messages[0].Content},
			map[string]any{"role": "user", "content": r.Messages[1].Content},
		},
		"temperature": 0.0, "min_p": .1, "top_p": 1.0, "seed": 0.0, "stop": []any{"\n\n"}, "max_tokens": 80.0,
	}, f)
	require.Equal(t, "temperature=0 min_p=0.1 top_p=1 seed=0", a.Effective)
	require.Equal(t, "m", a.Model)
}

func TestTheCatalogueDecidesAndNotTheModelsName(t *testing.T) {
	t.Parallel()
	for _, wire := range []string{
		"o1-mini", "o3", "o4-mini", "gpt-5-nano", "gpt-3.5-turbo-instruct",
		"text-davinci-003",
	} {
		s := spec()
		s.Wire = wire
		r := request("p/m")
		r.Sampling.Temperature = ptr(1.3)
		f, _ := sent(t, s, r)
		require.Equal(t, wire, f["model"])
		require.InDelta(t, 1.3, f["temperature"], 0)
		require.InDelta(t, 80, f["max_tokens"], 0)
	}
}

func TestWhatAModelRefusesIsNotSent(t *testing.T) {
	t.Parallel()
	r := request("p/m")
	r.Sampling = inference.Sampling{Temperature: ptr(1.5), MinP: ptr(.1), TopP: ptr(.9), Seed: ptr(int64(7))}
	r.Stop, r.Reasoning = []string{"."}, 500
	s := spec()
	s.MaxTemperature = 0
	s.MinP = false
	s.TopP = false
	s.Seed = false
	s.Stop = false
	s.Reasoning = true
	f, a := sent(t, s, r)
	for _, name := range []string{"temperature", "min_p", "top_p", "seed", "stop", "max_tokens"} {
		require.NotContains(t, f, name)
	}
	require.InDelta(t, 580, f["max_completion_tokens"], 0)
	require.Empty(t, a.Effective)

	s = spec()
	s.MaxTemperature = 1
	f, a = sent(t, s, r)
	require.InDelta(t, 1, f["temperature"], 0)
	require.InDelta(t, 80, f["max_tokens"], 0, "only a reasoning model gets the allowance")
	require.True(t, strings.HasPrefix(a.Effective, "temperature=1 min_p=0.1"))
}

func TestAProfileNamesTheFields(t *testing.T) {
	t.Parallel()
	r := request("p/m")
	r.Sampling = inference.Sampling{Temperature: ptr(1.0), MinP: ptr(.1)}
	for kind, check := range map[string]func(map[string]any, inference.Answer){
		"openai": func(f map[string]any, a inference.Answer) {
			require.NotContains(t, f, "min_p")
			require.Equal(t, "temperature=1", a.Effective)
		},
		"llamacpp": func(f map[string]any, _ inference.Answer) { require.Contains(t, f, "min_p") },
		"openrouter": func(f map[string]any, _ inference.Answer) {
			require.Equal(t, map[string]any{"require_parameters": true}, f["provider"])
		},
	} {
		p, err := openaigw.ProfileOf(kind)
		require.NoError(t, err)
		check(sent(t, spec(), r, func(o *openaigw.Options) { o.Profile = p }))
	}
	f, _ := sent(t, spec(), r, func(o *openaigw.Options) {
		o.Profile = openaigw.Profile{
			MinP: "minimum", MaxTokens: "num_predict", NoUsage: true,
			Extra: map[string]json.RawMessage{"steer": json.RawMessage(`{"alpha":1.5}`)},
		}
	})
	require.InDelta(t, .1, f["minimum"], 0)
	require.InDelta(t, 80, f["num_predict"], 0)
	require.Equal(t, map[string]any{"alpha": 1.5}, f["steer"])
	require.NotContains(t, f, "stream_options")
	_, err := openaigw.ProfileOf("fortran")
	require.ErrorContains(t, err, "llamacpp")
}

func TestASchemaIsAskedForAsTheModelCan(t *testing.T) {
	t.Parallel()
	closed := `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string"}},"required":["b"],"additionalProperties":false}}},"required":["a"],"additionalProperties":false}`
	open := `{"type":"object","properties":{"a":{"type":"string"}}}`
	r := request("p/m")
	r.Schema = &inference.Schema{Name: "the night's fragments", JSON: json.RawMessage(closed)}
	format := func(f map[string]any) map[string]any {
		return f["response_format"].(map[string]any)["json_schema"].(map[string]any)
	}

	f, _ := sent(t, spec(), r)
	require.Equal(t, true, format(f)["strict"])
	require.Equal(t, "the_night_s_fragments", format(f)["name"])
	text, err := json.Marshal(format(f)["schema"])
	require.NoError(t, err)
	require.JSONEq(t, closed, string(text))

	r.Schema.JSON = json.RawMessage(open)
	f, _ = sent(t, spec(), r)
	require.Equal(t, false, format(f)["strict"], "an open schema is refused when it is called strict")

	s := spec()
	s.JSON = inference.JSONObject
	f, _ = sent(t, s, r)
	require.Equal(t, map[string]any{"type": "json_object"}, f["response_format"])
	last := f["messages"].([]any)[1].(map[string]any)["content"].(string)
	require.True(t, strings.HasSuffix(last, inference.SchemaInstruction+open))

	s.JSON = inference.JSONPrompt
	f, _ = sent(t, s, r)
	require.NotContains(t, f, "response_format")
	require.Len(t, r.MessagesFor(s.JSON), 2)
	require.Equal(t, last, r.MessagesFor(s.JSON)[1].Content)
}

func TestInvalidRequestsAreNotSent(t *testing.T) {
	t.Parallel()
	s, g := stage(t, provider.Options{})
	for name, change := range map[string]func(*inference.Request){
		"no limit":         func(r *inference.Request) { r.MaxTokens = 0 },
		"no messages":      func(r *inference.Request) { r.Messages = nil },
		"empty message":    func(r *inference.Request) { r.Messages[1].Content = "" },
		"a tool's role":    func(r *inference.Request) { r.Messages[0].Role = "tool" },
		"no number":        func(r *inference.Request) { r.Sampling.Temperature = ptr(math.NaN()) },
		"below zero":       func(r *inference.Request) { r.Sampling.MinP = ptr(-1.0) },
		"no schema":        func(r *inference.Request) { r.Schema = &inference.Schema{JSON: json.RawMessage("{")} },
		"an embedder":      func(r *inference.Request) { r.Model = "p/vectors" },
		"another provider": func(r *inference.Request) { r.Model = "q/script" },
		"without a price":  func(r *inference.Request) { r.Model = "p/unpriced" },
	} {
		r := request("p/script")
		change(&r)
		_, err := g.Generate(t.Context(), r, nil)
		f, ok := inference.AsFailure(err)
		require.True(t, ok, name)
		require.False(t, f.Billed, name)
		require.False(t, f.Again(), name)
	}
	for _, texts := range [][]string{nil, {"a", ""}} {
		_, err := g.Embed(t.Context(), "p/vectors", texts, "")
		require.Error(t, err)
	}
	_, err := g.Embed(t.Context(), "p/script", []string{"a"}, "")
	require.Error(t, err)
	require.Empty(t, s.Billing.Calls())
	require.Empty(t, s.Billing.Failed())
}
