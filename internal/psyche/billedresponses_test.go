package psyche_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/responses"
)

// askedByResponses draws requests of the Responses API.
func askedByResponses() *rapid.Generator[string] {
	fields := []string{
		`"max_output_tokens":7`, `"max_output_tokens":9000`, `"max_output_tokens":70000`, `"stream":true`, `"temperature":1`,
		`"reasoning":{"effort":"high"}`, `"reasoning":{"effort":"none","summary":"auto"}`, `"service_tier":"priority"`,
		`"service_tier":"default"`, `"text":{"verbosity":"high"}`, `"text":{"format":{"type":"json_object"}}`,
		`"top_logprobs":2`, `"max_new_tokens":90000`, `"best_of":3`, `"thinking":{"type":"enabled","budget_tokens":50000}`,
		`"prediction":{"type":"content","content":"abcabcabc"}`, `"plugins":[{"id":"web"}]`, `"metadata":{"model":"x"}`,
		`"Max_tokens":99999`, `"instructions":"be brief"`, `"prompt_cache_key":"k"`, `"unknown":[1]`,
		`"tools":[{"type":"function","name":"f","parameters":{"type":"object"}},{"type":"web_search"}]`,
		`"tools":[{"type":"custom","name":"p","format":{"type":"grammar","syntax":"lark","definition":"start: X"}}]`,
	}
	items := []string{
		`{"role":"developer","content":"be kind"}`, `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`,
		`{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:image/png;base64,AA"}]}`,
		`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA","detail":"high"}]}`,
		`{"role":"user","content":[{"type":"input_image","image_url":"https://example.org/a.png"}]}`,
		`{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"http://example.org/a"}]}`,
		`{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AA"}]}`,
		`{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}`,
		`{"role":"assistant","content":[{"type":"output_text","text":"so","annotations":[]}],"phase":"commentary"}`,
	}
	return rapid.Custom(func(r *rapid.T) string {
		words := strings.Repeat("word ", rapid.IntRange(0, 2000).Draw(r, "words"))
		input := append(rapid.SliceOfN(rapid.SampledFrom(items), 0, 3).Draw(r, "items"),
			fmt.Sprintf(`{"role":"user","content":%q}`, words))
		all := append(rapid.SliceOfNDistinct(rapid.SampledFrom(fields), 0, 4, nameOf).Draw(r, "fields"),
			`"model":"echo"`, `"input":[`+strings.Join(input, ",")+`]`)
		return "{" + strings.Join(all, ",") + "}"
	})
}

// nameOf is the name of a field as it is written.
func nameOf(field string) string {
	name, _, _ := strings.Cut(field, ":")
	return name
}

// billed is how a provider could charge more than a percentage of what is reserved for a request.
func billed(body string, percent int64) (how, text string, refused error) {
	q, err := responses.Read([]byte(body))
	if err != nil {
		return "", "", err
	}
	var all string
	for _, most := range []string{"max_tokens", "max_completion_tokens"} {
		chat, err := q.Chat(nil, responses.Options{MaxTokens: most})
		if err != nil {
			return "", "", err
		}
		how, text, err := psyche.Overbilled(chat, percent)
		if how != "" {
			return how, text, nil
		}
		if err != nil {
			all = err.Error()
		}
	}
	if all != "" {
		return "", "", fmt.Errorf("refused: %s", all)
	}
	return "", "", nil
}

func TestNoProviderCouldBillMoreForAResponseThanWasReserved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		how, text, _ := billed(askedByResponses().Draw(r, "body"), 100)
		require.Empty(r, how, "%s", text)
	})
}

// The control: with half the reservation the generated requests would exceed it, and many of them are not refused.
func TestHalfOfAReservationWouldNotDoForAResponse(t *testing.T) {
	t.Parallel()
	all := askedByResponses()
	taken, over := 0, 0
	for seed := range 1000 {
		how, _, refused := billed(all.Example(seed), 50)
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
