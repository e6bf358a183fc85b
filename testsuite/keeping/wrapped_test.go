package keeping_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/utterance"
	"github.com/seed-56a03226/oneiros/testsuite/keeping"
)

// TestClientFormatsAreRemoved checks what is left of the last message of every shape: the person's words, and of long
// pastes of prose some of the paste.
func TestClientFormatsAreRemoved(t *testing.T) {
	t.Parallel()
	const words = "My aunt Ottilie keeps her spare spectacles in the bread bin."
	shapes, err := keeping.Shapes()
	require.NoError(t, err)
	for i, s := range shapes {
		m, err := s.Messages[len(s.Messages)-1].Filled(words, uint64(i))
		require.NoError(t, err)
		left := utterance.Strip(m.Text())
		require.Contains(t, left, words, "%s: %q", s.Client, left)
		if !strings.Contains(s.Client, "of prose") {
			require.Equal(t, []string{words}, left, s.Client)
		}
		require.LessOrEqual(t, len(left), 7, s.Client)
	}
}
