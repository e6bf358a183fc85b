package temporalchild

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A container may run as any number.
func TestAUserWithoutANameAndAHomeGetsBoth(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, []string{"PATH=/bin", "USER=uid12345", "HOME=/"}, withUser([]string{"PATH=/bin"}, 12345))
	require.ElementsMatch(t, []string{"USER=iris", "HOME=", "HOME=/"}, withUser([]string{"USER=iris", "HOME="}, 1))
	complete := []string{"USER=iris", "HOME=/home/iris"}
	require.Equal(t, complete, withUser(complete, 1))
}
