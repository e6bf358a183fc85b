package starter

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// LastReading is when a feed's workflow last accepted a reading; zero for never, memory.ErrNotFound when it does not
// run.
func (s Feeds) LastReading(ctx context.Context, feed string) (time.Time, error) {
	state, err := s.FeedState(ctx, feed)
	if notFound(err) {
		return time.Time{}, fmt.Errorf("the workflow of feed %s does not run: %w", feed, memory.ErrNotFound)
	}
	return state.LastReading, err
}

// Latest returns the newest reading of each metric that a feed's workflow has, for the dreams of agents that follow
// the feed.
func (s Feeds) Latest(ctx context.Context, feed string) ([]dream.Reading, error) {
	state, err := s.FeedState(ctx, feed)
	if err != nil {
		return nil, err
	}
	newest := map[string]dream.Reading{}
	var metrics []string
	take := func(r dream.Reading) {
		before, found := newest[r.Metric]
		if !found {
			metrics = append(metrics, r.Metric)
		}
		if !found || !r.At.Before(before.At) {
			newest[r.Metric] = r
		}
	}
	for _, r := range state.Watch.Readings {
		take(r)
	}
	for _, stray := range state.Unused.Metrics {
		take(stray.Reading)
	}
	readings := make([]dream.Reading, len(metrics))
	for i, metric := range metrics {
		readings[i] = newest[metric]
	}
	return readings, nil
}
