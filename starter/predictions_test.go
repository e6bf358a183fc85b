package starter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/review"
)

func TestPredictionsByHandleOrID(t *testing.T) {
	t.Parallel()
	s, _ := build(t)
	s.Feeds = s.Memory.(memory.Feeds)
	ctx := t.Context()
	agents, err := s.Memory.Agents(ctx)
	require.NoError(t, err)
	agent := agents[0]
	agent.Feed = "chain"
	require.NoError(t, s.Memory.PutAgent(ctx, agent))
	require.NoError(t,
		s.Feeds.PutFeed(ctx,
			dream.Feed{Name: "chain", Rules: []dream.Rule{{Name: "high", Kind: dream.Above, Number: 5, Quiet: true}}}))
	f := review.PredictionRequest{
		Claim:      "It passes 5.",
		Criterion:  "The feed says so.",
		Horizon:    s.Now().Add(time.Hour),
		Confidence: .6,
		By:         dream.ByTool + "bot",
	}
	p, fresh, err := s.ForPredictions().AddPrediction(ctx, agent.Handle, f)
	require.NoError(t, err)
	require.True(t, fresh)
	p, err = s.ForPredictions().Watch(ctx, agent.ID, p.ID, &dream.Watch{Feed: "chain", Rule: "high", Means: dream.PredictionRight})
	require.NoError(t, err)
	require.Equal(t, "high", p.Watch.Rule)
	done, err := s.ForPredictions().Resolve(ctx, agent.Handle, p.ID,
		prediction.Verdict{Status: dream.PredictionWrong, By: dream.ByPerson})
	require.NoError(t, err)
	require.True(t, done.Changed)
	scores, err := s.ForPredictions().Scores(ctx, agent.Handle)
	require.NoError(t, err)
	require.Equal(t, 1, scores.Analytical.Outcomes)
	require.InDelta(t, .36, scores.Analytical.Brier, 1e-12)

	_, err = s.ForPredictions().Scores(ctx, "nobody")
	require.ErrorIs(t, err, memory.ErrNotFound)
	_, err = s.ForPredictions().Resolve(ctx, "nobody", p.ID, prediction.Verdict{})
	require.ErrorIs(t, err, memory.ErrNotFound)
	_, _, err = s.ForPredictions().AddPrediction(ctx, "nobody", f)
	require.ErrorIs(t, err, memory.ErrNotFound)
	_, err = s.ForPredictions().Watch(ctx, "nobody", p.ID, nil)
	require.ErrorIs(t, err, memory.ErrNotFound)
}
