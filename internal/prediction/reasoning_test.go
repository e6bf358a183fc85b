package prediction_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

func TestTheLargestResidualsOfTheLastMonthAreReviewed(t *testing.T) {
	t.Parallel()
	with := func(id string, residual float64, days int, change func(p *dream.Prediction)) *dream.Prediction {
		at := rotation.Add(-time.Duration(days) * day)
		p := &dream.Prediction{
			Head:       dream.Head{ID: id, State: dream.Live},
			Status:     dream.PredictionRight,
			Trace:      "because",
			ResolvedAt: &at,
			Residual:   &residual,
		}
		if change != nil {
			change(p)
		}
		return p
	}
	all := []*dream.Prediction{
		with("small", .1, 1, nil), with("negative", -.8, 1, nil), with("large", .7, 1, nil), with("twin", .7, 1, nil),
		with("old", .9, 31, nil),
		with("no reasoning", .9, 1, func(p *dream.Prediction) { p.Trace = " \n" }),
		with("void", .9, 1, func(p *dream.Prediction) { p.Status = dream.PredictionVoid }),
		with("undone", .9, 1, func(p *dream.Prediction) { p.State = dream.Archived }),
		with("reviewed", .9, 1, func(p *dream.Prediction) { p.Reasoning = &dream.ReasoningReview{} }),
	}
	ids := func(most int) []string {
		var found []string
		for _, p := range prediction.ToReview(all, rotation, most) {
			found = append(found, p.ID)
		}
		return found
	}
	require.Equal(t, []string{"negative", "large", "twin", "small"}, ids(50))
	require.Equal(t, []string{"negative", "large"}, ids(2))
	require.Empty(t, ids(0))
}

func TestAProgramFindsWhatAReasoningIsFoundedOn(t *testing.T) {
	t.Parallel()
	check := &dream.Check{When: "storm", Then: "leak", Within: time.Hour}
	storm, leak := "A storm came at noon.", "There was a leak under the roof."
	for name, c := range map[string]struct {
		p        dream.Prediction
		memories []string
		aligned  bool
		reason   string
	}{
		"no memory": {dream.Prediction{Trace: "x"}, nil, false, "it rests on no memory that is left"},
		"guessed":   {dream.Prediction{Guessed: true, Check: check}, []string{storm, leak}, false, "its sources were guessed"},
		"a check that its memories name": {
			dream.Prediction{Check: check},
			[]string{storm, leak},
			true,
			"the memories that it rests on name what it claims",
		},
		"a check that they name in part": {
			dream.Prediction{Check: check}, []string{storm}, false, "no memory that it rests on names leak",
		},
		"sound prose": {
			dream.Prediction{Claim: "The roof leaks in a storm.", Trace: "A storm came, and the roof had a leak."},
			[]string{storm, leak},
			true, "its words stand in the memories that it rests on",
		},
		"another cause": {
			dream.Prediction{Claim: "The roof leaks.", Trace: "A president tweeted about Ethereum."},
			[]string{storm, leak},
			false, "the memories that it rests on hold 0 % of the reasoning's words",
		},
		"a leap": {
			dream.Prediction{Claim: "Ethereum doubles next Tuesday.", Trace: "A storm came."},
			[]string{storm},
			false,
			"the reasoning and its memories hold 0 % of the claim's words",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			aligned, reason := prediction.ReviewByProgram(&c.p, c.memories)
			require.Equal(t, c.aligned, aligned)
			require.Equal(t, c.reason, reason)
		})
	}
}

func TestLuckGivesAHypothesisNoCredit(t *testing.T) {
	t.Parallel()
	h := staged(.2)
	for i := range prediction.Attempts {
		id := fmt.Sprint(i)
		p := resolved(id, dream.PredictionRight)
		p.Reasoning = &dream.ReasoningReview{Aligned: i > 0}
		require.Equal(t, i > 0, prediction.Test(h, p, independently(id), true))
	}
	require.Equal(t, dream.HypothesisStaged, h.Status)
	require.Len(t, h.Confirmed, 2)
}

func TestTheQuadrantsOfReasoning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status  string
		aligned bool
		want    string
	}{
		{dream.PredictionRight, true, dream.AlignedCorrect},
		{dream.PredictionRight, false, dream.MisalignedCorrect},
		{dream.PredictionWrong, true, dream.AlignedIncorrect},
		{dream.PredictionWrong, false, dream.MisalignedIncorrect},
		{dream.PredictionVoid, true, ""},
		{dream.PredictionOpen, false, ""},
	} {
		p := dream.Prediction{Status: c.status, Reasoning: &dream.ReasoningReview{Aligned: c.aligned}}
		require.Equal(t, c.want, p.Quadrant())
		p.Reasoning = nil
		require.Empty(t, p.Quadrant())
	}
}
