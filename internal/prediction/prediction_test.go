package prediction_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/internal/dream"
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

// Staged at 0.2 to 0.3, +0.1 when confirmed, -0.05 when contradicted, promoted from 0.7, refuted below 0.1.
func TestTheStepsOfAHypothesis(t *testing.T) {
	t.Parallel()
	require.Equal(t, []float64{.2, .2, .25, .3, .3}, []float64{
		prediction.StagedConfidence(0), prediction.StagedConfidence(math.NaN()), prediction.StagedConfidence(.25), prediction.StagedConfidence(.3),
		prediction.StagedConfidence(.9),
	})
	up, confirmations := .2, 0
	for ; prediction.Status(up) == dream.HypothesisStaged; confirmations++ {
		up = prediction.Confirm(up)
	}
	require.Equal(t, dream.HypothesisPromoted, prediction.Status(up))
	require.Equal(t, 5, confirmations, ".2 + 5 × .1 is exactly .7")
	down, contradictions := .2, 0
	for ; prediction.Status(down) == dream.HypothesisStaged; contradictions++ {
		down = prediction.Contradict(down)
	}
	require.Equal(t, dream.HypothesisRefuted, prediction.Status(down))
	require.Equal(t, 3, contradictions, ".2 - 2 × .05 is exactly .1, which is still staged")
	require.Equal(t, 1.0, prediction.Confirm(.95))
	require.Zero(t, prediction.Contradict(.02))
}
