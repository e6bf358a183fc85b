package answers

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

func ptr[T any](v T) *T { return &v }

// TestEveryFieldOfARequestIsDecided changes one field after another. A new field of inference.Request or inference.Spec
// fails here until it was decided whether it decides an answer.
func TestEveryFieldOfARequestIsDecided(t *testing.T) {
	t.Parallel()
	spec := inference.Spec{Name: "p/m", Wire: "m", Price: &budget.Price{}}
	request := inference.Request{Model: "p/m", Messages: []inference.Message{{Role: "user", Content: "a"}}}
	requests := map[string][]any{
		"Model": {"p/n"},
		"Messages": {
			[]inference.Message{{Role: "system", Content: "a"}},
			[]inference.Message{{Role: "user", Content: "b"}},
			[]inference.Message{{Role: "user", Content: "a"}, {Role: "user", Content: ""}},
		},
		"Sampling": {
			inference.Sampling{Temperature: ptr(0.)},
			inference.Sampling{MinP: ptr(0.)},
			inference.Sampling{TopP: ptr(0.)},
			inference.Sampling{Seed: ptr(int64(0))},
			inference.Sampling{Seed: ptr(int64(1))},
		},
		"MaxTokens": {7},
		"Reasoning": {7},
		"Stop":      {[]string{"."}, []string{"", ""}},
		"Schema": {
			&inference.Schema{},
			&inference.Schema{Name: "s"},
			&inference.Schema{JSON: json.RawMessage(`{}`)},
			&inference.Schema{JSON: json.RawMessage(`{ }`)}, // the space stands in the prompt
		},
		"LogProbs": {true},
		"Steering": {&inference.Steering{Vector: "v"}, &inference.Steering{Vector: "v", Alpha: 1}},

		"Key":       nil,
		"IdleToken": nil,
	}
	specs := map[string][]any{
		"Wire":           {"n"},
		"JSON":           {inference.JSONPrompt, inference.JSONObject},
		"MaxTemperature": {2.},
		"MinP":           {true},
		"TopP":           {true},
		"Seed":           {true},
		"Stop":           {true},
		"Reasoning":      {true},
		"LogProbs":       {true},

		"Name": nil, "Provider": nil, "Price": nil, "Context": nil, "Guessed": nil, "Tokenizer": nil, "Embeds": nil,
		"Judges": nil, "BuiltIn": nil, "Lexical": nil, "Calibration": nil,
		"Space":     nil, // decides vectors
		"Steers":    nil, // decides where the request is steered
		"Wires":     nil, // decides which requests of clients are passed on
		"CacheFrom": nil, // decides what of a client's request is marked for the provider's cache
	}
	plain, err := hashRequest(spec, request)
	require.NoError(t, err)
	seen := map[hash]string{plain: "plain"}
	distinct := func(name string, spec inference.Spec, r inference.Request) {
		t.Helper()
		h, err := hashRequest(spec, r)
		require.NoError(t, err)
		require.NotContains(t, seen, h, "%s is like %s", name, seen[h])
		seen[h] = name
	}
	for field := range reflect.TypeFor[inference.Request]().Fields() {
		require.Contains(t, requests, field.Name)
		for _, value := range requests[field.Name] {
			r := request
			reflect.ValueOf(&r).Elem().FieldByName(field.Name).Set(reflect.ValueOf(value))
			distinct("request."+field.Name, spec, r)
		}
	}
	for field := range reflect.TypeFor[inference.Spec]().Fields() {
		require.Contains(t, specs, field.Name)
		for _, value := range specs[field.Name] {
			s := spec
			reflect.ValueOf(&s).Elem().FieldByName(field.Name).Set(reflect.ValueOf(value))
			distinct("spec."+field.Name, s, request)
		}
	}
	same := request
	same.Key, same.IdleToken, same.Stop = "k", time.Second, []string{}
	h, err := hashRequest(inference.Spec{Name: "p/m", Wire: "m", Steers: &inference.Steers{Vector: "v"}}, same)
	require.NoError(t, err)
	require.Equal(t, plain, h)
	steered := request
	steered.Steering = &inference.Steering{Vector: "v"}
	distinct("steers", inference.Spec{Wire: "m", Steers: &inference.Steers{Vector: "v"}}, steered)

	for i, s := range []inference.Spec{{}, {Wire: "m"}, {Space: "s"}} {
		h, err := hashText(s, "p/m", "a")
		require.NoError(t, err)
		require.NotContains(t, seen, h, i)
		seen[h] = "text"
	}
	for _, text := range [][2]string{{"p/n", "a"}, {"p/m", "b"}} {
		h, err := hashText(spec, text[0], text[1])
		require.NoError(t, err)
		require.NotContains(t, seen, h)
		seen[h] = "text"
	}
}

// A file of today must be found by the program of tomorrow. Where these change, the version of the file must, too.
func TestHashesStay(t *testing.T) {
	t.Parallel()
	spec := inference.Spec{
		Name:           "p/m",
		Wire:           "m",
		JSON:           inference.JSONSchema,
		MaxTemperature: 2,
		Seed:           true,
	}
	h, err := hashRequest(spec, inference.Request{
		Model:     "p/m",
		Messages:  []inference.Message{{Role: "user", Content: "a<b"}},
		Sampling:  inference.Sampling{Temperature: ptr(1.3), Seed: ptr(int64(7))},
		MaxTokens: 10,
		Schema:    &inference.Schema{Name: "s", JSON: json.RawMessage(`{}`)},
		Steering:  &inference.Steering{Vector: "v", From: 1, To: 2, Alpha: .5},
	})
	require.NoError(t, err)
	text, err := h.MarshalText()
	require.NoError(t, err)
	require.Equal(t, "4a0ddad50970d55c211f8829bbf89c25612eb5343ca45ed8985314a6ee1d9089", string(text))
	h, err = hashText(spec, "p/v", "a text")
	require.NoError(t, err)
	text, err = h.MarshalText()
	require.NoError(t, err)
	require.Equal(t, "6d2c6f74bc8a8f2b3d4eb2ddf1f3b78c3d35d0ba8cbeceacc81746cf1d423d48", string(text))
}
