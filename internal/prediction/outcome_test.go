package prediction_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
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

// Being right is no shock, however unlikely it was; being wrong is one, the more the surer the prediction was.
func TestOnlyWhatProvedWrongSurprises(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		confidence float64
		right      bool
		surprise   float64
	}{
		{.15, true, 0}, {.9, true, 0}, {.15, false, .3}, {.4, false, .8}, {.5, false, 1}, {.9, false, 1}, {0, false, 0},
	} {
		o := prediction.Outcome{Confidence: c.confidence, Right: c.right}
		require.InDelta(t, c.surprise, o.Surprise(), 1e-12, "%+v", c)
	}
	for _, p := range []float64{.15, .25, .5} { // calibrated predictions surprise as much as their residuals are large
		right, wrong := prediction.Outcome{Confidence: p, Right: true}, prediction.Outcome{Confidence: p}
		require.InDelta(t, 2*p*(1-p), p*right.Surprise()+(1-p)*wrong.Surprise(), 1e-12)
	}
	require.Equal(t, []float64{0, .5}, prediction.Surprises([]prediction.Outcome{
		{Confidence: .25, Right: true}, {Confidence: .25},
	}))
}

// What predictions that rest on an episode came to counts for its surprise, the more of them the more.
func TestTheSurpriseOfAnEpisodeFollowsItsPredictions(t *testing.T) {
	t.Parallel()
	p := judged("a", dream.NREM, .4, dream.PredictionWrong, 1)
	p.Episodes = []string{"wrong", "both"}
	q := judged("b", dream.NREM, .4, dream.PredictionRight, 2)
	q.Episodes = []string{"right", "both"}
	of := prediction.SurpriseOf(prediction.Outcomes([]*dream.Prediction{p, q, foretold("open", dream.NREM, .9)}))
	require.InDelta(t, .6, of("wrong", .4), 1e-12)
	require.InDelta(t, .2, of("right", .4), 1e-12)
	require.InDelta(t, .4, of("both", .4), 1e-12)
	require.InDelta(t, .4, of("neither", .4), 1e-12)
}
