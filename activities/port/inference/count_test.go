package inference_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

func TestAKnownTokenizerCountsExactlyAndAddsTheWrapping(t *testing.T) {
	t.Parallel()
	spec := inference.Spec{Tokenizer: "o200k_base", JSON: inference.JSONSchema}
	require.EqualValues(t, 2, inference.CountText(spec, "hello world"))
	r := inference.Request{
		Messages: []inference.Message{{Role: "system", Content: "hello world"}, {Role: "user", Content: "hello world"}},
	}
	require.EqualValues(t, 16+2*(2+4), inference.CountPrompt(spec, r))
	spec.Tokenizer = "cl100k_base"
	require.EqualValues(t, 2, inference.CountText(spec, "hello world"))
}

func TestAnUnknownTokenizerCountsBytes(t *testing.T) {
	t.Parallel()
	r := inference.Request{Messages: []inference.Message{{Role: "user", Content: "naïve"}}}
	require.EqualValues(t, 6+8+16, inference.CountPrompt(inference.Spec{}, r))
	require.EqualValues(t, 6, inference.CountText(inference.Spec{Tokenizer: "no_such"}, "naïve"))
}

func TestASchemaIsCountedWhereverItTravels(t *testing.T) {
	t.Parallel()
	r := inference.Request{
		Messages: []inference.Message{{Role: "user", Content: "x"}},
		Schema:   &inference.Schema{Name: "s", JSON: []byte(`{"type":"object"}`)},
	}
	bare := r
	bare.Schema = nil
	for _, mode := range []inference.JSONMode{inference.JSONSchema, inference.JSONObject, inference.JSONPrompt} {
		spec := inference.Spec{JSON: mode}
		require.GreaterOrEqual(t, inference.CountPrompt(spec, r)-inference.CountPrompt(spec, bare),
			int64(len(r.Schema.JSON)), mode)
	}
}

func TestTextThatWouldKeepATokenizerBusyIsBoundByItsBytes(t *testing.T) {
	t.Parallel()
	spec := inference.Spec{Tokenizer: "o200k_base"}
	for _, part := range []string{"a", " ", ".", "\n", "語"} {
		long := strings.Repeat(part, 300_000)
		require.EqualValues(t, len(long), inference.CountText(spec, long))
	}
	require.EqualValues(t, 3, inference.CountText(inference.Spec{}, "\xff"), "a stray byte is sent as three")
}

func TestACountIsNeverAboveTheBytes(t *testing.T) {
	t.Parallel()
	spec := inference.Spec{Tokenizer: "o200k_base"}
	for _, text := range []string{
		"", "ETH fell 5.2% — at 03:10 …", "Übung macht den Meister", "𝔸🜁",
		"{\"a\":[1,2,3]}",
	} {
		require.LessOrEqual(t, inference.CountText(spec, text), int64(len(text)), text)
	}
}

func BenchmarkCountPrompt(b *testing.B) {
	spec := inference.Spec{Tokenizer: "o200k_base"}
	// 12,000 characters
	text := strings.Repeat("The lamp in the harbour flickered all evening and nobody came to fix it. ", 165)
	r := inference.Request{Messages: []inference.Message{{Role: "user", Content: text}}}
	for b.Loop() {
		inference.CountPrompt(spec, r)
	}
}
