package console_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func TestClaimsShowHypothesesAndWhatCounts(t *testing.T) {
	t.Parallel()
	d := watching(t)
	promoted := &dream.Hypothesis{
		Head:  head(dream.KindHypothesis, dreamID+"/h7", now.Add(-40*24*time.Hour), true),
		Claim: "The old boat does not come through the winter.", Confidence: .6, Status: dream.HypothesisPromoted,
		Confirmed: []string{"p1", "p2", "p3", "p4"}, Promoted: now.Add(-time.Hour), Playbook: []string{"pb_1"},
	}
	for i, id := range promoted.Confirmed {
		promoted.Outcomes = append(promoted.Outcomes, dream.HypothesisOutcome{
			Prediction: id, Right: true, At: now.Add(time.Duration(i-5) * time.Hour),
		})
	}
	promoted.Outcomes[2].Dependent = "it was decided by the same as p1"
	claimed := &dream.Hypothesis{
		Head:  head(dream.KindHypothesis, dreamID+"/h8", now.Add(-time.Hour), true),
		Claim: "The roof leaks.", Confidence: .25, Status: dream.HypothesisStaged, Claims: []string{"cl_1"},
	}
	_, err := d.store.Commit(t.Context(),
		memory.Write{Agent: "echo", Cause: dreamID, Add: []dream.Item{promoted, claimed}})
	require.NoError(t, err)
	d.ok(120, "claims", "list", "-a", "echo")
	d.golden("claims-list-hypotheses-120")
	d.ok(80, "claims", "explain", dreamID+"/h7", "-a", "echo")
	d.golden("claims-explain-hypothesis-80")
	d.ok(200, "claims", "explain", dreamID+"/h8", "-a", "echo")
	require.Contains(t, d.out.String(), "It is promoted when cl_1 passes")
}

func TestHealthSaysWhyNothingCanBeStaged(t *testing.T) {
	t.Parallel()
	d := healthy(t, dream.Completed)
	stage := func(n, days int) {
		w := memory.Write{Agent: "echo", Cause: dreamID}
		for i := range n {
			id := fmt.Sprintf("%s/full/%d/%d", dreamID, days, i)
			w.Add = append(w.Add, &dream.Hypothesis{
				Head:   head(dream.KindHypothesis, id, now.AddDate(0, 0, -days), true),
				Claim:  id,
				Status: dream.HypothesisStaged,
			})
		}
		_, err := d.store.Commit(t.Context(), w)
		require.NoError(t, err)
	}
	stage(10, 3)
	require.Contains(t, d.health(exit.OK)["hypotheses"],
		"look: the next dream stages nothing: 10 hypotheses are staged already, no more than 10 may be (dream.max_staged)")
	stage(1, 8)
	require.Equal(t, "fine: 11 staged, 10 may be", d.health(exit.OK)["hypotheses"], "one may give way")
}
