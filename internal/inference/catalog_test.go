package inference_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/inference"
)

func TestATextIsClippedToTheWindowBetweenLetters(t *testing.T) {
	t.Parallel()
	spec := inference.Spec{Context: 5}
	for in, want := range map[string]string{"": "", "short": "short", "longer": "longe", "ééé": "éé", "日本": "日"} {
		require.Equal(t, want, spec.Clip(in))
	}
	long := strings.Repeat("x", 10_000)
	require.Equal(t, long, inference.Spec{}.Clip(long), "no window is known")
}

func TestASpaceBelongsToTheEmbedderThatMakesIt(t *testing.T) {
	t.Parallel()
	own := inference.Spec{Provider: "builtin", Wire: "lexical", Space: "builtin-lexical/1/384"}
	far := inference.Spec{Provider: "openai", Wire: "text-embedding-3-small"}
	require.True(t, own.Makes("builtin-lexical/1/384"))
	require.False(t, own.Makes("builtin-lexical/2/384"))
	require.True(t, far.Makes("openai/text-embedding-3-small/1536"))
	require.False(t, far.Makes("openai/text-embedding-3-smaller/1536"))
	require.False(t, own.Makes("openai/text-embedding-3-small/1536"))
}
