package imagination

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTwoScoresAreWrittenDistinguishably(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b      float64
		own, than string
	}{
		{.2, .6, "0.20", "0.60"},
		{.8131, .8142, "0.813", "0.814"},
		{.7, .7, "0.70", "0.70"},
	} {
		own, than := distinguish(c.a, c.b)
		require.Equal(t, []string{c.own, c.than}, []string{own, than})
	}
}
