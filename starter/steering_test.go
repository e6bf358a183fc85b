package starter

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

func TestAHardenedDreamIsSteeredIfItsModelHasAVector(t *testing.T) {
	t.Parallel()
	s, _ := build(t)
	freeze := func(tier dream.Tier) *inference.Steering {
		spec, err := s.Freeze(context.Background(), DreamRequest{Agent: "echo", Tier: tier})
		require.NoError(t, err)
		return spec.Steering
	}
	require.Nil(t, freeze(dream.Hardened), "its model has no steering")

	table := s.Catalog.(inference.Table)
	spec := table[thinker]
	spec.Steers = &inference.Steers{Vector: "muse", Depth: 22}
	table[thinker] = spec
	require.Equal(t, "muse x 1.5 at layer 11", freeze(dream.Hardened).String())
	require.Nil(t, freeze(dream.Core), "only the hardened tier is steered")

	s.Options.Knobs.SteerLayer, s.Options.Knobs.SteerAlpha = 8, .5
	require.Equal(t, "muse x 0.5 at layer 6", freeze(dream.Hardened).String())
	s.Options.Knobs.SteerAlpha = 0
	require.Nil(t, freeze(dream.Hardened), "0 steers nothing")
}
