package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/store"
)

func TestValuesAreDecodedInTheirOrderHoweverMany(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 999, 5001} {
		texts := make([]string, n)
		for i := range texts {
			texts[i] = fmt.Sprint(i)
		}
		if n > 1 {
			texts[1] = ""
		}
		all, err := store.Decode[int](texts)
		require.NoError(t, err)
		require.Len(t, all, n)
		for i, v := range all {
			if i == 1 {
				i = 0
			}
			require.Equal(t, i, v)
		}
	}
}

func TestAValueThatCannotBeDecodedIsAnErrorWhereverItIs(t *testing.T) {
	t.Parallel()
	for _, at := range []int{0, 2500, 4999} {
		texts := make([]string, 5000)
		texts[at] = "{"
		_, err := store.Decode[int](texts)
		require.ErrorContains(t, err, "JSON")
	}
}
