package prediction_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

func staged(confidence float64, sources ...string) *dream.Hypothesis {
	return &dream.Hypothesis{
		Head:       dream.Head{ID: "h", Kind: dream.KindHypothesis, State: dream.Live, Sources: sources},
		Confidence: confidence, Status: dream.HypothesisStaged,
	}
}

var firstOutcome = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// resolved is a prediction with an outcome; ids in the order of the alphabet are resolved in that order.
func resolved(id, status string) *dream.Prediction {
	at := firstOutcome.Add(time.Duration(id[0]) * time.Hour)
	return &dream.Prediction{Head: dream.Head{ID: id}, Status: status, ResolvedAt: &at, ResolvedBy: dream.ByPerson}
}

// independently is what an outcome rests on that shares nothing with others.
func independently(id string) prediction.Support {
	return prediction.Support{Sources: []string{"from " + id}, Events: []string{"by " + id}}
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
		require.Equal(t, c.moved, prediction.Test(h, resolved(c.id, c.status), independently(c.id), true),
			"%s %s", c.id, c.status)
		require.InDelta(t, c.confidence, h.Confidence, 1e-9, "%s %s", c.id, c.status)
	}
	require.Empty(t, h.Confirmed)
	require.Empty(t, h.Contradicted)
	require.Empty(t, h.Outcomes)
}

// outcomes applies one outcome a letter: + came true, - did not; each is independent.
func outcomes(h *dream.Hypothesis, signs string, strict bool) {
	for i, sign := range signs {
		status := dream.PredictionRight
		if sign == '-' {
			status = dream.PredictionWrong
		}
		id := string(rune('a' + i))
		prediction.Test(h, resolved(id, status), independently(id), strict)
	}
}

func TestThreeIndependentOutcomesDecideAHypothesisInProse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signs    string
		strict   string
		measured string
	}{
		{"++", dream.HypothesisStaged, dream.HypothesisStaged},
		{"+++", dream.HypothesisPromoted, dream.HypothesisStaged},
		{"++-", dream.HypothesisStaged, dream.HypothesisStaged},
		{"-++++++", dream.HypothesisStaged, dream.HypothesisStaged},
		{"--", dream.HypothesisStaged, dream.HypothesisStaged},
		{"---", dream.HypothesisRefuted, dream.HypothesisRefuted},
		{"+++-", dream.HypothesisPromoted, dream.HypothesisStaged},
		{"+++-+-+-", dream.HypothesisPromoted, dream.HypothesisStaged},
		{"+++--", dream.HypothesisRetired, dream.HypothesisStaged},
		{"++++++++--", dream.HypothesisRetired, dream.HypothesisStaged},
	} {
		strict, measured := staged(.2), staged(.2)
		outcomes(strict, c.signs, true)
		outcomes(measured, c.signs, false)
		require.Equal(t, c.strict, strict.Status, c.signs)
		require.Equal(t, c.measured, measured.Status, c.signs)
		over := strict.Status == dream.HypothesisRefuted || strict.Status == dream.HypothesisRetired
		require.Equal(t, over, strict.State == dream.Archived, c.signs)
		require.Equal(t, over, !strict.Ended.IsZero(), c.signs)
		require.Equal(t, over, strict.Reason != "", c.signs)
	}
}

func TestOnlyIndependentOutcomesCount(t *testing.T) {
	t.Parallel()
	from := func(source, event string) prediction.Support {
		return prediction.Support{Sources: []string{source}, Events: []string{event}}
	}
	guessed := independently("c")
	guessed.Guessed = true
	for name, c := range map[string]struct {
		third prediction.Support
		why   string
	}{
		"independent":        {from("e3", "q3"), ""},
		"the same source":    {from("e2", "q3"), "it rests on the same episode as b"},
		"the same event":     {from("e3", "q1"), "it was decided by the same as a"},
		"guessed sources":    {guessed, "its sources were guessed"},
		"no source":          {prediction.Support{Events: []string{"q3"}}, "it rests on no episode that a person or a tool gave"},
		"nobody decided it":  {prediction.Support{Sources: []string{"e3"}}, "what decided it is unknown"},
		"one of two is used": {prediction.Support{Sources: []string{"e3", "e1"}, Events: []string{"q3"}}, "it rests on the same episode as a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := staged(.2)
			require.True(t, prediction.Test(h, resolved("a", dream.PredictionRight), from("e1", "q1"), true))
			require.True(t, prediction.Test(h, resolved("b", dream.PredictionRight), from("e2", "q2"), true))
			require.True(t, prediction.Test(h, resolved("c", dream.PredictionRight), c.third, true))
			require.Equal(t, c.why, h.Outcomes[2].Dependent)
			require.Equal(t, c.why == "", h.Status == dream.HypothesisPromoted)
			require.Len(t, h.Confirmed, 3, "its confidence still rises")
		})
	}
}

func TestWithoutIndependenceChancePromotesMore(t *testing.T) {
	t.Parallel()
	h := staged(.2)
	for i := range 3 { // one event, told of three times
		p := resolved(fmt.Sprint(i), dream.PredictionRight)
		require.True(t, prediction.Test(h, p, prediction.Support{Sources: []string{"e"}, Events: []string{"q"}}, true))
	}
	require.Equal(t, dream.HypothesisStaged, h.Status)
	require.Len(t, prediction.Independent(h), 1)
}

func TestACorrectedOutcomeIsDecidedAnew(t *testing.T) {
	t.Parallel()
	h := staged(.2)
	outcomes(h, "---", true)
	require.Equal(t, dream.HypothesisRefuted, h.Status)
	require.False(t, prediction.Test(h, resolved("d", dream.PredictionRight), independently("d"), true), "it is refuted")
	require.True(t, prediction.Test(h, resolved("c", dream.PredictionRight), independently("c"), true))
	require.Equal(t, []string{dream.HypothesisStaged, string(dream.Live)}, []string{h.Status, string(h.State)})
	require.Equal(t, []string{"a", "b"}, h.Contradicted)

	h = staged(.2)
	outcomes(h, "+++", true)
	require.False(t, h.Promoted.IsZero())
	require.True(t, prediction.Test(h, resolved("b", dream.PredictionVoid), independently("b"), true), "b is withdrawn")
	require.Equal(t, dream.HypothesisStaged, h.Status)
}

func TestClaimsDecideAHypothesisWithoutProse(t *testing.T) {
	t.Parallel()
	h := staged(.2)
	h.Claims = []string{"cl_1"}
	outcomes(h, "+++++", true)
	require.Equal(t, dream.HypothesisStaged, h.Status)
	require.InDelta(t, .7, h.Confidence, 1e-9)
	h = staged(.2)
	h.State = dream.Archived
	require.False(t, prediction.Test(h, resolved("a", dream.PredictionRight), independently("a"), true), "it was undone")
}

func TestWhatDecidedAPrediction(t *testing.T) {
	t.Parallel()
	p := resolved("a", dream.PredictionRight)
	p.DecidedBy = []string{"ep_1"}
	require.Equal(t, []string{"ep_1"}, prediction.EventsOf(p))
	p.DecidedBy = nil
	require.Equal(t, []string{"person: 2026-03-05"}, prediction.EventsOf(p), "without words a day is one event")
	p.Evidence = "The boat sank."
	other := resolved("b", dream.PredictionRight)
	other.Evidence = "the boat SANK"
	require.Equal(t, prediction.EventsOf(p), prediction.EventsOf(other))
	other.ResolvedAt = nil
	require.Empty(t, prediction.EventsOf(other))
}

func TestAHypothesisRestsOnPredictionsAndTheirSources(t *testing.T) {
	t.Parallel()
	p := foretold("p", dream.REM, .25)
	require.False(t, prediction.RestsOn(staged(.2, "", "x"), p))
	require.True(t, prediction.RestsOn(staged(.2, "x", "p"), p))
	p.Fragment, p.Scenario = "f", "s"
	require.True(t, prediction.RestsOn(staged(.2, "f"), p))
	require.True(t, prediction.RestsOn(staged(.2, "s"), p))

	h, later := staged(.2), foretold("later", dream.REM, .25)
	later.Sources = []string{"h"}
	require.True(t, prediction.RestsOn(h, later), "it was foretold from the hypothesis")
	h, later = staged(.2), foretold("later", dream.REM, .25)
	h.Claim, later.Claim = "The old boat sinks.", "the old boat sinks"
	require.True(t, prediction.RestsOn(h, later), "it says the same")
	for _, claim := range []string{"The old boat does not sink.", "The boat sinks.", "Sinks the old boat.", ""} {
		later.Claim = claim
		require.False(t, prediction.RestsOn(h, later), claim)
	}
	h.Claim, later.Claim = "It rains", "It rains"
	require.False(t, prediction.RestsOn(h, later), "two words are too few")
}
