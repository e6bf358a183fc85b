package testdeploy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

func TestAQuietRuleResolvesItsPredictionsWithoutWakingTheAgent(t *testing.T) {
	t.Parallel()
	deployment := openWithFeeds(t)
	ctx := t.Context()
	agent, err := deployment.AddAgent(ctx, 1, "oracle")
	require.NoError(t, err)
	feed := dream.Feed{Name: "quietly", Rules: []dream.Rule{{
		Name:   "calm",
		Metric: "wind",
		Kind:   dream.Below,
		Number: 3,
		Quiet:  true,
	}}}
	require.NoError(t, deployment.Starter.ForFeeds().PutFeed(ctx, feed))
	agent.Feed = feed.Name
	require.NoError(t, deployment.Store.PutAgent(ctx, agent))
	foretell := func(claim string, horizon time.Duration, w *dream.Watch) *dream.Prediction {
		p, _, err := deployment.Starter.ForPredictions().AddPrediction(ctx, agent.Handle, review.PredictionRequest{
			Claim:      claim,
			Criterion:  "the feed says so",
			Horizon:    deployment.Starter.Now().Add(horizon),
			Confidence: .6,
			By:         dream.ByPerson,
			Watch:      w,
		})
		require.NoError(t, err)
		return p
	}
	calm := foretell("it falls calm", time.Hour,
		&dream.Watch{Feed: feed.Name, Rule: "calm", Means: dream.PredictionRight})
	storm := foretell("it blows all day", time.Hour,
		&dream.Watch{Feed: feed.Name, Rule: "calm", Means: dream.PredictionWrong})
	open := foretell("nobody will say", time.Hour, nil)

	two := 2.0
	require.NoError(t, deployment.Starter.ForFeeds().Push(ctx, feed.Name, []dream.Reading{{Metric: "wind", Number: &two}}))
	state := feedState(t, deployment, feed.Name,
		func(s workflows.FeedState) bool { return s.Hints == 1 && len(s.Delivering) == 0 })
	require.Zero(t, state.Alarms)
	require.Zero(t, state.Failures, state.Failure)
	for id, want := range map[string]string{
		calm.ID: dream.PredictionRight, storm.ID: dream.PredictionWrong,
		open.ID: dream.PredictionOpen,
	} {
		p, err := memory.One[*dream.Prediction](ctx, deployment.Store, agent.ID, id)
		require.NoError(t, err)
		require.Equal(t, want, p.Status, p.Claim)
	}
	status, err := deployment.Store.Status(ctx, agent.ID, time.Now())
	require.NoError(t, err)
	require.Nil(t, status.Last, "no wake is recorded")
	require.Empty(t, raisedFor(t, deployment, agent.ID))
	events, err := deployment.Store.Events(ctx, agent.ID, 0, 100)
	require.NoError(t, err)
	count := 0
	for _, e := range events {
		if e.Type == (event.PredictionResolved{}).EventType() {
			count++
		}
	}
	require.Equal(t, 2, count)

	silent := foretell("it falls calm again", time.Hour,
		&dream.Watch{Feed: feed.Name, Rule: "calm", Means: dream.PredictionRight})
	later := deployment.Ports
	later.World = deployment.Starter.ForFeeds()
	later.Now = func() time.Time { return deployment.Starter.Now().Add(2 * time.Hour) }
	lapsed, err := workers.ResolveOverdue(ctx, later)
	require.NoError(t, err)
	require.Equal(t, 2, lapsed)
	p, err := memory.One[*dream.Prediction](ctx, deployment.Store, agent.ID, silent.ID)
	require.NoError(t, err)
	require.Equal(t, dream.PredictionVoid, p.Status, "without a later reading the rule decides nothing")
}
