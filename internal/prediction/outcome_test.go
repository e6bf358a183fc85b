package prediction_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

var dawn = time.Date(2026, 3, 12, 4, 0, 0, 0, time.UTC)

// foretold is a prediction made at dawn, due two weeks later.
func foretold(id string, phase dream.Phase, confidence float64) *dream.Prediction {
	return &dream.Prediction{
		Head: dream.Head{
			ID:    id,
			Kind:  dream.KindPrediction,
			At:    dawn,
			State: dream.Live,
			Phase: phase,
			Dream: "dream/echo/0042",
		},
		Source:     dream.Creative,
		Claim:      "claim " + id,
		Horizon:    dawn.AddDate(0, 0, 14),
		Confidence: confidence,
		Status:     dream.PredictionOpen,
	}
}

// judged is a prediction resolved a number of hours after dawn.
func judged(id string, phase dream.Phase, confidence float64, status string, hours int) *dream.Prediction {
	p := foretold(id, phase, confidence)
	at := dawn.Add(time.Duration(hours) * time.Hour)
	p.Status, p.ResolvedAt = status, &at
	return p
}

func TestOutcomesAreOrderedByTheirResolution(t *testing.T) {
	t.Parallel()
	undone := judged("undone", dream.REM, .25, dream.PredictionRight, 1)
	undone.State = dream.Archived
	late, early := judged("b", dream.NREM, .3, dream.PredictionRight, 5),
		judged("a", dream.Onset, .15, dream.PredictionWrong, 2)
	early.Fragment = "f-1"
	twin := judged("a-twin", dream.REM, .25, dream.PredictionWrong, 5)
	got := prediction.Outcomes([]*dream.Prediction{
		late, twin, early, undone, judged("void", dream.REM, .25, dream.PredictionVoid, 3),
		foretold("open", dream.REM, .25),
	})
	require.Equal(t, []prediction.Outcome{
		{
			Prediction: "a",
			Dream:      "dream/echo/0042",
			Source:     "creative",
			Phase:      dream.Onset,
			Fragment:   "f-1",
			Confidence: .15,
			Made:       dawn,
			ResolvedAt: dawn.Add(2 * time.Hour),
		},
		{
			Prediction: "a-twin",
			Dream:      "dream/echo/0042",
			Source:     "creative",
			Phase:      dream.REM,
			Confidence: .25,
			Made:       dawn,
			ResolvedAt: dawn.Add(5 * time.Hour),
		},
		{
			Prediction: "b",
			Dream:      "dream/echo/0042",
			Source:     "creative",
			Phase:      dream.NREM,
			Confidence: .3,
			Right:      true,
			Made:       dawn,
			ResolvedAt: dawn.Add(5 * time.Hour),
		},
	}, got, "ties are ordered by the claim")
	require.InDeltaSlice(t, []float64{-.15, -.25, .7}, prediction.Residuals(got), 1e-12)
	require.Equal(t, got[1:], prediction.Recent(got, 2))
	require.Equal(t, got, prediction.Recent(got, 9))
	require.Empty(t, prediction.Recent(got, -1))
	require.Equal(t, got[:1], prediction.KnownAt(got, dawn.Add(4*time.Hour)))
	require.Equal(t, got[1:], prediction.After(got, dawn.Add(4*time.Hour)))
	require.Len(t, got, 3, "the input is unchanged")
}

// Surprise is the mean absolute residual.
func TestSurpriseIsTheMeanAbsoluteResidual(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		outcomes []prediction.Outcome
		want     float64
	}{
		{"certain and right", []prediction.Outcome{{Confidence: 1, Right: true}}, 0},
		{"certain and wrong", []prediction.Outcome{{Confidence: 1}}, 1},
		{"a wrong prediction of a dream", []prediction.Outcome{{Confidence: .15}}, .15},
		{"a right prediction of a dream", []prediction.Outcome{{Confidence: .15, Right: true}}, .85},
		{"one of each", []prediction.Outcome{{Confidence: .15}, {Confidence: .15, Right: true}}, .5},
		{
			"all three phases wrong",
			[]prediction.Outcome{{Confidence: .15}, {Confidence: .3}, {Confidence: .25}},
			.7 / 3,
		},
	} {
		got, ok := prediction.Surprise(c.outcomes)
		require.True(t, ok)
		require.InDelta(t, c.want, got, 1e-12, c.name)
	}
	_, ok := prediction.Surprise(nil)
	require.False(t, ok, "there are no outcomes")
	_, ok = prediction.Accuracy(nil)
	require.False(t, ok)
	share, _ := prediction.Accuracy([]prediction.Outcome{{Right: true}, {}, {}, {}})
	require.InDelta(t, .25, share, 1e-12)
}
