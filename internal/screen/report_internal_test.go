package screen

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAModelIsNamedOnceWithItsRoles(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"generator, observer: house/small", "embedder: builtin/lexical"},
		modelsBy([]string{"generator=house/small", "embedder=builtin/lexical", "observer=house/small"}))
	require.Equal(t, []string{"as an older night told it"}, modelsBy([]string{"as an older night told it"}))
	require.Empty(t, modelsBy(nil))
}
