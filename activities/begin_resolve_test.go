package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/review"
)

func TestADreamBeginsByResolvingWhatAProgramCanDecide(t *testing.T) {
	t.Parallel()
	h := build(t)
	h.now = night.Add(-48 * time.Hour)
	foretell := func(claim string, check *dream.Check) string {
		p, _, err := h.dreamRun.Resolver().AddPrediction(h.ctx, h.agent, review.PredictionRequest{
			Claim:      claim,
			Criterion:  "Somebody says so.",
			Horizon:    night.Add(240 * time.Hour),
			Confidence: .3,
			By:         dream.ByPerson,
			Check:      check,
		})
		require.NoError(t, err)
		h.now = h.now.Add(time.Minute)
		return p.ID
	}
	checked := foretell("The leak comes back.", &dream.Check{Then: "leak"})
	older, newer := foretell("Something happens.", nil), foretell("Something else happens.", nil)
	_, err := h.store.Commit(h.ctx, memory.Write{Agent: "a1", Cause: "test", Add: []dream.Item{&dream.Episode{
		Head: dream.Head{
			ID:    "ep_1",
			Agent: "a1",
			Kind:  dream.KindEpisode,
			At:    night.Add(-time.Hour),
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: "A leak under the sink.",
	}}})
	require.NoError(t, err)
	h.now = night
	h.dreamRun.Predictions.MostOpen = 1
	h.begin(h.spec("dream/echo/0001"), "run-1")
	for id, want := range map[string]string{
		checked: dream.PredictionRight, older: dream.PredictionVoid, newer: dream.PredictionOpen,
	} {
		p, err := memory.One[*dream.Prediction](h.ctx, h.store, "a1", id)
		require.NoError(t, err)
		require.Equal(t, want, p.Status, p.Claim)
	}
}

func TestADreamComparesNothingThatCameAfterItsTime(t *testing.T) {
	t.Parallel()
	h := build(t)
	h.now = night.Add(-48 * time.Hour)
	p, _, err := h.dreamRun.Resolver().AddPrediction(h.ctx, h.agent, review.PredictionRequest{
		Claim:      "The leak comes back.",
		Horizon:    night.Add(240 * time.Hour),
		Confidence: .3,
		By:         dream.ByPerson,
		Check:      &dream.Check{Then: "leak"},
	})
	require.NoError(t, err)
	_, err = h.store.Commit(h.ctx, memory.Write{Agent: "a1", Cause: "test", Add: []dream.Item{&dream.Episode{
		Head: dream.Head{
			ID:    "ep_1",
			Agent: "a1",
			Kind:  dream.KindEpisode,
			At:    night.Add(time.Hour),
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: "A leak under the sink.",
	}}})
	require.NoError(t, err)
	h.now = night.Add(24 * time.Hour)
	h.begin(h.spec("dream/echo/0001"), "run-1")
	p, err = memory.One[*dream.Prediction](h.ctx, h.store, "a1", p.ID)
	require.NoError(t, err)
	require.Equal(t, dream.PredictionOpen, p.Status, "the leak came after the time as of which the dream is dreamt")
}
