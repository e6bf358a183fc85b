package activities

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAShelfHoldsOnlyDreamsThatMayStillGoOn(t *testing.T) {
	t.Parallel()
	s := newShelf()
	theme := func(id string) (theme string) {
		s.read(id, func(v *volume) { theme = v.theme })
		return theme
	}
	s.put("first", func(v *volume) { v.theme = "rope" })
	require.Equal(t, "rope", theme("first"))
	s.drop("first")
	s.drop("never put")
	require.Empty(t, s.dreams)
	require.Empty(t, s.order)
	require.Empty(t, theme("first"))
	for i := range shelved + 5 {
		s.put(fmt.Sprint(i), func(v *volume) { v.theme = "later" })
	}
	require.Len(t, s.dreams, shelved)
	require.Len(t, s.order, shelved)
	require.Empty(t, theme("first"))
	(*shelf)(nil).drop("nothing is kept")
}
