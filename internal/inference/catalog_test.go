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

// asked is a catalogue that counts who asks.
type asked struct {
	inference.Table
	times map[string]int
}

func (a asked) Lookup(model string) (inference.Spec, error) {
	a.times[model]++
	return a.Table.Lookup(model)
}

func TestARememberedCatalogueIsAskedOnceForEachModelThatItHas(t *testing.T) {
	t.Parallel()
	from := asked{inference.Table{"a/x": {Name: "a/x", Provider: "a", Context: 9}}, map[string]int{}}
	c := inference.Remembered(from)
	for range 3 {
		s, err := c.Lookup("a/x")
		require.NoError(t, err)
		require.Equal(t, from.Table["a/x"], s)
		_, err = c.Lookup("a/y")
		f, ok := inference.AsFailure(err)
		require.True(t, ok)
		require.Equal(t, inference.Unknown, f.Kind)
	}
	require.Equal(t, map[string]int{"a/x": 1, "a/y": 3}, from.times)
}
