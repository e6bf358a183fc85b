package messages_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/wire/messages"
)

// BenchmarkMessages is what a request of 40 kB, as a coding agent sends it, costs to be translated.
func BenchmarkMessages(b *testing.B) {
	var tools []string
	for i := range 12 {
		tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","description":%q,"input_schema":{"type":"object"}}`, i,
			strings.Repeat("says what it does. ", 60)))
	}
	body := []byte(`{"model":"iris","stream":true,"max_tokens":1000,"system":[{"type":"text","text":"` +
		strings.Repeat("You are a coding agent. ", 1100) +
		`"}],"messages":[{"role":"user","content":"list this folder"}],` +
		`"tools":[` + strings.Join(tools, ",") + `]}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		q, err := messages.Read(body)
		require.NoError(b, err)
		_, err = q.Chat(messages.Provider{})
		require.NoError(b, err)
	}
}
