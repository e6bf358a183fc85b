package starter

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

func TestAnAutomaticDreamFollowsAHighYield(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		correct int // of 40
		follow  bool
		more    int
	}{
		"many come true":                 {correct: 30, follow: true, more: 1},
		"many come true, switched off":   {correct: 30},
		"few come true":                  {correct: 10, follow: true},
		"nothing has been resolved, yet": {correct: -1, follow: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, agent := build(t)
			s.Options.Predictions.FollowYield = c.follow
			w := memory.Write{Agent: agent.ID, Cause: "test"}
			for i := range 40 {
				at, status := tonight.Add(-time.Duration(40-i)*time.Hour), dream.PredictionWrong
				if i*c.correct/40 != (i+1)*c.correct/40 {
					status = dream.PredictionRight
				}
				w.Add = append(w.Add, &dream.Prediction{
					Head: dream.Head{
						ID:    fmt.Sprintf("p%d", i),
						Agent: agent.ID,
						Kind:  dream.KindPrediction,
						At:    at.Add(-time.Hour),
						State: dream.Live,
						Taint: dream.FromDream,
					},
					Source: dream.Creative, Claim: "c", Status: status, ResolvedAt: &at,
				})
			}
			if c.correct >= 0 {
				_, err := s.Memory.Commit(t.Context(), w)
				require.NoError(t, err)
			}
			spec, _, err := s.Plan(t.Context(), agent.ID, tonight)
			require.NoError(t, err)
			require.NoError(t, spec.Validate())
			require.NoError(t, spec.Within(agent, budget.Unlimited, s.Catalog))
			require.Equal(t, s.Options.Knobs.Branches+c.more, spec.Knobs.Branches)
			require.Equal(t, s.Options.Knobs.Keep+c.more, spec.Knobs.Keep)
			require.Equal(t, agent.Caps.Dream, spec.Budget, "the caps hold")
		})
	}
}
