package activities_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/circadian"
)

func TestAHighYieldLetsAnIdleAgentDreamEarlier(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(12)
	for i := range 25 {
		at := tonight.Add(-time.Duration(25-i) * time.Hour)
		p := &dream.Prediction{
			Head: dream.Head{
				ID:    fmt.Sprintf("p%d", i),
				Agent: "a",
				Kind:  dream.KindPrediction,
				At:    at.Add(-time.Hour),
				State: dream.Live,
				Taint: dream.FromDream,
			},
			Source:     dream.Creative,
			Claim:      "c",
			Status:     dream.PredictionRight,
			Confidence: 1,
			ResolvedAt: &at,
		}
		_, err := r.store.Commit(t.Context(), memory.Write{Agent: "a", Cause: "test", Add: []dream.Item{p}})
		require.NoError(t, err)
	}
	bed := r.dreamRun()
	bed.Planner = unplanned{}
	early := func(urgent float64, follow bool) bool {
		bed.Predictions.FollowYield = follow
		got, err := bed.CheckTriggers(t.Context(), activities.CheckTriggersRequest{
			Agent: "a", Now: tonight,
			UrgencyRule: &circadian.UrgencyRule{Idle: time.Minute, Urgent: urgent, Uncertain: urgent},
		})
		require.NoError(t, err)
		if urgent == 0 {
			require.True(t, got.Early)
		}
		return got.Early
	}
	require.True(t, early(0, false))
	value := 0.0
	for ; value <= 1 && early(value, false); value += .01 {
	}
	require.False(t, early(value, false))
	require.True(t, early(value, true))
	require.True(t, early(value+.08, true))
	require.False(t, early(value+.12, true), "within bounds")
}
