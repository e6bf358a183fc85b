package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// knownTimes is a World that knows when its feeds were last read.
type knownTimes struct {
	at  time.Time
	err error
}

func (e *knownTimes) Latest(context.Context, string) ([]dream.Reading, error) { return nil, nil }

func (e *knownTimes) LastReading(_ context.Context, feed string) (time.Time, error) {
	return e.at, e.err
}

// A rule of a feed that sent nothing could not fire: its silence is no evidence.
func TestAWatchOfAFeedThatSentNothingIsVoid(t *testing.T) {
	onBoth(t, func(l *ledger) {
		ctx := l.Context()
		set := l.now
		for _, id := range []string{"/p1", "/p2"} {
			_, err := l.Watch(ctx, l.agent, nightly+id,
				&dream.Watch{Feed: "harbour", Rule: "quay", Means: dream.PredictionRight})
			require.NoError(l, err)
		}
		world := &knownTimes{err: errors.New("no worker answers")}
		l.Times = world
		l.now = l.prediction(nightly + "/p1").Horizon.Add(prediction.Grace)
		n, err := l.ResolveOverdue(ctx)
		require.ErrorContains(l, err, "no worker answers", "it is tried again a minute later")
		require.Zero(l, n)

		world.at, world.err = set.Add(-time.Second), nil
		n, err = l.ResolveOverdue(ctx)
		require.NoError(l, err)
		require.Equal(l, 2, n)
		for _, id := range []string{"/p1", "/p2"} {
			p := l.prediction(nightly + id)
			require.Equal(l, dream.PredictionVoid, p.Status)
			require.Contains(l, p.Evidence, "feed harbour has sent nothing since it was watched")
		}
		require.InDeltaSlice(l, []float64{.2, .2, .2}, l.confidences(), 1e-9)
	})
}

func TestAWatchOfAFeedThatSentReadingsOrOfSilenceLapses(t *testing.T) {
	onBoth(t, func(l *ledger) {
		ctx := l.Context()
		require.NoError(l, l.store.PutFeed(ctx, dream.Feed{Name: "harbour", Rules: []dream.Rule{
			{Name: "quay", Metric: "price", Kind: dream.Above, Number: 5},
			{Name: "mute", Kind: dream.Stale, Window: 100 * 24 * time.Hour},
		}}))
		for id, rule := range map[string]string{"/p1": "quay", "/p2": "mute"} {
			_, err := l.Watch(ctx, l.agent, nightly+id,
				&dream.Watch{Feed: "harbour", Rule: rule, Means: dream.PredictionRight})
			require.NoError(l, err)
		}
		received := &knownTimes{at: l.now.Add(time.Minute)}
		l.Times = received
		l.now = l.prediction(nightly + "/p1").Horizon.Add(prediction.Grace)
		n, err := l.ResolveOverdue(ctx)
		require.NoError(l, err)
		require.Equal(l, 2, n)
		require.Equal(l, dream.PredictionWrong, l.prediction(nightly+"/p1").Status)
		require.Equal(l, dream.PredictionWrong, l.prediction(nightly+"/p2").Status)
	})
}

func TestAWatchOfAFeedThatNobodyReadsIsVoid(t *testing.T) {
	onBoth(t, func(l *ledger) {
		ctx := l.Context()
		_, err := l.Watch(ctx, l.agent, nightly+"/p1",
			&dream.Watch{Feed: "harbour", Rule: "quay", Means: dream.PredictionRight})
		require.NoError(l, err)
		l.Times = &knownTimes{err: memory.ErrNotFound}
		l.now = l.prediction(nightly + "/p1").Horizon.Add(prediction.Grace)
		_, err = l.ResolveOverdue(ctx)
		require.NoError(l, err)
		p := l.prediction(nightly + "/p1")
		require.Equal(l, dream.PredictionVoid, p.Status)
		require.Contains(l, p.Evidence, "no process reads feed harbour")
	})
}
