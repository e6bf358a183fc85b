package localmodel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
)

func TestTheBuiltInEmbeddersSayWhatTheirCosinesMean(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, spec := range localmodel.Specs() {
		if !spec.Embeds {
			continue
		}
		seen++
		placed, err := localmodel.New().Embed(t.Context(), spec.Name, inference.CalibrationTexts(), "")
		require.NoError(t, err)
		require.True(t, spec.Makes(placed.Space))
		measured, err := inference.Calibrate(placed.V)
		require.NoError(t, err)
		require.InDelta(t, measured.Unrelated, spec.Calibration.Unrelated, .01, spec.Name)
		require.InDelta(t, measured.Related, spec.Calibration.Related, .01, spec.Name)
		require.InDelta(t, measured.Novel, spec.Calibration.Novel, .01, spec.Name)
		require.InDelta(t, measured.Same, spec.Calibration.Same, .01, spec.Name)
	}
	require.Equal(t, 2, seen)
}
