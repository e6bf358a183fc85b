package prediction_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
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
		got := prediction.Calibration(after(c.phase, c.confidence, c.right, c.all))
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

// The skill compares confidences with always saying how often predictions come true: it is above 0 for those who know
// which of theirs do, and below 0 for those who always say the same wrong number.
func TestTheSkillIsMeasuredAgainstTheBaseRate(t *testing.T) {
	t.Parallel()
	record := func(rightly, wrongly float64, right, all int) prediction.Record {
		var list []*dream.Prediction
		for i := range all {
			status, confidence := dream.PredictionWrong, wrongly
			if i < right {
				status, confidence = dream.PredictionRight, rightly
			}
			list = append(list, judged(fmt.Sprintf("s-%d", i), dream.REM, confidence, status, i))
		}
		return prediction.Calibration(list).Creative
	}
	for _, c := range []struct {
		rightly, wrongly float64
		right            int
		want             float64
	}{
		{.25, .25, 5, 0}, {1, 0, 5, 1}, {.5, .5, 5, -1. / 3}, {.7, .1, 5, .84}, {0, 1, 10, -3},
	} {
		r := record(c.rightly, c.wrongly, c.right, 20)
		require.NotNil(t, r.Skill)
		require.InDelta(t, c.want, *r.Skill, 1e-9, "%v", c)
	}
	require.Nil(t, record(.3, .3, 20, 20).Skill, "all came true")
	require.Nil(t, record(.3, .3, 0, 20).Skill, "none did")
	require.Nil(t, prediction.Calibration(nil).Creative.Skill)
}

func TestTheRollingAccuracyCoversTheLastHundredCreativeOutcomes(t *testing.T) {
	t.Parallel()
	list := after(dream.NREM, .3, 60, 150) // the last hundred: ten of them came true
	tool := judged("tool", "", .9, dream.PredictionRight, 500)
	tool.Source, tool.Dream = dream.Analytical, ""
	got := prediction.Calibration(append(list, tool))
	require.Equal(t, []int{150, 100, 1}, []int{got.Creative.Outcomes, got.Rolling.Outcomes, got.Analytical.Outcomes})
	require.InDelta(t, .4, got.Creative.Accuracy, 1e-12)
	require.InDelta(t, .1, got.Rolling.Accuracy, 1e-12)
	require.InDelta(t, .01, got.Analytical.Brier, 1e-12)
	require.Equal(t, *tool.ResolvedAt, *got.Last)
	require.Len(t, got.Phases, 1, "a tool's prediction has no phase")
}

// Accuracy leaves void predictions out; their share says how much it leaves out.
func TestTheShareOfVoidPredictionsIsCounted(t *testing.T) {
	t.Parallel()
	list := after(dream.NREM, .3, 1, 3)
	for i := range 9 {
		list = append(list, judged(fmt.Sprintf("v-%d", i), dream.REM, .25, dream.PredictionVoid, i))
	}
	list[3].Phase, list[4].State = dream.NREM, dream.Archived
	tool := judged("tool", "", .9, dream.PredictionVoid, 2)
	tool.Source, tool.Dream = dream.Analytical, ""
	list = append(list, tool, foretold("open", dream.REM, .25))
	got := prediction.Calibration(list)
	require.Len(t, got.Phases, 2)
	nrem, rem := got.Phases[0], got.Phases[1]
	require.Equal(t, dream.REM, rem.Phase)
	require.Equal(t, []int{3, 1, 0, 7, 3, 8, 0, 1}, []int{
		nrem.Outcomes, nrem.Void, rem.Outcomes, rem.Void, got.Creative.Outcomes, got.Creative.Void,
		got.Analytical.Outcomes, got.Analytical.Void,
	})
	require.InDelta(t, .25, nrem.VoidShare, 1e-12)
	require.InDelta(t, 1, rem.VoidShare, 1e-12)
	require.InDelta(t, 8./11, got.Creative.VoidShare, 1e-12)
	require.InDelta(t, 1./3, nrem.Accuracy, 1e-12)
	require.Equal(t, prediction.NoneYet, rem.Read())
}

// Beside the last hundred outcomes stand those void ones that were resolved since the first of them.
func TestVoidPredictionsOfTheLastHundred(t *testing.T) {
	t.Parallel()
	list := after(dream.NREM, .3, 60, 150)
	for _, hour := range []int{10, 49, 50, 51, 200} {
		list = append(list, judged(fmt.Sprintf("v-%d", hour), dream.REM, .25, dream.PredictionVoid, hour))
	}
	got := prediction.Calibration(list)
	require.Equal(t, []int{5, 3}, []int{got.Creative.Void, got.Rolling.Void})
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
