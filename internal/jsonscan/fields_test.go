package jsonscan

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFieldsAreFoundAmongAnyNumber(t *testing.T) {
	t.Parallel()
	var f Fields
	for i := range 1000 {
		name := strconv.Itoa(i)
		require.Nil(t, f.Find(name))
		require.True(t, f.Add(name, []byte(name)))
		require.False(t, f.Add(name, nil), "%s is there", name)
		require.Equal(t, name, string(f.Find(name).Value))
		require.Equal(t, i >= few, f.places != nil, "many are not searched one by one")
	}
	require.Len(t, f.places, 1000)
	require.Equal(t, "0", string(f.Find("0").Value))
}
