package presencetest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var races = []clause{
	{"NoRaceLetsAStretchOfAnOlderEpochWrite", func(t *testing.T, s Store) { raceHolds(t, s) }},
}

func raceHolds(t *testing.T, handles ...Store) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	require.NoError(t, Race(t.Context(), seed, handles...))
}
