package prediction_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// Ranges of confidence by phase, and expected accuracy 0.15 / 0.30 / 0.25.
func TestConfidenceAndExpectationByPhase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phase               dream.Phase
		low, high, expected float64
	}{
		{dream.Onset, .10, .20, .15},
		{dream.NREM, .25, .40, .30},
		{dream.REM, .20, .35, .25},
		{dream.Integration, .2, .3, 0},
		{dream.Return, .10, .40, 0},
	} {
		low, high := prediction.Range(c.phase)
		require.Equal(t, []float64{c.low, c.high, c.expected}, []float64{low, high, prediction.Expected(c.phase)},
			c.phase)
		require.Equal(t, c.low, prediction.Clamp(c.phase, 0))
		require.Equal(t, c.low, prediction.Clamp(c.phase, math.NaN()))
		require.Equal(t, c.high, prediction.Clamp(c.phase, 1))
		require.Equal(t, (c.low+c.high)/2, prediction.Clamp(c.phase, (c.low+c.high)/2))
	}
}

// Residual = outcome - confidence.
func TestResidualsAndTheBrierScore(t *testing.T) {
	t.Parallel()
	require.InDelta(t, .85, prediction.Residual(true, .15), 1e-12)
	require.InDelta(t, -.15, prediction.Residual(false, .15), 1e-12)
	score, ok := prediction.Brier(prediction.Residual(true, .15), prediction.Residual(false, .15),
		prediction.Residual(false, .35))
	require.True(t, ok)
	require.InDelta(t, (.7225+.0225+.1225)/3, score, 1e-12)
	_, ok = prediction.Brier()
	require.False(t, ok)
}

func TestTheTrueConfidenceHasTheBestBrierScore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		right, all := rapid.IntRange(0, 40).Draw(r, "right"), 40
		answer := rapid.Float64Range(0, 1).Draw(r, "said")
		brier := func(c float64) float64 {
			var residuals []float64
			for i := range all {
				residuals = append(residuals, prediction.Residual(i < right, c))
			}
			score, _ := prediction.Brier(residuals...)
			return score
		}
		require.LessOrEqual(r, brier(float64(right)/float64(all)), brier(answer)+1e-12)
	})
}

// Staged at 0.2 to 0.3; promoted from 0.7 or refuted below 0.1 it is not any more: outcomes decide.
func TestTheFirstConfidenceOfAHypothesis(t *testing.T) {
	t.Parallel()
	require.Equal(t, []float64{.2, .2, .25, .3, .3}, []float64{
		prediction.StagedConfidence(0), prediction.StagedConfidence(math.NaN()), prediction.StagedConfidence(.25),
		prediction.StagedConfidence(.3), prediction.StagedConfidence(.9),
	})
	highest := staged(.95)
	require.True(t, prediction.Test(highest, resolved("a", dream.PredictionRight), independently("a"), false))
	require.Equal(t, 1.0, highest.Confidence)
	lowest := staged(.02)
	require.True(t, prediction.Test(lowest, resolved("a", dream.PredictionWrong), independently("a"), false))
	require.Zero(t, lowest.Confidence)
}
