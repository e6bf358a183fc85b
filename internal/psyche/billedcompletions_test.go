package psyche

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// askedByEditors draws requests of /v1/completions.
func askedByEditors() *rapid.Generator[string] {
	fields := []string{
		`"max_tokens":7`, `"max_tokens":9000`, `"max_tokens":null`, `"max_completion_tokens":9000`, `"max_new_tokens":70000`,
		`"n":3`, `"n":null`, `"best_of":20`, `"stream":true`, `"stream_options":{"include_usage":false}`, `"echo":true`,
		`"logprobs":5`, `"suffix":"and what comes after it"`, `"stop":["\n"]`, `"service_tier":"priority"`, `"Max_tokens":9`,
		`"plugins":[{"id":"web"}]`, `"unknown":[1]`, `"thinking":{"type":"enabled","budget_tokens":50000}`, `"n":"7"`,
		`"messages":[{"role":"user","content":"what else"}]`, `"Prompt":"more"`, `"best_of":900`,
	}
	prompts := []string{
		`[]`, `null`, `7`, `{"text":"x"}`, `[1,2,3,40000]`, `[[1,2],[3],[4,5,6]]`, `["one","two","three"]`,
		`["one",[1,2]]`, `[{"text":"x"}]`, `[["one","two"]]`, `[[[1]]]`, `""`,
	}
	return rapid.Custom(func(r *rapid.T) string {
		prompt := fmt.Sprintf("%q", strings.Repeat("word ", rapid.IntRange(0, 2000).Draw(r, "words")))
		if rapid.IntRange(0, 2).Draw(r, "kind") == 0 {
			prompt = rapid.SampledFrom(prompts).Draw(r, "prompt")
		}
		all := append(rapid.SliceOfNDistinct(rapid.SampledFrom(fields), 0, 4, nameOfField).Draw(r, "fields"),
			`"model":"echo"`, `"prompt":`+prompt)
		return "{" + strings.Join(all, ",") + "}"
	})
}

func nameOfField(field string) string {
	name, _, _ := strings.Cut(field, ":")
	return name
}

// overbilledCompletion is how a provider could charge more than a percentage of what is reserved for a completion.
func overbilledCompletion(raw []byte, percent budget.Micros) (how provider.Reading, text string, refused error) {
	b, err := readBody(raw)
	if err != nil {
		return "", "", err
	}
	spec := inference.Spec{
		Name:     "p/wire",
		Provider: "p",
		Wire:     "wire",
		Price:    &listPrice,
		Context:  window,
	}
	c, err := b.completion(&limits{spec: spec, thinking: defaultThinking})
	if err != nil {
		return "", "", err
	}
	price := spec.Price.Dearer(c.worst.Times)
	reserved := price.Worst(c.worst.In, plus(c.worst.Out, spend.Overrun))
	sent := spliced(raw, append(c.changes, b.model(spec.Wire)))
	if !json.Valid(sent) {
		return "none", fmt.Sprintf("%q became %q", raw, sent), nil
	}
	for _, how := range provider.Readings() {
		bill := how.Bill(sent, billing, window, defaultThinking)
		if cost := bill.Cost(); cost > reserved/100*percent+reserved%100*percent/100 {
			return how, fmt.Sprintf("%q as %q could cost %s (%+v), reserved was %s", raw, sent, cost, bill,
				reserved), nil
		}
	}
	return "", "", nil
}

func TestNoProviderCouldBillMoreForACompletionThanWasReserved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		how, text, _ := overbilledCompletion([]byte(askedByEditors().Draw(r, "body")), 100)
		require.Empty(r, how, "%s", text)
	})
}

// The control: with half the reservation the generated requests would exceed it, and many of them are not refused.
func TestHalfOfAReservationWouldNotDoForACompletion(t *testing.T) {
	t.Parallel()
	all := askedByEditors()
	taken, over := 0, 0
	for seed := range 1000 {
		how, _, refused := overbilledCompletion([]byte(all.Example(seed)), 50)
		if refused == nil {
			taken++
		}
		if how != "" {
			over++
		}
	}
	require.Greater(t, taken, 200, "enough requests are taken")
	require.Greater(t, over, 50, "half is not enough")
}
