package console_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// At a start the user sees which agents' memories were not embedded by the usual embedder, and how to change over.
func TestAStartOffersTheChangeToTheUsualEmbedder(t *testing.T) {
	t.Parallel()
	const offer = "The memory of echo was placed by another embedder than house/vectors, and is still served by that one. " +
		"To change over: oneiros memory embed --agent echo"
	start := func(embedder, own string) string {
		s := &sleeper{}
		d := newFixture(t).furnish().asleep(s, 0)
		if own != "" {
			a, err := d.store.Agent(t.Context(), "echo")
			require.NoError(t, err)
			a.Models = map[dream.Role]string{dream.Embedder: own}
			require.NoError(t, d.store.PutAgent(t.Context(), a))
		}
		d.roles = map[dream.Role]string{dream.Embedder: embedder}
		s.failed <- nil // a part of it ends by itself as soon as it runs
		d.run(0, "up")
		return strings.Join(strings.Fields(d.err.String()), " ")
	}
	require.Contains(t, start("house/vectors", ""), offer)
	require.NotContains(t, start("house/vectors", ""), "The memory of tally", "it remembers nothing")
	require.NotContains(t, start("letters/one", ""), "placed by another embedder",
		"its memory lies where the usual one puts it")
	require.NotContains(t, start("house/vectors", "letters/one"), "placed by another embedder",
		"it has an embedder of its own")
	require.NotContains(t, start("nobody/knows", ""), "placed by another embedder", "other checks tell of that")
}
