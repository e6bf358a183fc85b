package psyche_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePromptOfATurnIsCountedAndNeverTooLow(t *testing.T) {
	t.Parallel()
	r := setup(t)
	count := func(body string) int64 {
		n, err := r.Service.PromptTokens(t.Context(), turn(ann, body))
		require.NoError(t, err)
		return n
	}
	short := count(chat("Hello"))
	require.GreaterOrEqual(t, short, int64(len("Hello")+len("You are echo.")),
		"a model without a known tokenizer: bytes")
	require.Greater(t, count(chat(strings.Repeat("word ", 20_000))), int64(100_000))
	tools := count(`{"model":"echo","messages":[{"role":"user","content":"Hello"}],"tools":[{"type":"function","function":{"name":"f","description":"` +
		strings.Repeat("word ", 100) + `"}}]}`)
	require.Greater(t, tools, short+500)
	require.Zero(t, r.nights.woken(), "to count wakes nobody")
	_, err := r.Service.PromptTokens(t.Context(), turn(ann, `{"model":"echo"}`))
	require.ErrorContains(t, err, "no array of messages")
}
