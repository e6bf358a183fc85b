package deploy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAHostThatCannotBeFoundIsNamed(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"oneiros.invalid:7233", "dns:///oneiros.invalid:7233"} {
		require.Contains(t, unresolved(t.Context(), address), "lookup oneiros.invalid")
	}
	for _, address := range []string{"127.0.0.1:7233", "[::1]:7233", ":7233", "unix:///run/temporal.sock"} {
		require.Empty(t, unresolved(t.Context(), address), address)
	}
}
