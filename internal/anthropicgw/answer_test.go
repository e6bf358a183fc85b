package anthropicgw

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// FuzzAnswer feeds whole bodies to the reader of generations: it ends, does not panic, and reports true values.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"type":"message","content":[{"type":"text","text":"ab"}],
			"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":-1}}`,
		`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`,
		"data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n" +
			"data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n" +
			"data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"b\"}}\n\n" +
			"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"}," +
			"\"usage\":{\"output_tokens\":2}}\n\n" +
			"data: {\"type\":\"message_stop\"}\n\n",
		"data: {\"type\":\"error\",\"error\":{\"message\":null}}\n\n", "data: null\n\ndata: []\n\n", "data: [DONE]\n\n",
		"data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"text\",\"text\":\"x\"}}\n\n",
	} {
		f.Add([]byte(seed))
	}
	spec, ask := inference.Spec{}, inference.Request{MaxTokens: 4}
	g, err := New(Options{Name: "p", BaseURL: "http://x", Catalog: inference.Table{}, BodyLimit: 1 << 16})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body []byte) {
		var text strings.Builder
		token := func(p string) bool { text.WriteString(p); return true }
		l := &answerReader{Answer: g.Open(t.Context(), spec, ask, token), client: g.Client}
		err := l.Read(bytes.NewReader(body), l)
		l.Tokens, l.UsageFrom = l.tokens(0)
		a, err := l.Conclude(err)
		l.Close()
		require.Equal(t, text.String(), a.Text)
		require.LessOrEqual(t, a.Visible, ask.MaxTokens)
		require.GreaterOrEqual(t, a.Tokens.Out, int64(a.Visible))
		require.GreaterOrEqual(t, a.Tokens.Surcharge, int64(0))
		require.Equal(t, err == nil, a.Finish != "")
	})
}
