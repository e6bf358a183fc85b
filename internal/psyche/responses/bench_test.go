package responses_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/completion"
	"github.com/seed-56a03226/oneiros/internal/psyche/responses"
)

// large is a request as a coding agent sends it: 40 kB of instructions and tools.
func large() string {
	var tools []string
	for i := range 12 {
		tools = append(tools,
			fmt.Sprintf(`{"type":"function","name":"tool_%d","description":%q,"parameters":{"type":"object"}}`, i,
				strings.Repeat("says what it does. ", 60)))
	}
	return `{"model":"iris","stream":true,"input":[{"role":"developer","content":[{"type":"input_text","text":"` +
		strings.Repeat("You are a coding agent. ", 1100) +
		`"}]},{"role":"user","content":"list this folder"}],"tools":[` +
		strings.Join(tools, ",") + `]}`
}

// BenchmarkRequest is what a request of 40 kB costs before it goes on.
func BenchmarkRequest(b *testing.B) {
	body := []byte(large())
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		q, err := responses.Read(body)
		require.NoError(b, err)
		_, err = q.Chat(nil, responses.Options{MaxTokens: "max_tokens"})
		require.NoError(b, err)
	}
}

// BenchmarkBody is what the same request costs to be read as a chat completion, for comparison.
func BenchmarkBody(b *testing.B) {
	q, err := responses.Read([]byte(large()))
	require.NoError(b, err)
	chat, err := q.Chat(nil, responses.Options{MaxTokens: "max_tokens"})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, err = psyche.ReadBody(chat)
		require.NoError(b, err)
	}
}

// BenchmarkPiece is what a piece of a stream costs on its way: it is read and written as an event.
func BenchmarkPiece(b *testing.B) {
	q, err := responses.Read([]byte(`{"model":"iris","input":"x","stream":true}`))
	require.NoError(b, err)
	const chunk = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n"
	a := q.Answer("resp_abc", time.Unix(1, 0))
	r := completion.New(endless{text: chunk}, true)
	b.ReportAllocs()
	for b.Loop() {
		pieces, err := r.Next()
		require.NoError(b, err)
		for _, p := range pieces {
			a.Take(p)
		}
		a.Events()
	}
}

// endless gives the same text again and again.
type endless struct{ text string }

func (e endless) Read(p []byte) (int, error) { return copy(p, e.text), nil }
