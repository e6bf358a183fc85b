package prediction_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

func staged(confidence float64, sources ...string) *dream.Hypothesis {
	return &dream.Hypothesis{
		Head:       dream.Head{ID: "h", Kind: dream.KindHypothesis, State: dream.Live, Sources: sources},
		Confidence: confidence, Status: dream.HypothesisStaged,
	}
}

// +0.1 when confirmed, -0.05 when contradicted; a void prediction changes nothing.
func TestEachPredictionChangesAHypothesisOnce(t *testing.T) {
	t.Parallel()
	h := staged(.2)
	for _, c := range []struct {
		id, status string
		moved      bool
		confidence float64
	}{
		{"a", dream.PredictionRight, true, .3},
		{"a", dream.PredictionRight, false, .3},
		{"b", dream.PredictionWrong, true, .25},
		{"b", dream.PredictionWrong, false, .25},
		{"c", dream.PredictionVoid, false, .25},
		{"b", dream.PredictionRight, true, .4},
		{"a", dream.PredictionWrong, true, .25},
		{"a", dream.PredictionVoid, true, .3},
		{"b", dream.PredictionVoid, true, .2},
	} {
		require.Equal(t, c.moved, prediction.Test(h, c.id, c.status), "%s %s", c.id, c.status)
		require.InDelta(t, c.confidence, h.Confidence, 1e-9, "%s %s", c.id, c.status)
	}
	require.Empty(t, h.Confirmed)
	require.Empty(t, h.Contradicted)
}

func TestARefutedHypothesisCanBeCorrected(t *testing.T) {
	t.Parallel()
	h := staged(.2)
	for _, id := range []string{"a", "b"} {
		require.True(t, prediction.Test(h, id, dream.PredictionWrong))
	}
	require.Equal(t, dream.HypothesisStaged, h.Status, "at .1 it is still staged")
	require.True(t, prediction.Test(h, "c", dream.PredictionWrong))
	require.Equal(t, []string{dream.HypothesisRefuted, string(dream.Archived)}, []string{h.Status, string(h.State)})
	require.False(t, prediction.Test(h, "d", dream.PredictionRight), "it is refuted")
	require.True(t, prediction.Test(h, "c", dream.PredictionRight), "the outcome of c is corrected")
	require.Equal(t, []string{dream.HypothesisStaged, string(dream.Live)}, []string{h.Status, string(h.State)})
	require.InDelta(t, .2, h.Confidence, 1e-9)
	require.Equal(t, []string{"a", "b"}, h.Contradicted)
}

func TestAHypothesisIsPromotedAtSevenTenths(t *testing.T) {
	t.Parallel()
	h := staged(.3)
	for _, id := range []string{"a", "b", "c", "d"} {
		require.Equal(t, dream.HypothesisStaged, h.Status)
		require.True(t, prediction.Test(h, id, dream.PredictionRight))
	}
	require.Equal(t, dream.HypothesisPromoted, h.Status)
	require.Equal(t, dream.Live, h.State)
	require.False(t, prediction.Test(h, "e", dream.PredictionWrong), "only a staged hypothesis accepts new outcomes")
	undone := staged(.2)
	undone.State = dream.Archived
	require.False(t, prediction.Test(undone, "a", dream.PredictionRight))
}

func TestAHypothesisRestsOnPredictionsAndTheirSources(t *testing.T) {
	t.Parallel()
	p := foretold("p", dream.REM, .25)
	require.False(t, prediction.RestsOn(staged(.2, "", "x"), p))
	require.True(t, prediction.RestsOn(staged(.2, "x", "p"), p))
	p.Fragment, p.Scenario = "f", "s"
	require.True(t, prediction.RestsOn(staged(.2, "f"), p))
	require.True(t, prediction.RestsOn(staged(.2, "s"), p))
}
