package console_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// lived writes dreams of some depth, and predictions around each whose residuals shrank the more the shallower it
// was.
func (d *fixture) lived(nights int) {
	d.Helper()
	w := memory.Write{Agent: "echo", Cause: "import"}
	foretold := func(id string, made, judged time.Time, off float64) {
		w.Add = append(w.Add, &dream.Prediction{
			Head: dream.Head{
				ID:    id,
				Agent: "echo",
				Kind:  dream.KindPrediction,
				At:    made,
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Source:     dream.Analytical,
			Claim:      id,
			Confidence: off,
			Status:     dream.PredictionWrong,
			ResolvedAt: &judged,
			Residual:   &off,
		})
	}
	dice := hypnagogia.Dice(1, dream.Onset, 0, 0, "lived")
	for i := range nights {
		at := now.AddDate(0, 0, 2*(i-nights))
		aim := hypnagogia.Prior(3).Aim(hypnagogia.DepthInput{Surprise: .2 + .5*dice.Float64()},
			hypnagogia.DepthNoise*(2*dice.Float64()-1), "", 3)
		w.Add = append(w.Add, &dream.Record{
			Head: dream.Head{
				ID:    fmt.Sprintf("dream/echo/9%03d", i),
				Agent: "echo",
				Kind:  dream.KindRecord,
				At:    at,
				State: dream.Live,
				Taint: dream.FromDream,
			},
			AsOf: at, Outcome: dream.Completed, Depth: &aim,
			Phases: []dream.Tally{{Phase: dream.Onset, State: "ran", Cycles: aim.Cycles}},
		})
		for k := range 10 {
			away := time.Duration(k) * time.Minute
			foretold(fmt.Sprintf("b%d.%d", i, k), at.Add(-10*time.Hour+away), at.Add(-time.Hour), .6)
			foretold(fmt.Sprintf("a%d.%d", i, k), at.Add(time.Hour+away), at.Add(11*time.Hour),
				.6-.3*(1-aim.Depth)+.05*dice.NormFloat64())
		}
	}
	_, err := d.store.Commit(d.Context(), w)
	require.NoError(d, err)
}

// The depth is explained by its policy, still at its prior, and its inputs.
func TestTheDepthOfTheNextOnsetIsExplained(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, exit.OK, d.run(100, "depth", "explain", "-a", "echo"), d.err.String())
	d.golden("depth-prior")

	d.lived(60)
	require.Equal(t, exit.OK, d.run(100, "depth", "explain", "-a", "echo"), d.err.String())
	d.golden("depth-learned")

	require.Equal(t, exit.OK, d.run(0, "depth", "explain", "-a", "echo", "--json"), d.err.String())
	var result struct {
		Policy     string           `json:"policy"`
		Aim        dream.Depth      `json:"aim"`
		Terms      []map[string]any `json:"terms"`
		Parameters []map[string]any `json:"parameters"`
		Learning   hypnagogia.Learning
	}
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &result))
	require.Equal(t, "learned", result.Policy)
	require.Equal(t, 60, result.Learning.Outcomes)
	require.Len(t, result.Terms, 3)
	require.Len(t, result.Parameters, 6)
}

func TestADepthOfTheCoreTierHasNoCycles(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, exit.OK, d.run(100, "depth", "explain", "-a", "tally"), d.err.String())
	require.Contains(t, d.out.String(), "none: the core tier has one induction and no Dali cycle")
	require.Equal(t, exit.NotFound, d.run(100, "depth", "explain", "-a", "nobody"))
	require.Equal(t, exit.Usage, d.run(100, "depth", "explain"))
}
