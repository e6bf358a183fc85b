package screen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

func TestAThoughtSaysUnderWhichVectorItWasThought(t *testing.T) {
	t.Parallel()
	f := &dream.Fragment{Settings: dream.Settings{Steering: "muse x 0.25 at layer 11"}}
	require.Contains(t, originWords(f), ", steered by muse x 0.25 at layer 11")
	require.NotContains(t, originWords(&dream.Fragment{}), "steered")
}
