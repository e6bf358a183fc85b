package prediction_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// after are a number of outcomes of a phase, the right ones first.
func after(phase dream.Phase, confidence float64, right, all int) []*dream.Prediction {
	var list []*dream.Prediction
	for i := range all {
		status := dream.PredictionWrong
		if i < right {
			status = dream.PredictionRight
		}
		list = append(list, judged(fmt.Sprintf("%s-%d", phase, i), phase, confidence, status, i))
	}
	return list
}

// Expected accuracy by phase 0.15 / 0.30 / 0.25. The bounds are those of published tables of Wilson's interval.
func TestEachPhaseIsComparedWithItsExpectation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phase               dream.Phase
		confidence          float64
		right, all          int
		low, high, brier    float64
		expected            float64
		read                prediction.Reading
		accuracy, tooModest float64
	}{
		{dream.Onset, .15, 1, 10, .0179, .4042, .0925, .15, prediction.AsExpected, .1, -.05},
		{dream.Onset, .15, 50, 100, .4038, .5962, .3725, .15, prediction.Better, .5, .35},
		{dream.NREM, .30, 0, 100, 0, .0370, .09, .30, prediction.Worse, 0, -.3},
		{dream.NREM, .30, 30, 100, .2189, .3958, .21, .30, prediction.AsExpected, .3, 0},
		{dream.REM, .25, 3, 3, .4385, 1, .5625, .25, prediction.Better, 1, .75},
		{dream.Integration, .25, 1, 2, .0945, .9055, .3125, 0, prediction.Unexpected, .5, .25},
	} {
		got := prediction.Calibration(prediction.Outcomes(after(c.phase, c.confidence, c.right, c.all)))
		require.Len(t, got.Phases, 1)
		r := got.Phases[0]
		name := fmt.Sprintf("%s %d of %d", c.phase, c.right, c.all)
		require.Equal(t, c.phase, r.Phase)
		require.Equal(t, []int{c.all, c.right}, []int{r.Outcomes, r.Right}, name)
		require.InDeltaSlice(t, []float64{c.accuracy, c.low, c.high, c.confidence, c.expected, c.brier, c.tooModest},
			[]float64{r.Accuracy, r.Low, r.High, r.Confidence, r.Expected, r.Brier, r.Bias}, 5e-5, name)
		require.Equal(t, c.read, r.Read(), name)
	}
}

func TestTheRollingAccuracyCoversTheLastHundredCreativeOutcomes(t *testing.T) {
	t.Parallel()
	list := after(dream.NREM, .3, 60, 150) // the last hundred: ten of them came true
	tool := judged("tool", "", .9, dream.PredictionRight, 500)
	tool.Source, tool.Dream = dream.Analytical, ""
	got := prediction.Calibration(prediction.Outcomes(append(list, tool)))
	require.Equal(t, []int{150, 100, 1}, []int{got.Creative.Outcomes, got.Rolling.Outcomes, got.Analytical.Outcomes})
	require.InDelta(t, .4, got.Creative.Accuracy, 1e-12)
	require.InDelta(t, .1, got.Rolling.Accuracy, 1e-12)
	require.InDelta(t, .01, got.Analytical.Brier, 1e-12)
	require.Equal(t, *tool.ResolvedAt, *got.Last)
	require.Len(t, got.Phases, 1, "a tool's prediction has no phase")
}

func TestScoresWithoutOutcomes(t *testing.T) {
	t.Parallel()
	got := prediction.Calibration(nil)
	require.Empty(t, got.Phases)
	require.NotNil(t, got.Phases, "a list without members, as JSON")
	require.Equal(t, prediction.Record{High: 1}, got.Creative)
	require.Equal(t, prediction.NoneYet, got.Creative.Read())
	require.Nil(t, got.Last)
}
