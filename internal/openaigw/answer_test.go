package openaigw

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
)

// FuzzHeard feeds whole bodies to the reader of generations: it ends, does not panic, and reports true values.
func FuzzHeard(f *testing.F) {
	for _, seed := range []string{
		`{"choices":[{"message":{"content":"ab"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":-1}}`,
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\",\"reasoning\":\"b\"}}]}\n\ndata: [DONE]\n\n",
		"data: {\"error\":{\"message\":null,\"code\":{}}}\n\n", "data: null\n\ndata: []\n\n",
		"data: {\"usage\":null,\"choices\":[{}]}\n\n",
	} {
		f.Add([]byte(seed))
	}
	spec, ask := inference.Spec{}, inference.Request{MaxTokens: 4}
	g, err := exchange.New(exchange.Options{Name: "p", BaseURL: "http://x", Catalog: inference.Table{}, BodyLimit: 1 << 16})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body []byte) {
		var text strings.Builder
		token := func(p string) bool { text.WriteString(p); return true }
		l := &answerReader{Answer: g.Open(t.Context(), spec, ask, token), client: g}
		err := l.Read(bytes.NewReader(body), l)
		a, err := l.conclude(written{}, err)
		l.Close()
		require.Equal(t, text.String(), a.Text)
		require.LessOrEqual(t, a.Visible, ask.MaxTokens)
		require.GreaterOrEqual(t, a.Tokens.Out, int64(a.Visible))
		require.Equal(t, err == nil, a.Finish != "")
	})
}

// FuzzResponse feeds whole bodies to the reader of responses, as FuzzHeard does.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{
		`{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ab"}]}],
			"usage":{"input_tokens":1,"output_tokens":-1}}`,
		`{"status":"failed","error":{"code":"server_error","message":"oh"}}`, `{"output":[{"content":"x","summary":[{"text":"y"}]}]}`,
		"data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n" +
			"data: {\"type\":\"response.reasoning_text.delta\",\"delta\":\"b\"}\n\n" +
			"data: {\"type\":\"response.output_text.delta\",\"delta\":\"a\",\"logprobs\":[{\"logprob\":-1}]}\n\n" +
			"data: {\"type\":\"response.incomplete\",\"response\":{\"incomplete_details\":{\"reason\":\"max_output_tokens\"}," +
			"\"usage\":{\"input_tokens\":3,\"output_tokens\":2}}}\n\n",
		"data: {\"type\":\"error\",\"message\":null}\n\n", "data: null\n\ndata: []\n\n", "data: [DONE]\n\n",
		"data: {\"type\":\"response.failed\"}\n\n", "data: {\"type\":\"response.completed\"}\n\n",
	} {
		f.Add([]byte(seed))
	}
	spec, ask := inference.Spec{}, inference.Request{MaxTokens: 4}
	g, err := exchange.New(exchange.Options{Name: "p", BaseURL: "http://x", Catalog: inference.Table{}, BodyLimit: 1 << 16})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body []byte) {
		var text strings.Builder
		token := func(p string) bool { text.WriteString(p); return true }
		l := &responseReader{Answer: g.Open(t.Context(), spec, ask, token), client: g}
		err := l.Read(bytes.NewReader(body), l)
		a, err := l.conclude(written{}, err)
		l.Close()
		require.Equal(t, text.String(), a.Text)
		require.LessOrEqual(t, a.Visible, ask.MaxTokens)
		require.GreaterOrEqual(t, a.Tokens.Out, int64(a.Visible))
		require.Equal(t, err == nil, a.Finish != "")
	})
}
