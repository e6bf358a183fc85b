package hypnagogia

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Texts that are added to memories later are found as if they had been read with them.
func TestTextsAddedToMemoriesAreFoundAsTheirs(t *testing.T) {
	t.Parallel()
	memories := [][]string{
		{"the ferry left the quay at nine", "nobody waved to it"},
		{"a grey heron stood in the reeds"},
	}
	added := map[int32][]string{0: {"the ferry left late in the rain"}, 2: {"the bell of the harbour rang twice"}}
	read := MemoryTextsOf([][]string{
		append(slices.Clone(memories[0]), added[0]...), memories[1], added[2],
	})
	before := MemoryTextsOf(memories)
	all := before.With(added)
	for _, text := range []string{
		"the ferry left the quay at nine", "the ferry left late in the rain", "the ferry left late, nobody waved to it",
		"a grey heron stood in the rain", "the bell of the harbour rang twice", "nothing of it",
	} {
		require.InDelta(t, read.Copied(text), all.Copied(text), 1e-12, text)
	}
	require.Zero(t, before.Copied("the bell of the harbour rang twice"), "what is added to stays as it is")
}
