package inference_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

func TestATextIsHaltedBetweenTwoWordsWhereAStreamWouldHaveBeen(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("the lamp burns under water ", 60)
	for _, c := range []struct {
		tokenizer, text string
		tokens          int
		want            string
	}{
		{"", "  short  ", 80, "short"},
		{"", "one two three four", 2, "one two"},
		{"", "one two three four", 100, "one two three four"},
		{"", "unbreakable", 1, ""},
		{"", "", 5, ""},
		{"o200k_base", "one two three four", 3, "one two three"},
		{"o200k_base", "one  two\nthree four", 2, "one"},
	} {
		require.Equal(t, c.want, inference.CutAtTokens(inference.Spec{Tokenizer: c.tokenizer}, c.text, c.tokens),
			"%q at %d",
			c.text, c.tokens)
	}
	for _, spec := range []inference.Spec{{}, {Tokenizer: "o200k_base"}, {Tokenizer: "cl100k_base"}} {
		halted := inference.CutAtTokens(spec, long, 80)
		require.True(t, strings.HasPrefix(long, halted))
		require.Greater(t, len(strings.Fields(halted)), 50, spec.Tokenizer)
		require.Less(t, len(strings.Fields(halted)), 90, spec.Tokenizer)
		require.Equal(t, halted, inference.CutAtTokens(spec, halted, 80), "what is halted stays")
	}
}
